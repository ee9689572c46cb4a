//! What is refused, one type an operation. After each of them nothing has changed.
#![forbid(unsafe_code)]

use core::error::Error;
use core::fmt;

use super::device::Device;
use super::direction::Direction;
use super::plan::PlanError;
use crate::addr::Iova;

/// Why nothing was mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapError {
    /// There are no bytes.
    ZeroSize,
    /// They do not fit a segment, aligned as the device asks for.
    TooLarge {
        /// Bytes.
        len: usize,
        /// How many fit wherever the original lies.
        longest: u64,
    },
    /// The device asks for runs at multiples of more than a segment.
    Align(u64),
    /// The run is longer than the device's boundary lets it be.
    CrossesBoundary {
        /// Bytes.
        len: usize,
        /// What is not crossed, less one.
        boundary_mask: u64,
    },
    /// The device has as many slots as it may.
    Quota {
        /// Slots that it may have.
        quota: u32,
        /// Slots that it has.
        used: u32,
        /// Slots that it wants beside them.
        wanted: u32,
    },
    /// The device reaches no block, and there can be none that it does.
    Unreachable(Iova),
    /// No area has such a run.
    Full {
        /// Slots of the run.
        wanted: u32,
        /// Slots that are free, anywhere.
        free: usize,
    },
    /// The pool is restricted and the device was not admitted, or it was admitted to another one.
    NotAdmitted(u32),
    /// There are as many waiting maps as there may be.
    TooManyWaiters(usize),
    /// There was no room before the time was over.
    TimedOut,
}

impl MapError {
    /// Whether room may come by waiting.
    pub(super) fn passes(self) -> bool {
        matches!(self, Self::Quota { .. } | Self::Full { .. })
    }
}

impl fmt::Display for MapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ZeroSize => f.write_str("a mapping has a byte at least"),
            Self::TooLarge { len, longest } => {
                write!(f, "{len} bytes do not fit a segment; {longest} always do")
            }
            Self::Align(mask) => write!(f, "no run starts at a multiple of {mask:#x} + 1"),
            Self::CrossesBoundary { len, boundary_mask } => {
                write!(
                    f,
                    "{len} bytes cross a multiple of {boundary_mask:#x} + 1 wherever they lie"
                )
            }
            Self::Quota {
                quota,
                used,
                wanted,
            } => {
                write!(
                    f,
                    "{wanted} slots are too many with {used} of a quota of {quota} in use"
                )
            }
            Self::Unreachable(reach) => write!(f, "no memory of the pool lies up to {reach}"),
            Self::Full { wanted, free } => {
                write!(f, "no run of {wanted} slots will do; {free} slots are free")
            }
            Self::NotAdmitted(device) => write!(f, "device {device} may not use this pool"),
            Self::TooManyWaiters(waiters) => write!(f, "{waiters} maps are waiting already"),
            Self::TimedOut => f.write_str("there was no room before the time was over"),
        }
    }
}

impl Error for MapError {}

/// Why a mapping was not found by its address, or is not the caller's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misuse {
    /// Nothing is mapped there: it never was, or it has been unmapped.
    NotMapped(Iova),
    /// The mapping begins elsewhere.
    NotStart(Iova),
    /// Another device has mapped it.
    Foreign(u32),
    /// It was mapped in another direction.
    Direction(Direction),
    /// A guard has it.
    Guarded,
    /// It has no original, or has one while none was expected, or was mapped by another call.
    Kind,
    /// It has another original than the one that was pointed to.
    Original,
    /// Nobody has claimed it since the pool was restored.
    Unclaimed,
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotMapped(at) => write!(f, "nothing is mapped at {at}"),
            Self::NotStart(start) => write!(f, "the mapping begins at {start}"),
            Self::Foreign(device) => write!(f, "it was mapped by device {device}"),
            Self::Direction(direction) => write!(f, "it was mapped {direction:?}"),
            Self::Guarded => f.write_str("it belongs to a guard"),
            Self::Kind => f.write_str("mapped and allocated memory are given back differently"),
            Self::Original => f.write_str("it has another original, or one of another length"),
            Self::Unclaimed => f.write_str("nobody has claimed it since the pool was restored"),
        }
    }
}

impl Error for Misuse {}

/// Why nothing was copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncError {
    /// The mapping is not the caller's.
    Misuse(Misuse),
    /// There are no bytes.
    ZeroSize,
    /// Some of the bytes lie outside the mapping.
    Outside {
        /// Where the mapping begins.
        start: Iova,
        /// Its bytes.
        len: usize,
    },
}

impl From<Misuse> for SyncError {
    fn from(misuse: Misuse) -> Self {
        Self::Misuse(misuse)
    }
}

impl fmt::Display for SyncError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Misuse(misuse) => misuse.fmt(f),
            Self::ZeroSize => f.write_str("a sync has a byte at least"),
            Self::Outside { start, len } => {
                write!(f, "the mapping has {len} bytes at {start}")
            }
        }
    }
}

impl Error for SyncError {}

/// Why a pool did not grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrowError {
    /// Its plan lets it never grow.
    Never,
    /// It has as many blocks as it may.
    Limit(usize),
    /// There is no memory, not even for the smallest block.
    NoMemory,
    /// The memory that was offered is misaligned, too small, out of reach or in use.
    Misplaced,
    /// The memory could not be shared with devices.
    NotShared,
    /// Somebody else is at it.
    Busy,
}

impl fmt::Display for GrowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Never => f.write_str("the pool was planned never to grow"),
            Self::Limit(blocks) => write!(f, "the pool has {blocks} blocks, as many as it may"),
            Self::NoMemory => f.write_str("there is no memory for a block"),
            Self::Misplaced => f.write_str("the memory for a block is not where it was asked for"),
            Self::NotShared => f.write_str("the memory for a block could not be shared"),
            Self::Busy => f.write_str("somebody else makes the pool grow"),
        }
    }
}

impl Error for GrowError {}

/// Why there is no pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolError {
    /// There can be none like that.
    Plan(PlanError),
    /// It has no first block.
    Block(GrowError),
    /// There is no memory for its tables.
    NoMemory,
}

impl fmt::Display for PoolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plan(error) => error.fmt(f),
            Self::Block(error) => error.fmt(f),
            Self::NoMemory => f.write_str("there is no memory for the tables of a pool"),
        }
    }
}

impl Error for PoolError {}

/// There is no pool: what was to become of one.
pub struct NoPool<M> {
    /// Why.
    pub cause: PoolError,
    /// Where its memory would have come from.
    pub memory: M,
}

impl<M> fmt::Debug for NoPool<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("NoPool");
        shown.field("cause", &self.cause).finish_non_exhaustive()
    }
}

impl<M> fmt::Display for NoPool<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)
    }
}

impl<M> Error for NoPool<M> {}

/// The device has mappings alive: it comes back, and nothing has changed.
#[derive(Debug)]
pub struct StillMapped {
    /// The device.
    pub device: Device,
    /// Its mappings.
    pub mappings: usize,
}

impl fmt::Display for StillMapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (device, mappings) = (self.device.id(), self.mappings);
        write!(f, "device {device} has {mappings} mappings alive")
    }
}

impl Error for StillMapped {}
