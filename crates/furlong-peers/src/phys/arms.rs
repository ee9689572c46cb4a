//! The peers as arms of `phys-lookup`.
#![forbid(unsafe_code)]

use furlong_experiments::phys_lookup::{SegmentIndex, index_limit, run_index};
use furlong_lab::model::Arm;

use super::{Brie, ByStart, Intervals, Ranges, Regions};

/// The experiment in which they are arms.
pub const EXPERIMENT: &str = "phys-lookup";

/// All peers. The steps of a peer's search cannot be counted.
#[must_use]
pub fn arms() -> Vec<Arm> {
    vec![
        arm::<ByStart>("btreemap"),
        arm::<Regions>("vm-memory"),
        arm::<Ranges>("rangemap"),
        arm::<Intervals>("nodit"),
        arm::<Brie>("brie-tree"),
    ]
}

fn arm<I: SegmentIndex>(name: &'static str) -> Arm {
    Arm {
        na: index_limit,
        counts: false,
        ..Arm::new(name, run_index::<I>)
    }
}
