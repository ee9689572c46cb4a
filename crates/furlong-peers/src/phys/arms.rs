//! The peers as arms of `phys-lookup`.

use furlong_experiments::phys_lookup::{index_limit, run_index};
use furlong_lab::model::Arm;

use super::{Brie, ByStart, Intervals, Ranges, Regions};
use crate::arm;

/// The experiment in which they are arms.
pub const EXPERIMENT: &str = "phys-lookup";

/// All peers. The steps of a peer's search cannot be counted.
#[must_use]
pub fn arms() -> Vec<Arm> {
    let arm = |name, run| arm(name, run, index_limit);
    vec![
        arm("btreemap", run_index::<ByStart>),
        arm("vm-memory", run_index::<Regions>),
        arm("rangemap", run_index::<Ranges>),
        arm("nodit", run_index::<Intervals>),
        arm("brie-tree", run_index::<Brie>),
    ]
}
