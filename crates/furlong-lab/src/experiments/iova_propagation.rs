//! `iova-propagation`: when a tree recomputes what it knows of its subtrees.
#![forbid(unsafe_code)]

use furlong::rbtree::{Checked, Custom, Deferred, Eager, Propagation, Tally};

use super::ordered::{self, Tree};
use super::{Arm, Experiment, Failure, Outcome, Plan, Request};

const PLAN: &str = include_str!("../../../../experiments/iova-propagation/plan.toml");

/// The experiment.
#[must_use]
pub fn experiment() -> Experiment {
    let arm = |name, run| Arm {
        name,
        run,
        na: |_| None,
    };
    Experiment {
        plan: Plan::compiled_in(PLAN),
        arms: vec![
            arm("eager", run::<Eager>),
            arm("deferred", run::<Deferred>),
            arm("checked", run::<Checked>),
        ],
    }
}

/// Times the arm without counters, or counts without looking at the clock.
fn run<P: Propagation>(request: &Request) -> Result<Outcome, Failure> {
    if request.exact {
        ordered::run::<Tree<Custom<P, Tally>>>(request)
    } else {
        ordered::run::<Tree<Custom<P>>>(request)
    }
}
