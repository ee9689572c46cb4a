//! `lab-honesty`: false alarms of measuring tools on identical programs.
#![forbid(unsafe_code)]

mod drift;
mod poop;
mod programs;
pub mod table;
mod tool;

use std::time::{Duration, Instant};

use drift::Drift;
use furlong_lab::model::{Arm, Experiment, Failure, Outcome, Request, Workload};
use poop::Poop;
use programs::Programs;
use tool::{Amount, BlockOrder, Furlong, Hyperfine, Tool};

const PLAN: &str = include_str!("../experiments/lab-honesty/plan.toml");

/// Comparisons of a program with itself that the tool called different, in per cent.
const CALLED_DIFFERENT: &str = "called_different_pct";

/// Comparisons in which the tool called the slower program slower, in per cent.
const FOUND_SLOWER: &str = "found_slower_pct";

/// Run time of a program that does nothing, as the tool reports it, in microseconds.
const SPAWN_TO_EXIT: &str = "spawn_to_exit_us";

/// Parameter of a workload: the tool stops at a verdict, or after this many milliseconds.
const LIMIT_MS: &str = "limit_ms";

/// Duration of a comparison, in seconds.
const COMPARISON: &str = "comparison_s";

/// Builds the experiment.
#[must_use]
pub fn experiment() -> Experiment {
    let arms = vec![
        Arm {
            na: |workload| own_stop(workload).or_else(Hyperfine::missing),
            ..Arm::new("hyperfine", run::<Hyperfine>)
        },
        Arm {
            na: |workload| own_stop(workload).or_else(Poop::missing),
            ..Arm::new("poop", run::<Poop>)
        },
        Arm {
            na: own_stop,
            ..Arm::new("block-order", run::<BlockOrder>)
        },
        Arm::new("furlong", run::<Furlong>),
    ];
    Experiment::compiled_in(PLAN, arms)
}

/// The reason if a workload lets the tool decide when to stop, which only furlong does by a
/// verdict; otherwise `None`.
fn own_stop(workload: &Workload) -> Option<String> {
    let is_asked = workload.params.contains_key(LIMIT_MS);
    is_asked.then(|| "it does not stop at a verdict".to_owned())
}

/// One operation of a sample.
type Operation<T> = fn(&mut T, &Programs) -> Result<f64, Failure>;

/// Returns the operation that a workload runs, and the metric that is its mean.
fn operation_of<T: Tool>(request: &Request) -> (&'static str, Operation<T>) {
    const fn share(told: bool) -> f64 {
        if told { 100.0 } else { 0.0 }
    }
    if request.workload.has(SPAWN_TO_EXIT) {
        (SPAWN_TO_EXIT, |tool, _| tool.spawn_to_exit_us())
    } else if request.workload.has(FOUND_SLOWER) {
        (FOUND_SLOWER, |tool, programs| {
            Ok(share(tool.compare(programs)?.slower))
        })
    } else {
        (CALLED_DIFFERENT, |tool, programs| {
            Ok(share(tool.compare(programs)?.different))
        })
    }
}

/// Makes comparisons with a tool and returns their mean.
fn run<T: Tool>(request: &Request) -> Result<Outcome, Failure> {
    let param = |name: &str| request.workload.params.get(name).copied().unwrap_or(0);
    let programs =
        Programs::write(param("loops"), param("slower_permille")).map_err(Failure::of)?;
    let mut tool = T::new(match request.workload.params.get(LIMIT_MS) {
        Some(limit) => Amount::UntilVerdict(Duration::from_millis(*limit)),
        None => Amount::Runs(param("runs")),
    })?;
    let (metric, operation) = operation_of::<T>(request);
    let drift = (param("drift") > 0).then(|| Drift::begin(request.seed));
    let drift = drift.transpose().map_err(Failure::of)?;
    let began = Instant::now();
    let mut sum = 0.0;
    for _ in 0..request.operations {
        sum += operation(&mut tool, &programs)?;
    }
    let elapsed = began.elapsed();
    drop(drift);
    let per_op = |total: f64| total / request.operations as f64;
    let seconds = elapsed.as_secs_f64();
    let metrics = [(metric, per_op(sum)), (COMPARISON, per_op(seconds))];
    // The tool's answers vary, so arms can agree only on the question.
    let digest = request.seed;
    Ok(Outcome::new(request.operations, elapsed, digest, metrics))
}
