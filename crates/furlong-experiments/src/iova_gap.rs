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

use furlong::iova::{Counts, Custom, Measure, Runs};
use furlong::rbtree::{Checked, Off, Tally};

pub use allocator::{AddressAllocator, Ask, PAGE, Place};
pub use course::{joined, run};
use furlong_lab::model::{Arm, Experiment, Failure, Outcome, Request};
pub use scan::Scan;
pub use summary::Summary;

const PLAN: &str = include_str!("../experiments/iova-gap/plan.toml");

/// The experiment.
#[must_use]
pub fn experiment() -> Experiment {
    let arms = vec![Arm::new("scan", scan), Arm::new("summary", summary)];
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

/// With the largest gap for a measure, and with the measures that are there for alignment and for
/// random placement where the workload is about those.
fn summary(request: &Request) -> Result<Outcome, Failure> {
    match request.workload.name.as_str() {
        "aligned-runs" => measured::<Runs<ORDERS>>(request),
        "random-place" => measured::<Counts<ORDERS>>(request),
        _ => measured::<u64>(request),
    }
}

/// Sizes and alignments go up to sixteen pages: five orders.
const ORDERS: usize = 5;

fn measured<M: Measure + 'static>(request: &Request) -> Result<Outcome, Failure> {
    if request.exact {
        run::<Summary<Custom<M, Checked, Tally>>>(request)
    } else {
        run::<Summary<Custom<M>>>(request)
    }
}
