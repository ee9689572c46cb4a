//! Experiments on your own code, in a few lines, run by `cargo bench`.
//!
//! ```
//! use furlong_lab::model::Workload;
//! use furlong_stats::random::Random;
//! use furlong_lab::Experiment;
//!
//! fn numbers(random: &mut Random, workload: &Workload) -> Vec<u64> {
//!     (0..workload.params["numbers"]).map(|_| random.bits()).collect()
//! }
//!
//! let sort = Experiment::new("sort", "Which sort is faster on random numbers?")
//!     .with_arm("stable", |run| run.time(numbers, |all| { all.sort(); all[0] }))
//!     .with_arm("unstable", |run| run.time(numbers, |all| { all.sort_unstable(); all[0] }))
//!     .with_workload("small", &[("numbers", 100)])
//!     .with_workload("large", &[("numbers", 10_000)]);
//! assert_eq!(sort.plan.arms, ["stable", "unstable"]);
//! // fn main() -> std::process::ExitCode { furlong_lab::bench(&[sort]) }
//! ```
//!
//! The target in `Cargo.toml` has `harness = false`. `cargo bench -- --blocks 20` accepts the
//! options of `furlong run`, and `cargo bench -- show` and the like the other verbs. `cargo test`
//! runs each arm on tiny samples and checks that they agree.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::hash::{Hash, Hasher};
use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{CommandFactory, Parser};

use crate::cli::Cli;
use crate::model::result::{Better, Kind};
use crate::model::{Arm, ArmFn, Experiment, Failure, MetricPlan, Outcome, Plan, Request, Workload};
use crate::{NoVerbs, Program};
use furlong_stats::random::Random;

/// The metric of an experiment that declares none.
const TIME: &str = "time_ns_per_op";

/// Minimum length of a timed stretch, so that reading the clock does not matter.
const STRETCH_MIN: Duration = Duration::from_millis(1);

/// Maximum number of inputs that are made in advance.
const INPUTS_MAX: u64 = 1 << 16;

/// Argument that cargo passes to a benchmark, but not to a test.
const BENCH: &str = "--bench";

/// Arguments for a test of a benchmark: tiny samples, and nothing is stored.
const AS_TEST: [&str; 8] = [
    "run",
    "--profile",
    "smoke",
    "--db",
    "none",
    "--html",
    "none",
    "--quiet",
];

impl Experiment {
    /// Returns an experiment without arms, which times one operation.
    #[must_use]
    pub fn new(name: &str, question: &str) -> Self {
        let time = MetricPlan {
            name: TIME.to_owned(),
            unit: "ns".to_owned(),
            better: Better::Lower,
            kind: Kind::Sampled,
            margin_pct: 1.0,
            about: "time of one operation".to_owned(),
        };
        Self {
            plan: Plan {
                name: name.to_owned(),
                question: question.to_owned(),
                arms: vec![],
                metrics: vec![time],
                workloads: vec![],
                full_blocks: 20,
                batch_s: BTreeMap::new(),
                exact_operations: 1 << 20,
                seed_operations: None,
            },
            arms: vec![],
            files: Vec::new,
        }
    }

    /// Adds an arm; the first is the baseline.
    #[must_use]
    pub fn with_arm(mut self, name: &'static str, run: ArmFn) -> Self {
        self.plan.arms.push(name.to_owned());
        self.arms.push(Arm::new(name, run));
        self
    }

    /// Adds a workload with its parameters.
    #[must_use]
    pub fn with_workload(mut self, name: &str, params: &[(&str, u64)]) -> Self {
        let params = params
            .iter()
            .map(|(name, value)| ((*name).to_owned(), *value));
        self.plan.workloads.push(Workload {
            name: name.to_owned(),
            about: String::new(),
            quick: true,
            metrics: vec![],
            operations: None,
            params: params.collect(),
            smoke: BTreeMap::new(),
        });
        self
    }
}

impl Request {
    /// Times an operation as often as this sample requests. Its inputs are made before the timed
    /// stretch and dropped after it.
    ///
    /// # Shapes
    ///
    /// `make` draws an input from the seed of the block, which is the same for all arms. `work`
    /// returns the answer; all arms have to give the same answers in the same order.
    ///
    /// # Errors
    ///
    /// None; the type is that of an arm.
    pub fn time<I, A: Hash>(
        &self,
        mut make: impl FnMut(&mut Random, &Workload) -> I,
        mut work: impl FnMut(&mut I) -> A,
    ) -> Result<Outcome, Failure> {
        let mut warm = make(&mut Random::new(!self.seed), &self.workload);
        black_box(work(&mut warm));
        let mut random = Random::new(self.seed);
        let mut digest = Digest::default();
        let (mut elapsed, mut done, mut stretch) = (Duration::ZERO, 0, 1);
        while done < self.operations {
            let count = stretch.min(self.operations - done);
            let inputs = (0..count).map(|_| make(&mut random, &self.workload));
            let mut inputs: Vec<I> = inputs.collect();
            let mut answers = Vec::with_capacity(inputs.len());
            let began = Instant::now();
            for input in &mut inputs {
                answers.push(black_box(work(black_box(input))));
            }
            let took = began.elapsed();
            answers.iter().for_each(|answer| answer.hash(&mut digest));
            (elapsed, done) = (elapsed + took, done + count);
            if took < STRETCH_MIN {
                stretch = (stretch * 2).min(INPUTS_MAX);
            }
        }
        let elapsed_s = elapsed.as_secs_f64();
        let time = 1e9 * elapsed_s / done.max(1) as f64;
        Ok(Outcome {
            metrics: [(TIME.to_owned(), time)].into(),
            operations: done,
            elapsed_s,
            digest: digest.finish(),
        })
    }
}

