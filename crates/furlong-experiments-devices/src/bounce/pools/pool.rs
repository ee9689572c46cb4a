//! The pool of the experiments: of minimum size at first, then grown.
#![forbid(unsafe_code)]

use furlong::bounce::{
    Area, Config, Counters, Device, Growth, Limits, Memory, Mode, Order, Parameter, Pool,
};
use furlong::check::Check;

use crate::bounce::Arm;
use crate::iova_magazine::ThreadCpu;
use furlong_lab::model::Failure;

/// Blocks of the grown pool.
pub(in crate::bounce) const BLOCKS: usize = 4;

/// Slots of a block.
pub(in crate::bounce) const BLOCK_SLOTS: usize = 512;

/// Areas of a block by default.
pub(in crate::bounce) const AREAS: usize = 4;

/// Makes a pool that has grown to its maximum. With four areas it starts like the pool of the
/// measured document, whose guest was booted with `512,4,force`.
///
/// # Errors
/// Out of memory.
fn pool<M: Memory, C: Config<Cpu = ThreadCpu>>(
    memory: M,
    areas: usize,
) -> Result<Pool<M, C>, Failure> {
    let parameter = format!("{BLOCK_SLOTS},{areas},force");
    let parameter: Parameter = parameter.parse().map_err(Failure::of)?;
    debug_assert!(parameter.mode == Mode::Force, "nothing goes round the pool");
    let plan = parameter.plan(1).growth(Growth::Inline).blocks(BLOCKS);
    let pool =
        Pool::with_config(memory, ThreadCpu, &plan).map_err(|none| Failure::of(none.cause))?;
    for _ in 1..BLOCKS {
        pool.grow().map_err(Failure::of)?;
    }
    Ok(pool)
}

/// A pool, and a device that it is forced on.
pub(in crate::bounce) struct Pooled<M: Memory, O: Order, A: Area, K: Counters> {
    pub(in crate::bounce) pool: Pool<M, Arm<O, A, K>>,
    pub(in crate::bounce) device: Device,
}

impl<M: Memory + Default, O: Order, A: Area, K: Counters> Pooled<M, O, A, K> {
    /// Makes a drained pool with `areas` areas per block, and a device that reaches all memory.
    ///
    /// # Errors
    /// Out of memory.
    pub(in crate::bounce) fn new(areas: usize) -> Result<Self, Failure> {
        Ok(Self {
            pool: pool(M::default(), areas)?,
            device: Device::new(1, Limits::new()).map_err(Failure::of)?,
        })
    }
}

/// Checks the invariants of a pool that should have no mappings.
///
/// # Errors
/// An invariant is broken, or a slot is missing.
pub(in crate::bounce) fn drained<M: Memory, C: Config>(pool: &Pool<M, C>) -> Result<(), Failure> {
    pool.check().map_err(Failure::of)?;
    let (free, slots) = (pool.free_slots(), pool.slots());
    if free != slots || slots != BLOCKS * BLOCK_SLOTS {
        return Err(Failure(format!(
            "only {free} of {slots} slots are free at the end"
        )));
    }
    Ok(())
}
