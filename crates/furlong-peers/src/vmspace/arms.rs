//! The peers as arms of `vmspace-index`.
#![forbid(unsafe_code)]

use furlong_lab::experiments::vmspace_index::{AreaIndex, on_index, run};
use furlong_lab::experiments::{Arm, Workload};

use super::{ByStart, Ranges};

/// The experiment that they are arms of.
pub const EXPERIMENT: &str = "vmspace-index";

/// All peers. Nobody can count the steps of another's search.
#[must_use]
pub fn arms() -> Vec<Arm> {
    vec![arm::<ByStart>("btreemap"), arm::<Ranges>("rangemap")]
}

fn arm<I: AreaIndex>(name: &'static str) -> Arm {
    Arm {
        na,
        counts: false,
        ..Arm::new(name, run::<I>)
    }
}

/// Why a map of ranges cannot run a workload.
fn na(load: &Workload) -> Option<String> {
    if on_index(load) {
        return None;
    }
    let lack = if load.name.starts_with("readers-") {
        "no readers beside a writer"
    } else {
        "it is no address space"
    };
    Some(lack.to_owned())
}
