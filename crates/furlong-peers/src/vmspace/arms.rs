//! The peers as arms of `vmspace-index`.
#![forbid(unsafe_code)]

use furlong_lab::experiments::vmspace_index::{AreaIndex, on_index, run};
use furlong_lab::experiments::{Arm, Workload};

use super::{ByLast, ByStart, Intervals, Overlaps, Ranges};

/// The experiment that they are arms of.
pub const EXPERIMENT: &str = "vmspace-index";

/// All peers. Nobody can count the steps of another's search.
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

/// Why a map of ranges cannot run a workload.
fn na(load: &Workload) -> Option<String> {
    if on_index(load) {
        return goes_through_all(load).then(|| "it goes through all areas for a gap".to_owned());
    }
    let lack = if load.name.starts_with("readers-") {
        "no readers beside a writer"
    } else {
        "it is no address space"
    };
    Some(lack.to_owned())
}

/// Whether an operation would go through so many areas that a sample takes minutes.
fn goes_through_all(load: &Workload) -> bool {
    let areas = load.params.get("areas").copied().unwrap_or(0);
    load.name == "gap-none" && areas >= 1 << 16
        || load.name.starts_with("churn-") && areas >= 1 << 20
}

/// Why a quick run does not wait for it: an operation takes hundreds of times the tree's time.
fn waits(load: &Workload) -> Option<String> {
    let areas = load.params.get("areas").copied().unwrap_or(0);
    let is_slow = load.name.starts_with("churn-") && areas >= 1 << 16;
    is_slow.then(|| "it goes through all areas for a gap".to_owned())
}

/// Why one that goes up only cannot.
fn from_above(load: &Workload) -> Option<String> {
    let is_from_above = load.name.starts_with("churn-") || load.name == "gap-high";
    is_from_above.then(|| "no search from above".to_owned())
}
