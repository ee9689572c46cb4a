//! `tree-order`: the augmented tree beside the standard library's map.
#![forbid(unsafe_code)]

use furlong::rbtree::Standard;

use super::ordered::{self, BlockTree, Map, Tree};
use furlong_lab::model::{Arm, Experiment};

const PLAN: &str = include_str!("../experiments/tree-order/plan.toml");

/// Builds the experiment.
#[must_use]
pub fn experiment() -> Experiment {
    let arms = vec![
        Arm::new("btreemap", ordered::run::<Map>),
        Arm::new("checked", ordered::run_keyed::<Tree<Standard>>),
        Arm::new("checked-block", ordered::run_keyed::<BlockTree<Standard>>),
    ];
    Experiment::compiled_in(PLAN, arms)
}
