//! Refusals, one type per operation. After a refusal nothing has changed.
#![forbid(unsafe_code)]

use core::mem::MaybeUninit;

use super::SegmentId;
use super::segment::FRAME_BITS;
use crate::addr::{Extent, Pfn};
pub use crate::error::NoMemory;
use crate::error::messages;
use crate::forms::debug_as;

/// Error of a plug; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlugError {
    /// A frame beyond 2^40, which no 52-bit address reaches.
    Beyond(Pfn),
    /// This segment already has some of the frames.
    Overlap(SegmentId),
    /// The available frames are reversed or not all in the segment.
    Avail {
        /// The first available frame.
        start: Pfn,
        /// The frame after the last available one.
        end: Pfn,
    },
    /// The arm has room for this number of segments, and it is full.
    Full(usize),
    /// No memory for the segment's bookkeeping.
    NoMemory,
    /// The hosting memory is too small, or reaches beyond the range: this number of bytes is
    /// needed.
    TooSmall(usize),
    /// A range can host its bookkeeping only after the start.
    NotStarted,
}

messages! { PlugError:
    Self::Beyond(frame) => "frame {frame} has more than {FRAME_BITS} bits";
    Self::Overlap(id) => "{id:?} already has some of these frames";
    Self::Avail { start, end } => "the available frames {start}..{end} are not in the segment";
    Self::Full(n) => "the table is full: it has {n} segments";
    Self::NoMemory => "out of memory for the segment's bookkeeping";
    Self::TooSmall(n) => "the bookkeeping needs {n} bytes";
    Self::NotStarted => "the table was not started";
}

/// Error of a plug with hosted bookkeeping; nothing has changed.
pub struct HostError {
    /// The reason.
    pub cause: PlugError,
    /// The hosting memory, returned. `None` if the table had to keep it as donated memory, because
    /// data shared by all segments has moved there; with enough memory elsewhere that cannot
    /// happen.
    pub memory: Option<&'static mut [MaybeUninit<u8>]>,
}

messages! { HostError:
    Self { cause, .. } => "{cause}";
}

debug_as! { HostError: |it| HostError(it.cause) }

/// Error of an unplug or isolation; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnplugError {
    /// No segment has this frame.
    Unknown(Pfn),
    /// The frames begin in this segment and go beyond its end.
    Crosses(SegmentId),
    /// They are all frames of the only segment.
    LastSegment,
    /// Some of them are already isolated.
    Isolated(Extent<Pfn>),
    /// This frame's descriptor is pinned.
    Pinned(Pfn),
    /// These frames hold bookkeeping: descriptors of frames that would stay, or parts of the index
    /// that had no other memory.
    Bookkeeping(Extent<Pfn>),
    /// Readers are inside: isolate, and remove later.
    Readers,
    /// The table has not started: unplug in one step instead.
    NotStarted,
    /// The frames were isolated in another table, or a newer token exists for them.
    StaleToken,
    /// A hole in the middle needs a second segment, and all of this number of segments are in use.
    Full(usize),
    /// No memory for the second segment that a hole in the middle needs.
    NoMemory,
}

messages! { UnplugError:
    Self::Unknown(frame) => "no segment has frame {frame}";
    Self::Crosses(id) => "the frames extend beyond the end of {id:?}";
    Self::LastSegment => "the frames are all of the last segment";
    Self::Isolated(frames) => "{frames:?} are already isolated";
    Self::Pinned(frame) => "frame {frame} is pinned";
    Self::Bookkeeping(frames) => "{frames:?} hold the bookkeeping of other segments";
    Self::Readers => "readers are in a section: isolate now, and remove later";
    Self::NotStarted => "the table was not started: unplug in one step";
    Self::StaleToken => "{}", StaleToken::SAID;
    Self::Full(n) => "the table is full: it has {n} segments";
    Self::NoMemory => "out of memory for a split";
}

/// Error of a removal, with the token. The frames stay isolated.
#[derive(Debug, PartialEq, Eq)]
pub struct RemoveError {
    /// The reason.
    pub cause: UnplugError,
    /// The frames.
    pub frames: super::Isolated,
}

messages! { RemoveError:
    Self { cause, .. } => "{cause}";
}

/// Error of an abort, with the token: the frames were isolated in another table, or a newer token
/// exists for them. Nothing has changed.
#[derive(Debug, PartialEq, Eq)]
pub struct StaleToken(pub super::Isolated);

messages! { StaleToken:
    Self(..) => "{}", Self::SAID;
}

impl StaleToken {
    const SAID: &str = "the token belongs to another table, or a newer one is valid";
}

/// Error of a start; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartError {
    /// The table has already started.
    Started,
    /// The arm has room for this number of segments, and there are more.
    Full(usize),
    /// No memory for descriptors and index.
    NoMemory,
}

messages! { StartError:
    Self::Started => "the table was started before";
    Self::Full(n) => "the table supports only {n} segments";
    Self::NoMemory => "out of memory for descriptors and index";
}

/// Error of a steal; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StealError {
    /// The table has started: its frames belong to the page allocator.
    Started,
    /// There is no frame to take.
    Nothing,
    /// It would be the last frame of the last segment.
    LastFrame,
    /// No room for the second segment that a hole in the middle needs.
    NoMemory,
    /// The handle is stale.
    Stale(SegmentId),
}

messages! { StealError:
    Self::Started => "frames can be stolen only at boot";
    Self::Nothing => "no frame is available";
    Self::LastFrame => "the last frame cannot be taken";
    Self::NoMemory => "the table has no room for a split";
    Self::Stale(id) => "{id:?} was removed";
}

/// Error of a change to a segment's properties; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetError {
    /// The handle is stale.
    Stale(SegmentId),
    /// The available frames are reversed, not all in the segment, or host bookkeeping.
    Avail,
    /// The hint is beyond the available frames.
    Hint(u64),
}

messages! { SetError:
    Self::Stale(id) => "{id:?} was removed";
    Self::Avail => "the frames are not in the segment, or host bookkeeping";
    Self::Hint(n) => "hint {n} is beyond the available frames";
}

/// Error of a request to make descriptors; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MakeError {
    /// No segment with descriptors has this frame.
    Unknown(Pfn),
    /// No memory for the index.
    NoMemory,
}

messages! { MakeError:
    Self::Unknown(frame) => "no segment with descriptors has frame {frame}";
    Self::NoMemory => "out of memory for the index";
}

/// The segment is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stale(pub SegmentId);

messages! { Stale:
    Self(id) => "{:?} was removed", id;
}

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
