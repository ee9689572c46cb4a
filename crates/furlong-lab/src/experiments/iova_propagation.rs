//! `iova-propagation`: when a tree recomputes what it knows of its subtrees.
#![forbid(unsafe_code)]

use furlong::rbtree::{Checked, Custom, Deferred, Eager, Propagation, Tally};

use super::ordered::{self, Tree};
use super::{Arm, Experiment, Failure, Outcome, Request};

const PLAN: &str = include_str!("../../../../experiments/iova-propagation/plan.toml");

/// The experiment.
#[must_use]
pub fn experiment() -> Experiment {
    let arms = vec![
        Arm::new("eager", run::<Eager>),
        Arm::new("deferred", run::<Deferred>),
        Arm::new("checked", run::<Checked>),
    ];
    Experiment::compiled_in(PLAN, arms)
}

/// Times the arm without counters, or counts without looking at the clock.
fn run<P: Propagation>(request: &Request) -> Result<Outcome, Failure> {
    if request.exact {
        ordered::run::<Tree<Custom<P, Tally>>>(request)
    } else {
        ordered::run::<Tree<Custom<P>>>(request)
    }
}
