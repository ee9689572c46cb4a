//! `tree-order`: the augmented tree beside the standard library's map.
#![forbid(unsafe_code)]

use furlong::rbtree::Standard;

use super::ordered::{self, ByKey, Map, Tree};
use furlong_lab::model::{Arm, Experiment, Failure, Outcome, Request};

const PLAN: &str = include_str!("../experiments/tree-order/plan.toml");

/// Builds the experiment.
#[must_use]
pub fn experiment() -> Experiment {
    let arms = vec![
        Arm::new("btreemap", ordered::run::<Map>),
        Arm::new("checked", checked),
    ];
    Experiment::compiled_in(PLAN, arms)
}

/// Removes by node, as a kernel does; `-key` workloads search first, as a map must.
fn checked(request: &Request) -> Result<Outcome, Failure> {
    if request.workload.name.ends_with("-key") {
        ordered::run::<ByKey<Tree<Standard>>>(request)
    } else {
        ordered::run::<Tree<Standard>>(request)
    }
}
