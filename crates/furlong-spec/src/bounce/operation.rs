//! Operations on a pool, and their outcomes.
#![forbid(unsafe_code)]

use furlong::bounce::{Back, Direction, GrowError, MapError, Misuse, SyncError, Tended};

/// An operation. Devices are numbered as in the [`World`](super::World). Mappings are numbered in
/// the order of creation; when one ends, the last one takes its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Runs the following operations on this CPU.
    OnCpu(usize),
    /// Maps `len` bytes of the originals' memory for a device.
    Map {
        /// Number of the device.
        device: usize,
        /// Offset of the original in the originals' memory.
        original: u64,
        /// Length in bytes.
        len: usize,
        /// Direction of the transfer.
        direction: Direction,
    },
    /// Allocates memory without an original for a device.
    Allocate {
        /// Number of the device.
        device: usize,
        /// Length in bytes.
        len: usize,
    },
    /// Unmaps the mapping of this number, modulo the number of mappings.
    Unmap(usize, Back),
    /// Unmaps with wrong arguments: another address, device or direction.
    UnmapWrongly {
        /// Number of the mapping.
        mapping: usize,
        /// Bytes added to its address.
        delta: u64,
        /// Number of the device that unmaps.
        device: usize,
        /// Direction given to the call.
        direction: Direction,
    },
    /// Unmaps the last mapping that ended once more.
    UnmapAgain,
    /// Syncs bytes of a mapping.
    Sync {
        /// Number of the mapping.
        mapping: usize,
        /// Offset from its start, in bytes.
        delta: u64,
        /// Length in bytes.
        len: usize,
        /// The side that is to see the bytes.
        side: Side,
    },
    /// The device writes this byte to all of a mapping.
    DeviceWrites(usize, u8),
    /// The CPU writes this byte to the originals' memory: offset, length, byte.
    CpuWrites(u64, usize, u8),
    /// Adds a block to the pool.
    Grow,
    /// Tends the pool.
    Tend,
    /// Saves the pool, restores it, and claims all mappings.
    SaveRestore,
    /// Returns the numbers of slots.
    Free,
    /// Returns a digest of all bytes of the originals and of the blocks.
    Bytes,
}

/// The side that a sync is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The device.
    Device,
    /// The CPU.
    Cpu,
}

/// The result of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Success without a value.
    Done,
    /// There are no mappings.
    NoMapping,
    /// The device address of the new mapping.
    Mapped(u64),
    /// The map failed.
    Refused(MapError),
    /// The unmap failed.
    NotUnmapped(Misuse),
    /// The sync failed.
    NotSynced(SyncError),
    /// The pool grew by this many slots.
    Grown(usize),
    /// The pool did not grow.
    NotGrown(GrowError),
    /// The result of tending the pool.
    Tended(Tended),
    /// Numbers of slots: in blocks, free in blocks, in transient blocks.
    Free([usize; 3]),
    /// A digest of all bytes.
    Bytes(u64),
}
