//! `lab-honesty`: false alarms of measuring tools on identical programs.
#![forbid(unsafe_code)]

mod drift;
mod poop;
mod programs;
pub mod table;
mod tool;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use drift::Drift;
use furlong_lab::model::{Arm, Experiment, Failure, Outcome, Request, Workload};
use poop::Poop;
use programs::Programs;
use tool::{Amount, BlockOrder, Duet, Furlong, Hyperfine, Tool};

const PLAN: &str = include_str!("../experiments/lab-honesty/plan.toml");

/// Comparisons of a program with itself that the tool called different, in per cent.
const CALLED_DIFFERENT: &str = "called_different_pct";

/// Comparisons in which the tool called the slower program slower, in per cent.
const FOUND_SLOWER: &str = "found_slower_pct";

/// Half the width of the interval of a difference, in per cent.
const HALF_WIDTH: &str = "half_width_pct";

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
            na: |workload| unfit(workload).or_else(Hyperfine::missing),
            ..Arm::new("hyperfine", run::<Hyperfine>)
        },
        Arm {
            na: |workload| unfit(workload).or_else(Poop::missing),
            ..Arm::new("poop", run::<Poop>)
        },
        Arm {
            na: unfit,
            ..Arm::new("block-order", run::<BlockOrder>)
        },
        Arm::new("furlong", run::<Furlong>),
        Arm {
            na: |workload| {
                let is_asked = workload.has(HALF_WIDTH);
                let elsewhere = (!is_asked).then(|| "it is compared for equal time".to_owned());
                elsewhere.or_else(Duet::missing)
            },
            ..Arm::new("furlong-duet", run::<Duet>)
        },
    ];
    Experiment::compiled_in(PLAN, arms)
}

/// The reason if a workload asks for more than other tools have; otherwise `None`.
fn unfit(workload: &Workload) -> Option<String> {
    if workload.params.contains_key(LIMIT_MS) {
        return Some("it does not stop at a verdict".to_owned());
    }
    let wants_width = workload.has(HALF_WIDTH);
    wants_width.then(|| "it gives no interval of the difference".to_owned())
}

/// Does one operation of a sample and returns its figures, of which a workload has some.
fn figures<T: Tool>(
    tool: &mut T,
    programs: &Programs,
    workload: &Workload,
) -> Result<Vec<(&'static str, f64)>, Failure> {
    const fn share(told: bool) -> f64 {
        if told { 100.0 } else { 0.0 }
    }
    if workload.has(SPAWN_TO_EXIT) {
        return Ok(vec![(SPAWN_TO_EXIT, tool.spawn_to_exit_us()?)]);
    }
    let answer = tool.compare(programs)?;
    let mut figures = vec![
        (CALLED_DIFFERENT, share(answer.different)),
        (FOUND_SLOWER, share(answer.slower)),
    ];
    figures.extend(answer.half_width_pct.map(|width| (HALF_WIDTH, width)));
    figures.retain(|(metric, _)| workload.has(metric));
    Ok(figures)
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
    let drift = (param("drift") > 0).then(|| Drift::begin(request.seed));
    let drift = drift.transpose().map_err(Failure::of)?;
    let began = Instant::now();
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for _ in 0..request.operations {
        for (metric, value) in figures(&mut tool, &programs, &request.workload)? {
            *sums.entry(metric).or_default() += value;
        }
    }
    let elapsed = began.elapsed();
    drop(drift);
    sums.insert(COMPARISON, elapsed.as_secs_f64());
    let metrics = sums.into_iter();
    let metrics = metrics.map(|(metric, sum)| (metric, sum / request.operations as f64));
    // The tool's answers vary, so arms can agree only on the question.
    let digest = request.seed;
    Ok(Outcome::new(request.operations, elapsed, digest, metrics))
}
