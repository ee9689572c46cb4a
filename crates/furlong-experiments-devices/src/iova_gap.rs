//! `iova-gap`: finding a gap by a scan, or by the tree's summaries of subtrees.
//!
//! The workloads are generic over [`AddressAllocator`], so that further arms can be added. An arm
//! is a type that implements it, `Arm::new(name, run::<ThatType>)`, and a name in the plan.
#![forbid(unsafe_code)]

mod allocator;
mod driver;
mod scan;
mod summary;
#[cfg(test)]
mod tests;
mod workload;

use furlong::iova::{Counts, Custom, Largest, Measure, Runs};
use furlong::rbtree::{Checked, Off, Tally};

pub use allocator::{AddressAllocator, Ask, PAGE, Place};
pub use driver::{joined, run};
use furlong_lab::model::{Arm, Experiment, Failure, Outcome, Request};
pub use scan::Scan;
pub use summary::Summary;
pub use workload::Kind;

const PLAN: &str = include_str!("../experiments/iova-gap/plan.toml");

/// Builds the experiment.
#[must_use]
pub fn experiment() -> Experiment {
    let arms = vec![Arm::new("scan", scan), Arm::new("summary", summary)];
    Experiment::compiled_in(PLAN, arms)
}

/// Times the arm without counters, or counts without reading the clock.
fn scan(request: &Request) -> Result<Outcome, Failure> {
    if request.exact {
        run::<Scan<Tally>>(request)
    } else {
        run::<Scan<Off>>(request)
    }
}

/// Uses the largest gap as the measure. Workloads about alignment or random placement use the
/// measures made for those.
fn summary(request: &Request) -> Result<Outcome, Failure> {
    match request.workload.read()? {
        Kind::AlignedRuns => measured::<Runs<ORDERS>>(request),
        Kind::Random => measured::<Counts<ORDERS>>(request),
        _ => measured::<Largest>(request),
    }
}

/// Sizes and alignments are at most sixteen pages: five orders.
const ORDERS: usize = 5;

fn measured<M: Measure + 'static>(request: &Request) -> Result<Outcome, Failure> {
    if request.exact {
        run::<Summary<Custom<M, Checked, Tally>>>(request)
    } else {
        run::<Summary<Custom<M>>>(request)
    }
}
