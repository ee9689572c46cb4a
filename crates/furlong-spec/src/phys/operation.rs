//! Operations on a table of segments, and their outcomes.
#![forbid(unsafe_code)]

use core::ops::Range;
use std::borrow::Cow;

use crate::coverage::variant;

/// The name of a segment. Plugs and splits make segments, which are numbered in that order.
pub type Name = usize;

/// An operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Plugs frames.
    Plug {
        /// The frames to plug.
        frames: Range<u64>,
        /// The available frames among them; `None` for all.
        avail: Option<Range<u64>>,
        /// Number of the free list.
        node: u32,
        /// The user's value.
        user: u64,
    },
    /// Plugs frames, the first of which hold the bookkeeping.
    PlugHosted {
        /// The frames to plug.
        frames: Range<u64>,
        /// The number of hosting pages beyond those needed; `None` for one byte too few.
        spare: Option<u64>,
    },
    /// Makes the descriptors around a frame unless they exist.
    Make(u64),
    /// Unplugs frames in one step.
    Unplug(Range<u64>),
    /// Isolates frames, and keeps the token under a number below [`HELD`].
    Isolate(usize, Range<u64>),
    /// Removes the frames of the token with this number.
    Remove(usize),
    /// Aborts the isolation of the token with this number.
    Abort(usize),
    /// Loses the token of the isolation that contains a frame, and adopts the isolation again.
    Adopt(u64),
    /// Ends boot.
    Start,
    /// Steals a frame from an edge of a segment.
    Steal(Name),
    /// Steals a frame from a segment, which may split it.
    StealForced(Name),
    /// Steals a frame from free lists, in this order.
    StealFrom(Vec<u32>),
    /// Pins or unpins the descriptor of a frame.
    Pin(u64, bool),
    /// Looks up a frame as a reader.
    Find(u64),
    /// Looks up the descriptor of a frame as a reader.
    Page(u64),
    /// Looks up a frame's descriptor as a reader, and its frame within a segment.
    FrameIn(Name, u64),
    /// Looks up a frame as the writer.
    Locate(u64),
    /// Returns the lowest segment.
    First,
    /// Returns the highest segment.
    Last,
    /// Returns the next segment above.
    Next(Name),
    /// Returns the next segment below.
    Prev(Name),
    /// Returns a segment's properties.
    Get(Name),
    /// Changes the available frames of a segment.
    SetAvail(Name, Range<u64>),
    /// Changes a segment's hint.
    SetHint(Name, u64),
    /// Changes a segment's user value.
    SetUser(Name, u64),
    /// Changes a segment's free list.
    SetNode(Name, u32),
    /// Gives the table this many bytes of memory.
    Donate(usize),
    /// Lists all segments.
    List,
    /// Lists all isolations.
    Isolations,
    /// Returns the number of descriptors.
    Descriptors,
    /// Returns the highest frame.
    Highest,
    /// Returns the lowest and the highest available frame.
    AvailEdges,
    /// Returns the number of managed frames.
    Managed,
}

/// The number of isolation tokens that can be kept.
pub const HELD: usize = 3;

/// The properties of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Its name.
    pub name: Name,
    /// Its frames.
    pub frames: Range<u64>,
    /// Its available frames.
    pub avail: Range<u64>,
    /// Its free list.
    pub node: u32,
    /// Its hint.
    pub hint: u64,
    /// The user's value.
    pub user: u64,
}

/// The result of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Success without a value.
    Done,
    /// A number, or none.
    Number(Option<u64>),
    /// A segment and an offset in it, or nothing.
    Place(Option<(Name, u64)>),
    /// A segment, or none.
    Segment(Option<Name>),
    /// The properties of a segment.
    Shown(Shown),
    /// The properties of all segments.
    All(Vec<Shown>),
    /// Ranges of frames.
    Stretches(Vec<Range<u64>>),
    /// Two frames, or none.
    Edges(Option<(u64, u64)>),
    /// The operation was refused and changed nothing.
    Refused(Refusal),
}

/// The reason for a refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The frames exceed the highest possible frame.
    Beyond,
    /// This segment contains some of the frames.
    Overlap(Name),
    /// The available frames are not in the segment, or are reversed.
    Avail,
    /// The table is full; it has room for this many pieces.
    Full(usize),
    /// No segment contains the frame.
    Unknown(u64),
    /// The frames extend beyond this segment.
    Crosses(Name),
    /// The frames are all of the last segment.
    LastSegment,
    /// These frames are isolated already.
    Isolated(Range<u64>),
    /// These frames hold bookkeeping.
    Bookkeeping(Range<u64>),
    /// The hosting memory is too small for the bookkeeping.
    TooSmall,
    /// This frame is pinned.
    Pinned(u64),
    /// Boot has ended.
    Started,
    /// Boot has not ended.
    NotStarted,
    /// No frame can be stolen.
    Nothing,
    /// The frame is the last one of the table.
    LastFrame,
    /// The segment does not exist any more.
    Stale(Name),
    /// The hint exceeds the available frames.
    Hint(u64),
    /// There is no token under this number, or there is one already.
    Held,
    /// Memory is short.
    NoMemory,
}

impl Operation {
    /// True if the operation can make or drop descriptors.
    #[must_use]
    pub fn changes_descriptors(&self) -> bool {
        matches!(
            self,
            Self::Plug { .. }
                | Self::PlugHosted { .. }
                | Self::Make(_)
                | Self::Unplug(_)
                | Self::Remove(_)
                | Self::Start
        )
    }
}

impl Outcome {
    /// The name of its kind: done, something or nothing found, or the name of the refusal.
    #[must_use]
    pub fn kind(&self) -> Cow<'static, str> {
        let found = match self {
            Self::Done => return "done".into(),
            Self::Refused(refusal) => return variant(refusal).into(),
            Self::Number(found) => found.is_some(),
            Self::Place(found) => found.is_some(),
            Self::Segment(found) => found.is_some(),
            Self::Shown(_) => true,
            Self::All(found) => !found.is_empty(),
            Self::Stretches(found) => !found.is_empty(),
            Self::Edges(found) => found.is_some(),
        };
        if found { "some" } else { "none" }.into()
    }
}
