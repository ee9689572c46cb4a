//! Refusals, one type per operation. After a refusal nothing has changed.
#![forbid(unsafe_code)]

use crate::error::messages;
use crate::forms::debug_as;

use super::{Device, Direction, PlanError};
use crate::addr::Iova;

messages! {
    /// Error of a map.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum MapError {
        /// The size is 0.
        ZeroSize => "the length is 0";
        /// The bytes do not fit in a segment with the device's alignment.
        TooLarge {
            /// Bytes.
            len: usize,
            /// The number of bytes that fit for any address of the original.
            longest: u64,
        } => "{len} bytes do not fit in a segment; {longest} always fit";
        /// The device's alignment is larger than a segment.
        Align(n: u64) => "no run can start at a multiple of {n:#x} + 1";
        /// The run is longer than the device's boundary.
        CrossesBoundary {
            /// Bytes.
            len: usize,
            /// The boundary, less one.
            boundary_mask: u64,
        } => "{len} bytes always cross a multiple of {boundary_mask:#x} + 1";
        /// The device's quota has too few slots left.
        Quota {
            /// The quota in slots.
            quota: u32,
            /// Slots in use.
            used: u32,
            /// Slots that the mapping needs.
            wanted: u32,
        } => "{wanted} slots exceed the quota: {used} of {quota} are in use";
        /// The device reaches no block, and growth cannot help. It has this last address.
        Unreachable(it: Iova) => "the pool has no memory up to {it}";
        /// No area has such a run.
        Full {
            /// Slots of the run.
            wanted: u32,
            /// Free slots in all areas.
            free: usize,
        } => "no run of {wanted} slots fits; {free} slots are free";
        /// The pool is restricted and has not admitted this device, or another pool has admitted
        /// it.
        NotAdmitted(n: u32) => "device {n} may not use this pool";
        /// The limit of waiting maps has been reached.
        TooManyWaiters(n: usize) => "{n} maps already wait, the maximum";
        /// There was no room before the deadline.
        TimedOut => "the time limit passed before there was room";
    }
}

impl MapError {
    /// True if waiting may help.
    pub(super) fn passes(self) -> bool {
        matches!(self, Self::Quota { .. } | Self::Full { .. })
    }
}

messages! {
    /// Error of a call on a mapping: it was not found by its address, or is not the caller's.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Misuse {
        /// Nothing is mapped at this address, or not any more.
        NotMapped(it: Iova) => "nothing is mapped at {it}";
        /// The mapping begins at another address, this one.
        NotStart(it: Iova) => "the mapping begins at {it}";
        /// The mapping belongs to another device, the one with this number.
        Foreign(n: u32) => "it was mapped by device {n}";
        /// The mapping has another direction, this one.
        Direction(it: Direction) => "it was mapped {it:?}";
        /// The mapping belongs to a guard.
        Guarded => "it belongs to a guard";
        /// The mapping has an original where none is expected, or none, or was mapped by another
        /// call.
        Kind => "mapped memory must be unmapped, allocated memory must be freed";
        /// The mapping has another original than the caller's.
        Original => "the mapping has another original or another length";
        /// The mapping is unclaimed since the pool was restored.
        Unclaimed => "the mapping was not claimed after the pool was restored";
    }
}

messages! {
    /// Error of a sync; nothing was copied.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum SyncError {
        /// The mapping was not found, or is not the caller's.
        Misuse(it: Misuse) => "{it}";
        /// The size is 0.
        ZeroSize => "the length is 0";
        /// Some of the bytes lie outside the mapping.
        Outside {
            /// The device address of the mapping.
            start: Iova,
            /// Bytes of the mapping.
            len: usize,
        } => "the mapping has {len} bytes at {start}";
    }
}

impl From<Misuse> for SyncError {
    fn from(misuse: Misuse) -> Self {
        Self::Misuse(misuse)
    }
}

messages! {
    /// Error of growth.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum GrowError {
        /// The plan does not allow growth.
        Never => "the plan does not allow the pool to grow";
        /// The pool has the most blocks that it may have.
        Limit(n: usize) => "the pool has {n} blocks, the maximum";
        /// No memory, not even for the smallest block.
        NoMemory => "out of memory for a block";
        /// The memory obtained is misaligned, too small, out of reach or in use.
        Misplaced => "the memory for a block is at another address than requested";
        /// The memory could not be shared with devices.
        NotShared => "the memory for a block could not be shared";
        /// Another CPU is growing the pool.
        Busy => "another thread is growing the pool";
    }
}

messages! {
    /// Error of making a pool.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum PoolError {
        /// The plan is invalid.
        Plan(it: PlanError) => "{it}";
        /// The pool got no first block.
        Block(it: GrowError) => "{it}";
        /// No memory for the pool's tables.
        NoMemory => "out of memory for the tables of a pool";
    }
}

/// A pool could not be made; the error returns its memory source.
pub struct NoPool<M> {
    /// The reason.
    pub cause: PoolError,
    /// The memory source.
    pub memory: M,
}

messages! { NoPool<M> where [M]:
    Self { cause, .. } => "{cause}";
}

debug_as! { NoPool<M> where [M]: |it| NoPool { cause: it.cause, .. } }

/// The device still has mappings. The error returns it; nothing has changed.
#[derive(Debug)]
pub struct StillMapped {
    /// The device.
    pub device: Device,
    /// The number of its mappings.
    pub mappings: usize,
}

messages! { StillMapped:
    Self { device, mappings } => "device {} still has {mappings} mappings", device.id();
}
