//! `iova-propagation`: eager and deferred recomputation of subtree summaries.
#![forbid(unsafe_code)]

use furlong::iova;
use furlong::rbtree::{Checked, Custom, Deferred, Eager, Propagation, Tally};

use super::gas;
use super::ordered::{self, Tree};
use furlong_lab::model::{Arm, Experiment, Failure, Outcome, Request};

const PLAN: &str = include_str!("../experiments/iova-propagation/plan.toml");

/// Builds the experiment.
#[must_use]
pub fn experiment() -> Experiment {
    let arms = vec![
        Arm::new("eager", run::<Eager>),
        Arm::new("deferred", run::<Deferred>),
        Arm::new("checked", run::<Checked>),
    ];
    Experiment::compiled_in(PLAN, arms)
}

/// Times the arm without counters, or counts without reading the clock. The subject is the tree
/// alone or the whole allocator.
fn run<P: Propagation + 'static>(request: &Request) -> Result<Outcome, Failure> {
    match (gas::is_one(&request.workload), request.exact) {
        (false, false) => ordered::run::<Tree<Custom<P>>>(request),
        (false, true) => ordered::run::<Tree<Custom<P, Tally>>>(request),
        (true, false) => gas::run::<iova::Custom<iova::Largest, P>>(request),
        (true, true) => gas::run::<iova::Custom<iova::Largest, P, Tally>>(request),
    }
}
