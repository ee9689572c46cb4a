//! `bounce-area`: how the free slots of an area are shared.
#![forbid(unsafe_code)]

use furlong::bounce::{AreaFirst, LockFree, Locked};

use super::bounce::{self, YieldingLock};
use super::{Arm, Experiment};

const PLAN: &str = include_str!("../../../../experiments/bounce-area/plan.toml");

/// The experiment.
#[must_use]
pub fn experiment() -> Experiment {
    let arms = vec![
        Arm::new("locked", bounce::run::<AreaFirst, Locked<YieldingLock>>),
        Arm::new("lockfree", bounce::run::<AreaFirst, LockFree>),
    ];
    Experiment::compiled_in(PLAN, arms)
}
