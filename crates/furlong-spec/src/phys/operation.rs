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
    /// Plug frames, the first of which host their bookkeeping.
    PlugHosted {
        /// Which.
        frames: Range<u64>,
        /// So many more host it than need to; `None` for a byte too little.
        spare: Option<u64>,
    },
    /// Make the descriptors around a frame, if they have not been made.
    Make(u64),
    /// Unplug frames in one step.
    Unplug(Range<u64>),
    /// Isolate frames, and remember them under a number below [`HELD`].
    Isolate(usize, Range<u64>),
    /// Remove what is remembered.
    Remove(usize),
    /// Take back what is remembered.
    Abort(usize),
    /// Lose the token of the isolation that has a frame, and make another.
    Adopt(u64),
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
    /// The frame in a segment of the descriptor that a lookup finds.
    FrameIn(Name, u64),
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
    /// Change a segment's value.
    SetUser(Name, u64),
    /// Change a segment's free list.
    SetNode(Name, u32),
    /// Give the table so many bytes.
    Donate(usize),
    /// All segments.
    List,
    /// All isolations.
    Isolations,
    /// How many descriptors there are.
    Descriptors,
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
    /// Stretches of frames.
    Stretches(Vec<Range<u64>>),
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
    /// Bookkeeping lies in these frames.
    Bookkeeping(Range<u64>),
    /// More bytes must host the bookkeeping.
    TooSmall,
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

impl Operation {
    /// What kind it is, in a word.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Plug { .. } => "plug",
            Self::PlugHosted { .. } => "plug-hosted",
            Self::Make(_) => "make",
            Self::Unplug(_) => "unplug",
            Self::Isolate(..) => "isolate",
            Self::Remove(_) => "remove",
            Self::Abort(_) => "abort",
            Self::Adopt(_) => "adopt",
            Self::Start => "start",
            Self::Steal(_) => "steal",
            Self::StealForced(_) => "steal-forced",
            Self::StealFrom(_) => "steal-from",
            Self::Pin(..) => "pin",
            Self::Find(_) => "find",
            Self::Page(_) => "page",
            Self::FrameIn(..) => "frame-in",
            Self::Locate(_) => "locate",
            Self::First => "first",
            Self::Last => "last",
            Self::Next(_) => "next",
            Self::Prev(_) => "prev",
            Self::Get(_) => "get",
            Self::SetAvail(..) => "set-avail",
            Self::SetHint(..) => "set-hint",
            Self::SetUser(..) => "set-user",
            Self::SetNode(..) => "set-node",
            Self::Donate(_) => "donate",
            Self::List => "list",
            Self::Isolations => "isolations",
            Self::Descriptors => "descriptors",
            Self::Highest => "highest",
            Self::AvailEdges => "avail-edges",
            Self::Managed => "managed",
        }
    }
}

impl Operation {
    /// Whether descriptors may come to be or go by it.
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
    /// What kind it is, in a word: done, something or nothing found, or the refusal's name.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        let found = match self {
            Self::Done => return "done",
            Self::Refused(refusal) => return refusal.kind(),
            Self::Number(found) => found.is_some(),
            Self::Place(found) => found.is_some(),
            Self::Segment(found) => found.is_some(),
            Self::Shown(_) => true,
            Self::All(found) => !found.is_empty(),
            Self::Stretches(found) => !found.is_empty(),
            Self::Edges(found) => found.is_some(),
        };
        if found { "some" } else { "none" }
    }
}

impl Refusal {
    /// Its name.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Beyond => "Beyond",
            Self::Overlap(_) => "Overlap",
            Self::Avail => "Avail",
            Self::Full(_) => "Full",
            Self::Unknown(_) => "Unknown",
            Self::Crosses(_) => "Crosses",
            Self::LastSegment => "LastSegment",
            Self::Isolated(_) => "Isolated",
            Self::Bookkeeping(_) => "Bookkeeping",
            Self::TooSmall => "TooSmall",
            Self::Pinned(_) => "Pinned",
            Self::Started => "Started",
            Self::NotStarted => "NotStarted",
            Self::Nothing => "Nothing",
            Self::LastFrame => "LastFrame",
            Self::Stale(_) => "Stale",
            Self::Hint(_) => "Hint",
            Self::Held => "Held",
            Self::NoMemory => "NoMemory",
        }
    }
}
