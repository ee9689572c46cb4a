//! `bounce-area`: ways to share the free slots of an area.
#![forbid(unsafe_code)]

use furlong::bounce::{Area, AreaFirst, LockFree, Locked, PoolFirst};

use super::bounce::{self, YieldingLock};
use furlong_lab::model::{Arm, Experiment, Failure, Outcome, Request};

const PLAN: &str = include_str!("../experiments/bounce-area/plan.toml");

/// Builds the experiment.
#[must_use]
pub fn experiment() -> Experiment {
    let arms = vec![
        Arm::new("locked", run::<Locked<YieldingLock>>),
        Arm::new("lockfree", run::<LockFree>),
    ];
    Experiment::compiled_in(PLAN, arms)
}

/// Runs in area-first order, which keeps CPUs apart, unless the workload asks for pool-first.
fn run<A: Area>(request: &Request) -> Result<Outcome, Failure> {
    let is_pool_first = request.workload.params.get("pool_first") == Some(&1);
    if is_pool_first {
        bounce::run::<PoolFirst, A>(request)
    } else {
        bounce::run::<AreaFirst, A>(request)
    }
}
