//! Refusals, one type per operation. After a refusal nothing has changed.
#![forbid(unsafe_code)]

use core::fmt;

use thiserror::Error;

use super::mapping::device::Device;
use super::mapping::direction::Direction;
use super::pool::plan::PlanError;
use crate::addr::Iova;

/// Error of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum MapError {
    /// The size is 0.
    #[error("the length is 0")]
    ZeroSize,
    /// The bytes do not fit in a segment with the device's alignment.
    #[error("{len} bytes do not fit in a segment; {longest} always fit")]
    TooLarge {
        /// Bytes.
        len: usize,
        /// The number of bytes that fit for any address of the original.
        longest: u64,
    },
    /// The device's alignment is larger than a segment.
    #[error("no run can start at a multiple of {0:#x} + 1")]
    Align(u64),
    /// The run is longer than the device's boundary.
    #[error("{len} bytes always cross a multiple of {boundary_mask:#x} + 1")]
    CrossesBoundary {
        /// Bytes.
        len: usize,
        /// The boundary, less one.
        boundary_mask: u64,
    },
    /// The device's quota has too few slots left.
    #[error("{wanted} slots exceed the quota: {used} of {quota} are in use")]
    Quota {
        /// The quota in slots.
        quota: u32,
        /// Slots in use.
        used: u32,
        /// Slots that the mapping needs.
        wanted: u32,
    },
    /// The device reaches no block, and growth cannot help. It has this last address.
    #[error("the pool has no memory up to {0}")]
    Unreachable(Iova),
    /// No area has such a run.
    #[error("no run of {wanted} slots fits; {free} slots are free")]
    Full {
        /// Slots of the run.
        wanted: u32,
        /// Free slots in all areas.
        free: usize,
    },
    /// The pool is restricted and has not admitted this device, or another pool has admitted it.
    #[error("device {0} may not use this pool")]
    NotAdmitted(u32),
    /// The limit of waiting maps has been reached.
    #[error("{0} maps already wait, the maximum")]
    TooManyWaiters(usize),
    /// There was no room before the deadline.
    #[error("the time limit passed before there was room")]
    TimedOut,
}

impl MapError {
    /// True if waiting may help.
    pub(super) fn passes(self) -> bool {
        matches!(self, Self::Quota { .. } | Self::Full { .. })
    }
}

/// Error of a call on a mapping: it was not found by its address, or is not the caller's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Misuse {
    /// Nothing is mapped at this address, or not any more.
    #[error("nothing is mapped at {0}")]
    NotMapped(Iova),
    /// The mapping begins at another address, this one.
    #[error("the mapping begins at {0}")]
    NotStart(Iova),
    /// The mapping belongs to another device, the one with this number.
    #[error("it was mapped by device {0}")]
    Foreign(u32),
    /// The mapping has another direction, this one.
    #[error("it was mapped {0:?}")]
    Direction(Direction),
    /// The mapping belongs to a guard.
    #[error("it belongs to a guard")]
    Guarded,
    /// The mapping has an original where none is expected, or none, or was mapped by another call.
    #[error("mapped memory must be unmapped, allocated memory must be freed")]
    Kind,
    /// The mapping has another original than the caller's.
    #[error("the mapping has another original or another length")]
    Original,
    /// The mapping is unclaimed since the pool was restored.
    #[error("the mapping was not claimed after the pool was restored")]
    Unclaimed,
}

/// Error of a sync; nothing was copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SyncError {
    /// The mapping was not found, or is not the caller's.
    #[error("{0}")]
    Misuse(Misuse),
    /// The size is 0.
    #[error("the length is 0")]
    ZeroSize,
    /// Some of the bytes lie outside the mapping.
    #[error("the mapping has {len} bytes at {start}")]
    Outside {
        /// The device address of the mapping.
        start: Iova,
        /// Bytes of the mapping.
        len: usize,
    },
}

impl From<Misuse> for SyncError {
    fn from(misuse: Misuse) -> Self {
        Self::Misuse(misuse)
    }
}

/// Error of growth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum GrowError {
    /// The plan does not allow growth.
    #[error("the plan does not allow the pool to grow")]
    Never,
    /// The pool has the most blocks that it may have.
    #[error("the pool has {0} blocks, the maximum")]
    Limit(usize),
    /// No memory, not even for the smallest block.
    #[error("out of memory for a block")]
    NoMemory,
    /// The memory obtained is misaligned, too small, out of reach or in use.
    #[error("the memory for a block is at another address than requested")]
    Misplaced,
    /// The memory could not be shared with devices.
    #[error("the memory for a block could not be shared")]
    NotShared,
    /// Another CPU is growing the pool.
    #[error("another thread is growing the pool")]
    Busy,
}

/// Error of making a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PoolError {
    /// The plan is invalid.
    #[error("{0}")]
    Plan(PlanError),
    /// The pool got no first block.
    #[error("{0}")]
    Block(GrowError),
    /// No memory for the pool's tables.
    #[error("out of memory for the tables of a pool")]
    NoMemory,
}

/// A pool could not be made; the error returns its memory source.
#[derive(Error)]
#[error("{cause}")]
pub struct NoPool<M> {
    /// The reason.
    pub cause: PoolError,
    /// The memory source.
    pub memory: M,
}

impl<M> fmt::Debug for NoPool<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("NoPool");
        shown.field("cause", &self.cause).finish_non_exhaustive()
    }
}

/// The device still has mappings. The error returns it; nothing has changed.
#[derive(Debug, Error)]
#[error("device {} still has {mappings} mappings", .device.id())]
pub struct StillMapped {
    /// The device.
    pub device: Device,
    /// The number of its mappings.
    pub mappings: usize,
}
