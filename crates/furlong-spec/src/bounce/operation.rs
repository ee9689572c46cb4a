//! What can be asked of a pool, and what it answers.
#![forbid(unsafe_code)]

use furlong::bounce::{Back, Direction, GrowError, MapError, Misuse, SyncError, Tended};

/// An operation. Devices have their number in the [`World`](super::World); mappings are kept in the
/// order in which they were made, and where one ends the last one takes its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The following operations run on this CPU.
    OnCpu(usize),
    /// A device maps so many bytes at this offset of the originals' memory.
    Map {
        /// Its number.
        device: usize,
        /// Where the original lies.
        original: u64,
        /// Bytes.
        len: usize,
        /// Which way.
        direction: Direction,
    },
    /// A device wants memory without an original.
    Allocate {
        /// Its number.
        device: usize,
        /// Bytes.
        len: usize,
    },
    /// The mapping of this number ends, counted round where there are fewer.
    Unmap(usize, Back),
    /// Somebody unmaps what is not his: the address is so many bytes behind a mapping's.
    UnmapWrongly {
        /// Which mapping.
        mapping: usize,
        /// Added to its address.
        delta: u64,
        /// Who does it.
        device: usize,
        /// In which direction.
        direction: Direction,
    },
    /// The last mapping that ended is unmapped again.
    UnmapAgain,
    /// Bytes of a mapping are synced.
    Sync {
        /// Which mapping.
        mapping: usize,
        /// Bytes from its start.
        delta: u64,
        /// Bytes.
        len: usize,
        /// For whom.
        side: Side,
    },
    /// The device writes this byte to all of a mapping.
    DeviceWrites(usize, u8),
    /// The CPU writes this byte to all of a mapping's original, or to so many bytes there.
    CpuWrites(u64, usize, u8),
    /// The pool is to grow.
    Grow,
    /// The pool is tended.
    Tend,
    /// The pool is saved, restored, and all mappings are claimed.
    SaveRestore,
    /// How much is free?
    Free,
    /// All bytes of the originals and of the blocks, as one number.
    Bytes,
}

/// For whom is synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The device.
    Device,
    /// The CPU.
    Cpu,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is done.
    Done,
    /// There is no mapping.
    NoMapping,
    /// It is mapped there.
    Mapped(u64),
    /// It is not mapped.
    Refused(MapError),
    /// It is not unmapped.
    NotUnmapped(Misuse),
    /// It is not synced.
    NotSynced(SyncError),
    /// It has grown by so many slots.
    Grown(usize),
    /// It has not grown.
    NotGrown(GrowError),
    /// It was tended.
    Tended(Tended),
    /// Slots: all, free, those of transient blocks.
    Free([usize; 3]),
    /// A digest.
    Bytes(u64),
}
