//! `iova-gap`: finding a gap by a scan, and by what a tree knows of its subtrees.
//!
//! The workloads are written over [`AddressAllocator`], so that further arms can be added: a type
//! that implements it, `Arm::new(name, run::<ThatType>)`, and its name in the plan.
#![forbid(unsafe_code)]

mod allocator;
mod course;
mod scan;
mod summary;
#[cfg(test)]
mod tests;
mod workload;

use furlong::iova::{Custom, Standard};
use furlong::rbtree::{Checked, Off, Tally};

use super::{Arm, Experiment, Failure, Outcome, Request};
pub use allocator::{AddressAllocator, Ask, PAGE, Place};
pub use course::run;
pub use scan::Scan;
pub use summary::Summary;

const PLAN: &str = include_str!("../../../../experiments/iova-gap/plan.toml");

/// The experiment.
#[must_use]
pub fn experiment() -> Experiment {
    let summary = Arm {
        na: |load| (load.name == "random-place").then(|| "no random placement yet".to_owned()),
        ..Arm::new("summary", summary)
    };
    let arms = vec![Arm::new("scan", scan), summary];
    Experiment::compiled_in(PLAN, arms)
}

/// Times the arm without counters, or counts without looking at the clock.
fn scan(request: &Request) -> Result<Outcome, Failure> {
    if request.exact {
        run::<Scan<Tally>>(request)
    } else {
        run::<Scan<Off>>(request)
    }
}

fn summary(request: &Request) -> Result<Outcome, Failure> {
    if request.exact {
        run::<Summary<Custom<u64, Checked, Tally>>>(request)
    } else {
        run::<Summary<Standard>>(request)
    }
}
