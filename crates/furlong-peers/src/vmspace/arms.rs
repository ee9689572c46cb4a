//! The peers as arms of `vmspace-index`.
#![forbid(unsafe_code)]

use furlong_experiments::vmspace_index::{AreaIndex, on_index, run};
use furlong_lab::model::{Arm, Workload};

use super::{ByLast, ByStart, Intervals, Overlaps, Ranges};

/// The experiment in which they are arms.
pub const EXPERIMENT: &str = "vmspace-index";

/// All peers. The steps of a peer's search cannot be counted.
#[must_use]
pub fn arms() -> Vec<Arm> {
    vec![
        arm::<ByStart>("btreemap", na),
        arm::<ByLast>("brie-tree", na),
        arm::<Ranges>("rangemap", na),
        arm::<Intervals>("nodit", na),
        arm::<Overlaps>("iset", |load| na(load).or_else(|| from_above(load))),
    ]
}

fn arm<I: AreaIndex>(name: &'static str, na: fn(&Workload) -> Option<String>) -> Arm {
    Arm {
        na,
        waits,
        counts: false,
        ..Arm::new(name, run::<I>)
    }
}

/// The reason that a map of ranges cannot run a workload.
fn na(load: &Workload) -> Option<String> {
    if on_index(load) {
        return goes_through_all(load).then(|| "it goes through all areas for a gap".to_owned());
    }
    let lack = if load.name.starts_with("readers-") {
        "it does not support readers during writes"
    } else {
        "it is not an address space"
    };
    Some(lack.to_owned())
}

/// True if an operation would walk so many areas that a sample takes minutes.
fn goes_through_all(load: &Workload) -> bool {
    let areas = load.params.get("areas").copied().unwrap_or(0);
    load.name == "gap-none" && areas >= 1 << 16
        || load.name.starts_with("churn-") && areas >= 1 << 20
}

/// The reason that a quick run leaves it out: an operation takes hundreds of times as long as the
/// tree's.
fn waits(load: &Workload) -> Option<String> {
    let areas = load.params.get("areas").copied().unwrap_or(0);
    let is_slow = load.name.starts_with("churn-") && areas >= 1 << 16;
    is_slow.then(|| "it goes through all areas for a gap".to_owned())
}

/// The reason that an index that only ascends cannot run a workload.
fn from_above(load: &Workload) -> Option<String> {
    let is_from_above = load.name.starts_with("churn-") || load.name == "gap-high";
    is_from_above.then(|| "no search from above".to_owned())
}
