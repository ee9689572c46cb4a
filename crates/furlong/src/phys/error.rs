//! Refusals, one type per operation. After a refusal nothing has changed.
#![forbid(unsafe_code)]

use core::fmt;
use core::mem::MaybeUninit;

use thiserror::Error;

use super::SegmentId;
use super::segment::FRAME_BITS;
use crate::addr::{Extent, Pfn};

/// Error of a plug; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PlugError {
    /// A frame beyond 2^40, which no 52-bit address reaches.
    #[error("frame {0} has more than {bits} bits", bits = FRAME_BITS)]
    Beyond(Pfn),
    /// This segment already has some of the frames.
    #[error("{0:?} already has some of these frames")]
    Overlap(SegmentId),
    /// The available frames are reversed or not all in the segment.
    #[error("the available frames {start}..{end} are not in the segment")]
    Avail {
        /// The first available frame.
        start: Pfn,
        /// The frame after the last available one.
        end: Pfn,
    },
    /// The arm has room for this number of segments, and it is full.
    #[error("the table is full: it has {0} segments")]
    Full(usize),
    /// No memory for the segment's bookkeeping.
    #[error("out of memory for the segment's bookkeeping")]
    NoMemory,
    /// The hosting memory is too small, or reaches beyond the range: this number of bytes is
    /// needed.
    #[error("the bookkeeping needs {0} bytes")]
    TooSmall(usize),
    /// A range can host its bookkeeping only after the start.
    #[error("the table was not started")]
    NotStarted,
}

/// Error of a plug with hosted bookkeeping; nothing has changed.
#[derive(Error)]
#[error("{cause}")]
pub struct HostError {
    /// The reason.
    pub cause: PlugError,
    /// The hosting memory, returned. `None` if the table had to keep it as donated memory, because
    /// data shared by all segments has moved there; with enough memory elsewhere that cannot
    /// happen.
    pub memory: Option<&'static mut [MaybeUninit<u8>]>,
}

impl fmt::Debug for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HostError").field(&self.cause).finish()
    }
}

/// Error of an unplug or isolation; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum UnplugError {
    /// No segment has this frame.
    #[error("no segment has frame {0}")]
    Unknown(Pfn),
    /// The frames begin in this segment and go beyond its end.
    #[error("the frames extend beyond the end of {0:?}")]
    Crosses(SegmentId),
    /// They are all frames of the only segment.
    #[error("the frames are all of the last segment")]
    LastSegment,
    /// Some of them are already isolated.
    #[error("{0:?} are already isolated")]
    Isolated(Extent<Pfn>),
    /// This frame's descriptor is pinned.
    #[error("frame {0} is pinned")]
    Pinned(Pfn),
    /// These frames hold bookkeeping: descriptors of frames that would stay, or parts of the index
    /// that had no other memory.
    #[error("{0:?} hold the bookkeeping of other segments")]
    Bookkeeping(Extent<Pfn>),
    /// Readers are inside: isolate, and remove later.
    #[error("readers are in a section: isolate now, and remove later")]
    Readers,
    /// The table has not started: unplug in one step instead.
    #[error("the table was not started: unplug in one step")]
    NotStarted,
    /// The frames were isolated in another table, or a newer token exists for them.
    #[error("{}", StaleToken::SAID)]
    StaleToken,
    /// A hole in the middle needs a second segment, and all of this number of segments are in use.
    #[error("the table is full: it has {0} segments")]
    Full(usize),
    /// No memory for the second segment that a hole in the middle needs.
    #[error("out of memory for a split")]
    NoMemory,
}

/// Error of a removal, with the token. The frames stay isolated.
#[derive(Debug, PartialEq, Eq, Error)]
#[error("{cause}")]
pub struct RemoveError {
    /// The reason.
    pub cause: UnplugError,
    /// The frames.
    pub frames: super::Isolated,
}

/// Error of an abort, with the token: the frames were isolated in another table, or a newer token
/// exists for them. Nothing has changed.
#[derive(Debug, PartialEq, Eq, Error)]
#[error("{}", Self::SAID)]
pub struct StaleToken(pub super::Isolated);

impl StaleToken {
    const SAID: &str = "the token belongs to another table, or a newer one is valid";
}

/// Error of a start; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum StartError {
    /// The table has already started.
    #[error("the table was started before")]
    Started,
    /// The arm has room for this number of segments, and there are more.
    #[error("the table supports only {0} segments")]
    Full(usize),
    /// No memory for descriptors and index.
    #[error("out of memory for descriptors and index")]
    NoMemory,
}

/// Error of a steal; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum StealError {
    /// The table has started: its frames belong to the page allocator.
    #[error("frames can be stolen only at boot")]
    Started,
    /// There is no frame to take.
    #[error("no frame is available")]
    Nothing,
    /// It would be the last frame of the last segment.
    #[error("the last frame cannot be taken")]
    LastFrame,
    /// No room for the second segment that a hole in the middle needs.
    #[error("the table has no room for a split")]
    NoMemory,
    /// The handle is stale.
    #[error("{0:?} was removed")]
    Stale(SegmentId),
}

/// Error of a change to a segment's properties; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SetError {
    /// The handle is stale.
    #[error("{0:?} was removed")]
    Stale(SegmentId),
    /// The available frames are reversed, not all in the segment, or host bookkeeping.
    #[error("the frames are not in the segment, or host bookkeeping")]
    Avail,
    /// The hint is beyond the available frames.
    #[error("hint {0} is beyond the available frames")]
    Hint(u64),
}

/// Error of a request to make descriptors; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum MakeError {
    /// No segment with descriptors has this frame.
    #[error("no segment with descriptors has frame {0}")]
    Unknown(Pfn),
    /// No memory for the index.
    #[error("out of memory for the index")]
    NoMemory,
}

/// The segment is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{:?} was removed", .0)]
pub struct Stale(pub SegmentId);

/// Out of memory; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("out of memory")]
pub struct NoMemory;

/// Reasons for which an index refuses a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    Full(usize),
    NoMemory,
}

impl From<NoMemory> for Refusal {
    fn from(_: NoMemory) -> Self {
        Self::NoMemory
    }
}

impl From<Refusal> for PlugError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Full(segments) => Self::Full(segments),
            Refusal::NoMemory => Self::NoMemory,
        }
    }
}

impl From<Refusal> for UnplugError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Full(segments) => Self::Full(segments),
            Refusal::NoMemory => Self::NoMemory,
        }
    }
}

impl From<Refusal> for StartError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Full(segments) => Self::Full(segments),
            Refusal::NoMemory => Self::NoMemory,
        }
    }
}
