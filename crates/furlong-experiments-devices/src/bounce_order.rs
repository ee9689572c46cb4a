//! `bounce-order`: the area to search next if this CPU's own area has no room.
#![forbid(unsafe_code)]

use furlong::bounce::{AreaFirst, Locked, Order, PoolFirst};

use super::bounce::{self, YieldingLock};
use furlong_lab::model::{Arm, Experiment};

const PLAN: &str = include_str!("../experiments/bounce-order/plan.toml");

/// Builds the experiment.
#[must_use]
pub fn experiment() -> Experiment {
    let arms = vec![
        arm::<PoolFirst>("pool-first"),
        arm::<AreaFirst>("area-first"),
    ];
    Experiment::compiled_in(PLAN, arms)
}

fn arm<O: Order>(name: &'static str) -> Arm {
    Arm {
        na: bounce::limit,
        ..Arm::new(name, bounce::run::<O, Locked<YieldingLock>>)
    }
}