/// A hash of answers that is the same in every process.
#[derive(Default)]
struct Digest(u64);

impl Hasher for Digest {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        let words = bytes.iter().copied().map(u64::from);
        self.0 = crate::hash::digest(self.0, words);
    }
}

/// The whole `fn main` of a benchmark.
#[must_use]
pub fn bench(experiments: &[Experiment]) -> ExitCode {
    for experiment in experiments {
        if let Err(wrong) = experiment.plan.check() {
            let name = &experiment.plan.name;
            crate::talk::say(&format!("furlong: the experiment `{name}`: {wrong}"));
            return ExitCode::from(2);
        }
    }
    let verbs: Vec<String> = Cli::<NoVerbs>::command()
        .get_subcommands()
        .map(|verb| verb.get_name().to_owned())
        .collect();
    let cli = Cli::<NoVerbs>::parse_from(arguments(std::env::args_os().collect(), &verbs));
    crate::run(cli, &Program::new(experiments.to_vec()))
}

/// Translates a command line of cargo's into one of furlong's.
fn arguments(given: Vec<OsString>, verbs: &[String]) -> Vec<OsString> {
    let is_verb = |word: &OsString| verbs.iter().any(|verb| word == verb.as_str());
    let mut words = given.into_iter();
    let program = words.next();
    let mut rest: Vec<OsString> = words.collect();
    let is_bench = rest.iter().any(|word| word == BENCH);
    rest.retain(|word| word != BENCH);
    let asks = rest
        .first()
        .is_some_and(|word| is_verb(word) || word == "--help");
    let begin: Vec<OsString> = match (asks, is_bench) {
        (true, _) => vec![],
        (false, true) => vec!["run".into()],
        (false, false) => {
            // A test's arguments (a filter, --nocapture) are not for furlong.
            rest.clear();
            AS_TEST.iter().map(Into::into).collect()
        }
    };
    program.into_iter().chain(begin).chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::{AS_TEST, arguments};
    use crate::model::{Experiment, Request};
    use furlong_stats::random::Random;

    fn meant(words: &[&str]) -> Vec<String> {
        let given = std::iter::once(&"bench").chain(words).map(Into::into);
        let verbs = ["run", "show", "sample"].map(str::to_owned);
        let all = arguments(given.collect(), &verbs);
        all.into_iter()
            .skip(1)
            .map(|word| word.into_string().expect("text"))
            .collect()
    }

    #[test]
    fn cargo_bench_means_run_and_cargo_test_a_tiny_one() {
        assert_eq!(meant(&["--bench"]), ["run"]);
        assert_eq!(
            meant(&["--blocks", "20", "--bench"]),
            ["run", "--blocks", "20"]
        );
        assert_eq!(meant(&["sort", "--bench"]), ["run", "sort"]);
        assert_eq!(meant(&["show", "--bench"]), ["show"]);
        assert_eq!(meant(&["sample", "a", "b"]), ["sample", "a", "b"]);
        assert_eq!(meant(&["--nocapture", "filter"]), AS_TEST);
        assert_eq!(meant(&[]), AS_TEST);
    }

    fn request(seed: u64, operations: u64) -> Request {
        let experiment = Experiment::new("e", "?").with_workload("w", &[("n", 7)]);
        Request {
            workload: experiment.plan.workloads[0].clone(),
            seed,
            operations,
            exact: false,
        }
    }

    #[test]
    fn an_operation_is_done_as_often_as_wanted_on_inputs_of_the_seed() {
        let sum = |seed: u64, operations: u64| {
            let make = |random: &mut Random, workload: &crate::model::Workload| {
                random.bits() % workload.params["n"]
            };
            let mut calls = 0;
            let outcome = request(seed, operations)
                .time(make, |input| {
                    calls += 1;
                    *input
                })
                .expect("it cannot fail");
            assert_eq!((outcome.operations, calls), (operations, operations + 1));
            assert!(outcome.metrics["time_ns_per_op"] > 0.0);
            outcome.digest
        };
        assert_eq!(sum(1, 5000), sum(1, 5000));
        assert_ne!(sum(1, 5000), sum(2, 5000));
        assert_ne!(sum(1, 5000), sum(1, 4999));
    }

    #[test]
    fn what_contradicts_itself_is_seen() {
        let done = |_: &Request| Ok(crate::model::Outcome::default());
        let twice = Experiment::new("e", "?")
            .with_arm("a", done)
            .with_arm("a", done);
        let wrong = twice
            .with_workload("w", &[])
            .plan
            .check()
            .expect_err("twice");
        assert!(wrong.contains("`a` is there twice"), "{wrong}");
        assert!(
            Experiment::new("e", "?")
                .with_arm("a", done)
                .plan
                .check()
                .is_err()
        );
    }
}
