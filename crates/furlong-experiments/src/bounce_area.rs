//! `bounce-area`: how the free slots of an area are shared.
#![forbid(unsafe_code)]

use furlong::bounce::{Area, AreaFirst, LockFree, Locked, PoolFirst};

use super::bounce::{self, YieldingLock};
use furlong_lab::model::{Arm, Experiment, Failure, Outcome, Request};

const PLAN: &str = include_str!("../experiments/bounce-area/plan.toml");

/// The experiment.
#[must_use]
pub fn experiment() -> Experiment {
    let arms = vec![
        Arm::new("locked", run::<Locked<YieldingLock>>),
        Arm::new("lockfree", run::<LockFree>),
    ];
    Experiment::compiled_in(PLAN, arms)
}

/// In the order that keeps CPUs apart, unless the workload is about the one that does not.
fn run<A: Area>(request: &Request) -> Result<Outcome, Failure> {
    let is_pool_first = request.workload.params.get("pool_first") == Some(&1);
    if is_pool_first {
        bounce::run::<PoolFirst, A>(request)
    } else {
        bounce::run::<AreaFirst, A>(request)
    }
}
