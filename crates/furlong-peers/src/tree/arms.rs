//! The peers as arms of `tree-order`.

use furlong_experiments_devices::ordered;
use furlong_lab::model::Arm;

use super::{Brie, ByNode, Overlaps};
use crate::arm;

/// The experiment in which they are arms.
pub const EXPERIMENT: &str = "tree-order";

/// All peers.
#[must_use]
pub fn arms() -> Vec<Arm> {
    let arm = |name, run| arm(name, run, |_| None);
    vec![
        // Removes by node, as the arm that it is compared with, unless keys are asked for.
        arm("intrusive-collections", ordered::run_keyed::<ByNode>),
        arm("iset", ordered::run::<Overlaps>),
        arm("brie-tree", ordered::run::<Brie>),
    ]
}
