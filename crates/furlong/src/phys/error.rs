//! What is refused, one type an operation. After each of them nothing has changed.
#![forbid(unsafe_code)]

use core::error::Error;
use core::fmt;
use core::mem::MaybeUninit;

use super::SegmentId;
use super::segment::FRAME_BITS;
use crate::addr::{Extent, Pfn};

/// Why nothing was plugged; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlugError {
    /// A frame beyond 2^40, which no 52-bit address reaches.
    Beyond(Pfn),
    /// This segment has some of the frames.
    Overlap(SegmentId),
    /// The available frames are reversed or not all in the segment.
    Avail {
        /// The first available frame.
        start: Pfn,
        /// The frame behind the last one.
        end: Pfn,
    },
    /// There is room for so many segments in this arm, and they are there.
    Full(usize),
    /// There is no memory for what the table keeps about it.
    NoMemory,
    /// The memory that came with it is too small, or not all in the range: so many bytes are
    /// needed.
    TooSmall(usize),
    /// A range hosts its bookkeeping after the start only.
    NotStarted,
}

impl fmt::Display for PlugError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Beyond(frame) => write!(f, "frame {frame} has more than {FRAME_BITS} bits"),
            Self::Overlap(id) => write!(f, "{id:?} has some of these frames"),
            Self::Avail { start, end } => {
                write!(
                    f,
                    "the available frames {start}..{end} are not in the segment"
                )
            }
            Self::Full(segments) => write!(f, "the table is full with {segments} segments"),
            Self::NoMemory => f.write_str("there is no memory for the segment's bookkeeping"),
            Self::TooSmall(bytes) => write!(f, "the bookkeeping needs {bytes} bytes"),
            Self::NotStarted => f.write_str("the table has not started"),
        }
    }
}

impl Error for PlugError {}

/// Why no range that hosts its bookkeeping was plugged; nothing has changed.
pub struct HostError {
    /// Why.
    pub cause: PlugError,
    /// What was to host it. The table keeps it, as if it had been given to it, only where something
    /// that it keeps for all segments has moved there; enough memory rules that out.
    pub memory: Option<&'static mut [MaybeUninit<u8>]>,
}

impl fmt::Debug for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HostError").field(&self.cause).finish()
    }
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)
    }
}

impl Error for HostError {}

/// Why nothing was unplugged or isolated; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnplugError {
    /// No segment has this frame.
    Unknown(Pfn),
    /// The frames begin in this segment and go beyond its end.
    Crosses(SegmentId),
    /// They are all that there is.
    LastSegment,
    /// Some of them are isolated already.
    Isolated(Extent<Pfn>),
    /// This frame's descriptor is pinned.
    Pinned(Pfn),
    /// Bookkeeping lies in these frames: descriptors of frames that would stay, or index, for which
    /// there was no memory elsewhere.
    Bookkeeping(Extent<Pfn>),
    /// Readers are inside: isolate, and remove later.
    Readers,
    /// The table has not started: frames are unplugged in one step.
    NotStarted,
    /// The frames were isolated in another table, or another token has been made for them.
    StaleToken,
    /// A hole in the middle needs a second segment, and there is room for so many.
    Full(usize),
    /// There is no memory for the second segment that a hole in the middle needs.
    NoMemory,
}

impl fmt::Display for UnplugError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(frame) => write!(f, "no segment has frame {frame}"),
            Self::Crosses(id) => write!(f, "the frames go beyond the end of {id:?}"),
            Self::LastSegment => f.write_str("the frames are all of the last segment"),
            Self::Isolated(frames) => write!(f, "{frames:?} are isolated already"),
            Self::Pinned(frame) => write!(f, "frame {frame} is pinned"),
            Self::Bookkeeping(frames) => write!(f, "{frames:?} hold the bookkeeping of others"),
            Self::Readers => f.write_str("readers are inside: isolate, and remove later"),
            Self::NotStarted => f.write_str("the table has not started: unplug in one step"),
            Self::StaleToken => StaleToken::SAID.fmt(f),
            Self::Full(segments) => write!(f, "the table is full with {segments} segments"),
            Self::NoMemory => f.write_str("there is no memory for a split"),
        }
    }
}

impl Error for UnplugError {}

/// Why isolated frames were not removed. They come back, isolated as before.
#[derive(Debug, PartialEq, Eq)]
pub struct RemoveError {
    /// Why.
    pub cause: UnplugError,
    /// The frames.
    pub frames: super::Isolated,
}

impl fmt::Display for RemoveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)
    }
}

impl Error for RemoveError {}

/// The frames were isolated in another table, or another token has been made for them. It comes
/// back; nothing has changed.
#[derive(Debug, PartialEq, Eq)]
pub struct StaleToken(pub super::Isolated);

impl StaleToken {
    const SAID: &str = "the token is of another table, or a newer one is valid";
}

impl fmt::Display for StaleToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Self::SAID.fmt(f)
    }
}

impl Error for StaleToken {}

/// Why the table did not start; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartError {
    /// It has started before.
    Started,
    /// There is room for so many segments in this arm, and there are more.
    Full(usize),
    /// There is no memory for descriptors and index.
    NoMemory,
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Started => f.write_str("the table has started before"),
            Self::Full(segments) => write!(f, "there is room for {segments} segments only"),
            Self::NoMemory => f.write_str("there is no memory for descriptors and index"),
        }
    }
}

impl Error for StartError {}

/// Why no frame was stolen; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StealError {
    /// The table has started: its frames belong to the page allocator.
    Started,
    /// No frame may be taken from there.
    Nothing,
    /// It would be the last frame of the last segment.
    LastFrame,
    /// There is no room for the second segment that a hole in the middle needs.
    NoMemory,
    /// The handle is stale.
    Stale(SegmentId),
}

impl fmt::Display for StealError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Started => f.write_str("frames are stolen at boot only"),
            Self::Nothing => f.write_str("there is no frame to be taken"),
            Self::LastFrame => f.write_str("it is the last frame of all"),
            Self::NoMemory => f.write_str("there is no room for a split"),
            Self::Stale(id) => write!(f, "{id:?} is gone"),
        }
    }
}

impl Error for StealError {}

/// Why a segment was not changed; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetError {
    /// The handle is stale.
    Stale(SegmentId),
    /// The available frames are reversed, not all in the segment, or host bookkeeping.
    Avail,
    /// The hint is beyond the available frames.
    Hint(u64),
}

impl fmt::Display for SetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stale(id) => write!(f, "{id:?} is gone"),
            Self::Avail => f.write_str("the frames are not in the segment, or host bookkeeping"),
            Self::Hint(hint) => write!(f, "hint {hint} is beyond the available frames"),
        }
    }
}

impl Error for SetError {}

/// Why no descriptors were made; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MakeError {
    /// No segment with descriptors has this frame.
    Unknown(Pfn),
    /// There is no memory for the index.
    NoMemory,
}

impl fmt::Display for MakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(frame) => write!(f, "no segment with descriptors has frame {frame}"),
            Self::NoMemory => f.write_str("there is no memory for the index"),
        }
    }
}

impl Error for MakeError {}

/// The segment is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stale(pub SegmentId);

impl fmt::Display for Stale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is gone", self.0)
    }
}

impl Error for Stale {}

/// There is no memory; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoMemory;

impl fmt::Display for NoMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is no memory")
    }
}

impl Error for NoMemory {}

/// What an index cannot take.
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
