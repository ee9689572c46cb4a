//! `iova-magazine`: the benefit of per-CPU caches of released ranges.
//!
//! The workloads are generic over [`SharedAllocator`], so that further arms can be added.
#![forbid(unsafe_code)]

mod driver;
mod magazine;
mod shared;
#[cfg(test)]
mod tests;
mod tree;
pub(super) mod watch;
mod worker;

use furlong::iova::Traffic;
use furlong::rbtree::Off;

pub use driver::run;
use furlong_lab::model::{Arm, Experiment, Failure, Outcome, Request};
pub use magazine::{Magazines, ThreadCpu};
pub use shared::{FOLLOWS, SharedAllocator, become_cpu, cpu};
pub use tree::LockedTree;

const PLAN: &str = include_str!("../experiments/iova-magazine/plan.toml");

/// Builds the experiment.
#[must_use]
pub fn experiment() -> Experiment {
    let arms = vec![
        Arm::new("tree", run::<LockedTree>),
        Arm::new("magazine", magazine),
    ];
    Experiment::compiled_in(PLAN, arms)
}

/// Times the arm without counters, or counts without reading the clock.
fn magazine(request: &Request) -> Result<Outcome, Failure> {
    if request.exact {
        run::<Magazines<Traffic>>(request)
    } else {
        run::<Magazines<Off>>(request)
    }
}
