//! Refusals, one type per operation. After a refusal nothing has changed.
#![forbid(unsafe_code)]

use core::mem::MaybeUninit;

use super::{FRAME_BITS, SegmentId};
use crate::addr::{Extent, Pfn};
pub use crate::error::NoMemory;
use crate::error::messages;
use crate::forms::debug_as;

messages! {
    /// Error of a plug; nothing has changed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum PlugError {
        /// A frame beyond 2^40, which no 52-bit address reaches.
        Beyond(frame: Pfn) => "frame {frame} has more than {FRAME_BITS} bits";
        /// This segment already has some of the frames.
        Overlap(id: SegmentId) => "{id:?} already has some of these frames";
        /// These frames hold descriptors of a range that another call is just removing.
        Leaving(frames: Extent<Pfn>) => "{frames:?} hold descriptors that are being dropped";
        /// The available frames are reversed or not all in the segment.
        Avail {
            /// The first available frame.
            start: Pfn,
            /// The frame after the last available one.
            end: Pfn,
        } => "the available frames {start}..{end} are not in the segment";
        /// The arm has room for this number of segments, and it is full.
        Full(n: usize) => "the table is full: it has {n} segments";
        /// No memory for the segment's bookkeeping.
        NoMemory => "out of memory for the segment's bookkeeping";
        /// The hosting memory is too small, or reaches beyond the range: this number of bytes is
        /// needed.
        TooSmall(n: usize) => "the bookkeeping needs {n} bytes";
        /// A range can host its bookkeeping only after the start.
        NotStarted => "the table was not started";
    }
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

messages! {
    /// Error of an unplug or isolation; nothing has changed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum UnplugError {
        /// No segment has this frame.
        Unknown(frame: Pfn) => "no segment has frame {frame}";
        /// The frames begin in this segment and go beyond its end.
        Crosses(id: SegmentId) => "the frames extend beyond the end of {id:?}";
        /// They are all frames of the only segment.
        LastSegment => "the frames are all of the last segment";
        /// Some of them are already isolated.
        Isolated(frames: Extent<Pfn>) => "{frames:?} are already isolated";
        /// This frame's descriptor is pinned.
        Pinned(frame: Pfn) => "frame {frame} is pinned";
        /// These frames hold bookkeeping: descriptors of frames that would stay, or parts of the
        /// index that had no other memory.
        Bookkeeping(frames: Extent<Pfn>) => "{frames:?} hold the bookkeeping of other segments";
        /// Readers are inside, or another call is just advancing: isolate, and remove later.
        Readers => "readers are in a section: isolate now, and remove later";
        /// The table has not started: unplug in one step instead.
        NotStarted => "the table was not started: unplug in one step";
        /// The frames were isolated in another table, or a newer token exists for them.
        StaleToken => "{}", StaleToken::SAID;
        /// A hole in the middle needs a second segment, and all of this number of segments are in
        /// use.
        Full(n: usize) => "the table is full: it has {n} segments";
        /// No memory for the second segment that a hole in the middle needs.
        NoMemory => "out of memory for a split";
    }
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

messages! {
    /// Error of a start; nothing has changed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum StartError {
        /// The table has already started.
        Started => "the table was started before";
        /// The arm has room for this number of segments, and there are more.
        Full(n: usize) => "the table supports only {n} segments";
        /// No memory for descriptors and index.
        NoMemory => "out of memory for descriptors and index";
    }
}

messages! {
    /// Error of a steal; nothing has changed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum StealError {
        /// The table has started: its frames belong to the page allocator.
        Started => "frames can be stolen only at boot";
        /// There is no frame to take.
        Nothing => "no frame is available";
        /// It would be the last frame of the last segment.
        LastFrame => "the last frame cannot be taken";
        /// No room for the second segment that a hole in the middle needs.
        NoMemory => "the table has no room for a split";
        /// The handle is stale.
        Stale(id: SegmentId) => "{id:?} was removed";
    }
}

messages! {
    /// Error of a change to a segment's properties; nothing has changed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum SetError {
        /// The handle is stale.
        Stale(id: SegmentId) => "{id:?} was removed";
        /// The available frames are reversed, not all in the segment, or host bookkeeping.
        Avail => "the frames are not in the segment, or host bookkeeping";
        /// The hint is beyond the available frames.
        Hint(n: u64) => "hint {n} is beyond the available frames";
    }
}

messages! {
    /// Error of a request to make descriptors; nothing has changed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum MakeError {
        /// No segment with descriptors has this frame.
        Unknown(frame: Pfn) => "no segment with descriptors has frame {frame}";
        /// No memory for the index.
        NoMemory => "out of memory for the index";
    }
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

macro_rules! from_refusal {
    ($($error:ident),+) => {$(
        impl From<Refusal> for $error {
            fn from(refusal: Refusal) -> Self {
                match refusal {
                    Refusal::Full(segments) => Self::Full(segments),
                    Refusal::NoMemory => Self::NoMemory,
                }
            }
        }
    )+};
}
from_refusal! { PlugError, UnplugError, StartError }
