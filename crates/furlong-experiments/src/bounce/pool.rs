//! The pool of the experiments: as small as a guest can have it, and grown.
#![forbid(unsafe_code)]

use furlong::bounce::{Config, Device, Growth, Limits, Memory, Mode, Parameter, Pool};
use furlong::check::Check;

use crate::iova_magazine::ThreadCpu;
use crate::said;
use furlong_lab::model::Failure;

/// Blocks that the pool has grown to.
pub(super) const BLOCKS: usize = 4;

/// Slots of each of them.
pub(super) const BLOCK_SLOTS: usize = 512;

/// Areas of each of them, where a workload does not say otherwise.
pub(super) const AREAS: usize = 4;

/// A pool that has grown as far as it may. With four areas it began as that of the measured
/// document, whose guest was booted with `512,4,force`.
///
/// # Errors
/// There is no memory.
pub(super) fn pool<M: Memory, C: Config<Cpu = ThreadCpu>>(
    memory: M,
    areas: usize,
) -> Result<Pool<M, C>, Failure> {
    let parameter = format!("{BLOCK_SLOTS},{areas},force");
    let parameter: Parameter = parameter.parse().map_err(said)?;
    debug_assert!(parameter.mode == Mode::Force, "nothing goes round the pool");
    let plan = parameter.plan(1).growth(Growth::Inline).blocks(BLOCKS);
    let pool = Pool::with_config(memory, ThreadCpu, &plan).map_err(|none| said(none.cause))?;
    for _ in 1..BLOCKS {
        pool.grow().map_err(said)?;
    }
    Ok(pool)
}

/// A device that reaches everything: the pool is forced on it.
///
/// # Errors
/// None that a test would not see.
pub(super) fn device() -> Result<Device, Failure> {
    Device::new(1, Limits::new()).map_err(said)
}

/// Walks the invariants of a pool that should be drained.
///
/// # Errors
/// One is broken, or a slot is missing.
pub(super) fn drained<M: Memory, C: Config>(pool: &Pool<M, C>) -> Result<(), Failure> {
    pool.check().map_err(said)?;
    let (free, slots) = (pool.free_slots(), pool.slots());
    if free != slots || slots != BLOCKS * BLOCK_SLOTS {
        return Err(Failure(format!(
            "{free} of {slots} slots are free in the end"
        )));
    }
    Ok(())
}
