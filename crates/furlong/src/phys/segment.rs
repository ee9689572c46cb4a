//! What goes in and what comes out: requests, handles, segments as they are at a moment.
#![forbid(unsafe_code)]

use core::fmt;

use crate::addr::{Address, Extent, Pfn};

/// Where the memory of a segment belongs: a free list, or a NUMA node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Node(pub u32);

/// Names a segment for as long as it lives, however it shrinks; refused afterwards.
///
/// A restored table knows the handles of the one that was saved.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SegmentId {
    pub(super) index: u32,
    /// Odd.
    pub(super) generation: u32,
}

impl fmt::Debug for SegmentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "segment {}.{}", self.index, self.generation / 2)
    }
}

/// A segment as it is at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its name.
    pub id: SegmentId,
    /// All its frames.
    pub frames: Extent<Pfn>,
    /// The frames in it that the page allocator may have; none where it is `None`.
    pub avail: Option<Extent<Pfn>>,
    /// The first frame of `avail`, or where an empty one stands.
    pub avail_start: Pfn,
    /// The first frame behind `avail`.
    pub avail_end: Pfn,
    /// Free list or NUMA node.
    pub node: Node,
    /// Where, counted from the start of `avail`, the next search for contiguous pages begins.
    pub start_hint: u64,
    /// The user's value.
    pub user: u64,
}

impl Segment {
    /// The number of frames.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.frames.last().raw() - self.frames.start().raw() + 1
    }

    /// Never: a segment has at least one frame.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        false
    }
}

/// What is plugged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plug {
    pub(super) frames: Extent<Pfn>,
    pub(super) avail: Option<(Pfn, Pfn)>,
    pub(super) node: Node,
    pub(super) user: u64,
}

impl Plug {
    /// These frames, all available, of node 0, with user value 0.
    #[must_use]
    pub fn new(frames: Extent<Pfn>) -> Self {
        Self {
            frames,
            avail: None,
            node: Node::default(),
            user: 0,
        }
    }

    /// Of these frames the page allocator may have `start..end` only, which may be empty.
    #[must_use]
    pub fn avail(mut self, start: Pfn, end: Pfn) -> Self {
        self.avail = Some((start, end));
        self
    }

    /// Of this free list or NUMA node.
    #[must_use]
    pub fn node(mut self, node: Node) -> Self {
        self.node = node;
        self
    }

    /// With this value of the user's.
    #[must_use]
    pub fn user(mut self, user: u64) -> Self {
        self.user = user;
        self
    }
}

impl From<Extent<Pfn>> for Plug {
    fn from(frames: Extent<Pfn>) -> Self {
        Self::new(frames)
    }
}

/// Frames that nobody finds any more, on their way out of the table.
///
/// It is not `Copy`, and no other is valid for these frames: what it stands for is removed or
/// aborted once, by the table that made it; any other table refuses it. Dropped, its frames stay
/// isolated: nobody finds them, and they cannot be unplugged. They are not lost:
/// [`Segments::isolated`] lists them and [`Segments::adopt`] makes another token.
///
/// [`Segments::isolated`]: super::Segments::isolated
/// [`Segments::adopt`]: super::Segments::adopt
#[derive(Debug, PartialEq, Eq)]
#[must_use = "its frames stay isolated until it is removed or aborted"]
pub struct Isolated {
    pub(super) frames: Extent<Pfn>,
    /// No other isolation of any table has it.
    pub(super) serial: u64,
}

impl Isolated {
    /// The frames.
    #[must_use]
    pub fn frames(&self) -> Extent<Pfn> {
        self.frames
    }
}

/// Frames `start..end`, inside: frames have 40 bits, so ends do not overflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frames {
    pub(super) start: u64,
    pub(super) end: u64,
}

/// Frames have numbers of so many bits: 52-bit addresses in pages of 4 KiB.
pub const FRAME_BITS: u32 = 40;

impl Frames {
    pub(super) const NONE: Self = Self { start: 0, end: 0 };

    /// `None` if it reaches beyond [`FRAME_BITS`].
    pub(super) fn new(extent: Extent<Pfn>) -> Option<Self> {
        let end = extent.last().raw().checked_add(1)?;
        (end <= 1 << FRAME_BITS).then_some(Self {
            start: extent.start().raw(),
            end,
        })
    }

    pub(super) fn extent(self) -> Option<Extent<Pfn>> {
        Extent::from_end(Pfn::new(self.start), Pfn::new(self.end))
    }

    pub(super) fn len(self) -> u64 {
        self.end - self.start
    }

    /// Its length; 0 where the start is not below the end.
    pub(super) fn checked_len(self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    pub(super) fn is_empty(self) -> bool {
        self.start >= self.end
    }

    pub(super) fn contains(self, frame: u64) -> bool {
        self.start <= frame && frame < self.end
    }

    pub(super) fn covers(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    pub(super) fn meet(self, other: Self) -> Self {
        Self {
            start: self.start.max(other.start),
            end: self.end.min(other.end),
        }
    }

    pub(super) fn overlaps(self, other: Self) -> bool {
        !self.meet(other).is_empty()
    }
}
