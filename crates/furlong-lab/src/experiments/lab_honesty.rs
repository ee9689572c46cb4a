//! `lab-honesty`: how often a tool calls identical programs different.
#![forbid(unsafe_code)]

mod drift;
mod programs;
mod tool;

use std::time::Instant;

use super::{Arm, Experiment, Failure, Outcome, Request, Workload, said};
use drift::Drift;
use programs::Programs;
use tool::{BlockOrder, Furlong, Hyperfine, Tool};

const PLAN: &str = include_str!("../../../../experiments/lab-honesty/plan.toml");

/// The experiment.
#[must_use]
pub fn experiment() -> Experiment {
    let hyperfine = Arm {
        na: |_: &Workload| Hyperfine::missing(),
        ..Arm::new("hyperfine", run::<Hyperfine>)
    };
    let arms = vec![
        hyperfine,
        Arm::new("block-order", run::<BlockOrder>),
        Arm::new("furlong", run::<Furlong>),
    ];
    Experiment::compiled_in(PLAN, arms)
}

/// Makes comparisons with a tool and counts those in which it called the programs different.
fn run<T: Tool>(request: &Request) -> Result<Outcome, Failure> {
    let param = |name: &str| request.workload.params.get(name).copied().unwrap_or(0);
    let programs = Programs::write(param("loops"), param("slower_permille")).map_err(said)?;
    let mut tool = T::new(param("runs"))?;
    let drift = (param("drift") > 0).then(|| Drift::begin(request.seed));
    let began = Instant::now();
    let mut told = 0_u64;
    for _ in 0..request.operations {
        let is_told = match programs.are_same() {
            true => tool.calls_different(&programs)?,
            false => tool.calls_slower(&programs)?,
        };
        told += u64::from(is_told);
    }
    let elapsed_s = began.elapsed().as_secs_f64();
    drop(drift);
    let comparisons = request.operations as f64;
    let share = match programs.are_same() {
        true => "called_different_pct",
        false => "found_slower_pct",
    };
    Ok(Outcome {
        metrics: [
            (share.to_owned(), 100.0 * told as f64 / comparisons),
            ("comparison_s".to_owned(), elapsed_s / comparisons),
        ]
        .into(),
        operations: request.operations,
        elapsed_s,
        // There is no answer to agree on but the question.
        digest: request.seed,
    })
}
