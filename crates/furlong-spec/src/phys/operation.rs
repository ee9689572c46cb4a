//! What can be asked of a table of segments, and what it answers.
#![forbid(unsafe_code)]

use core::ops::Range;

/// A segment's name: segments are numbered as they come to be, by a plug or by a split.
pub type Name = usize;

/// An operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Plug frames.
    Plug {
        /// Which.
        frames: Range<u64>,
        /// Those that are available; `None` for all.
        avail: Option<Range<u64>>,
        /// The free list.
        node: u32,
        /// The user's value.
        user: u64,
    },
    /// Unplug frames in one step.
    Unplug(Range<u64>),
    /// Isolate frames, and remember them under a number below [`HELD`].
    Isolate(usize, Range<u64>),
    /// Remove what is remembered.
    Remove(usize),
    /// Take back what is remembered.
    Abort(usize),
    /// End boot.
    Start,
    /// Steal from a segment's edge.
    Steal(Name),
    /// Steal from a segment.
    StealForced(Name),
    /// Steal from free lists.
    StealFrom(Vec<u32>),
    /// Pin or unpin the descriptor of a frame.
    Pin(u64, bool),
    /// What a lookup finds.
    Find(u64),
    /// The descriptor that a lookup finds.
    Page(u64),
    /// What the writer finds.
    Locate(u64),
    /// The lowest segment.
    First,
    /// The highest segment.
    Last,
    /// The segment above.
    Next(Name),
    /// The segment below.
    Prev(Name),
    /// A segment.
    Get(Name),
    /// Change what is available of a segment.
    SetAvail(Name, Range<u64>),
    /// Change a segment's hint.
    SetHint(Name, u64),
    /// All segments.
    List,
    /// The highest frame.
    Highest,
    /// The lowest and the highest available frame.
    AvailEdges,
    /// How many frames are managed.
    Managed,
}

/// How many isolations can be remembered.
pub const HELD: usize = 3;

/// A segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Its name.
    pub name: Name,
    /// Its frames.
    pub frames: Range<u64>,
    /// Those that are available.
    pub avail: Range<u64>,
    /// Its free list.
    pub node: u32,
    /// Its hint.
    pub hint: u64,
    /// The user's value.
    pub user: u64,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is done.
    Done,
    /// A number, or none.
    Number(Option<u64>),
    /// A segment and an offset in it, or nothing.
    Place(Option<(Name, u64)>),
    /// A segment, or none.
    Segment(Option<Name>),
    /// What a segment is.
    Shown(Shown),
    /// What all segments are.
    All(Vec<Shown>),
    /// Two frames, or none.
    Edges(Option<(u64, u64)>),
    /// Nothing has been done, and nothing has changed.
    Refused(Refusal),
}

/// Why nothing was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Beyond the frames that there can be.
    Beyond,
    /// This segment has some of the frames.
    Overlap(Name),
    /// Not in the segment, or reversed.
    Avail,
    /// There is room for so many.
    Full(usize),
    /// No segment has the frame.
    Unknown(u64),
    /// Beyond this segment's end.
    Crosses(Name),
    /// All of the last segment.
    LastSegment,
    /// These frames are isolated already.
    Isolated(Range<u64>),
    /// This frame is pinned.
    Pinned(u64),
    /// The table has started.
    Started,
    /// The table has not started.
    NotStarted,
    /// There is nothing to be stolen.
    Nothing,
    /// The last frame of all.
    LastFrame,
    /// The segment is gone.
    Stale(Name),
    /// Beyond what is available.
    Hint(u64),
    /// There is nothing remembered, or something is.
    Held,
    /// There is no memory.
    NoMemory,
}
