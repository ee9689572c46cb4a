//! Arguments and results: plug requests, handles, snapshots of segments.
#![forbid(unsafe_code)]

use core::fmt;

use crate::addr::{Address, Extent, Pfn};

/// The free list or NUMA node of a segment's memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Node(pub u32);

/// Handle of a segment. It stays valid while the segment shrinks and is refused once it is gone,
/// until its place has had 2^31 more segments.
///
/// A restored table accepts the handles of the saved one.
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

/// A snapshot of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its handle.
    pub id: SegmentId,
    /// All its frames.
    pub frames: Extent<Pfn>,
    /// The frames that the page allocator may use; `None` if there are none.
    pub avail: Option<Extent<Pfn>>,
    /// The first frame of `avail`, or the position of an empty `avail`.
    pub avail_start: Pfn,
    /// The frame after the last one of `avail`.
    pub avail_end: Pfn,
    /// Free list or NUMA node.
    pub node: Node,
    /// Start of the next search for contiguous pages, in frames from the start of `avail`.
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

    /// Always false: a segment has at least one frame.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        false
    }
}

/// A request to plug frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plug {
    pub(super) frames: Extent<Pfn>,
    pub(super) avail: Option<(Pfn, Pfn)>,
    pub(super) node: Node,
    pub(super) user: u64,
}

impl Plug {
    /// A request for these frames: all available, node 0, user value 0.
    #[must_use]
    pub fn new(frames: Extent<Pfn>) -> Self {
        Self {
            frames,
            avail: None,
            node: Node::default(),
            user: 0,
        }
    }

    /// Limits the frames that the page allocator may use to `start..end`, which may be empty.
    #[must_use]
    pub fn avail(mut self, start: Pfn, end: Pfn) -> Self {
        self.avail = Some((start, end));
        self
    }

    /// Sets the free list or NUMA node.
    #[must_use]
    pub fn node(mut self, node: Node) -> Self {
        self.node = node;
        self
    }

    /// Sets the user's value.
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

/// Token for isolated frames: lookups no longer find them, and they can be removed or taken back.
///
/// The token is not `Copy`, and only one is valid for these frames. Only the table that made it
/// accepts it, for one remove or abort. If it is dropped, its frames stay isolated: lookups do not
/// find them, and they cannot be unplugged. They are not lost: [`Segments::isolated`] lists them
/// and [`Segments::adopt`] makes another token.
///
/// [`Segments::isolated`]: super::Segments::isolated
/// [`Segments::adopt`]: super::Segments::adopt
#[derive(Debug, PartialEq, Eq)]
#[must_use = "the frames stay isolated until the token is removed or aborted"]
pub struct Isolated {
    pub(super) frames: Extent<Pfn>,
    /// Unique among all isolations of all tables.
    pub(super) serial: u64,
}

impl Isolated {
    /// The frames.
    #[must_use]
    pub fn frames(&self) -> Extent<Pfn> {
        self.frames
    }
}

/// Frames `start..end`. Frame numbers have 40 bits, so `end` cannot overflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frames {
    pub(super) start: u64,
    pub(super) end: u64,
}

/// Bits of a frame number: 52-bit addresses in pages of 4 KiB.
pub const FRAME_BITS: u32 = 40;

impl Frames {
    pub(super) const NONE: Self = Self::between(0, 0);

    pub(super) const fn between(start: u64, end: u64) -> Self {
        Self { start, end }
    }

    /// `None` if the extent reaches beyond [`FRAME_BITS`].
    pub(super) fn new(extent: Extent<Pfn>) -> Option<Self> {
        let end = extent.last().raw().checked_add(1)?;
        (end <= 1 << FRAME_BITS).then_some(Self::between(extent.start().raw(), end))
    }

    pub(super) fn extent(self) -> Option<Extent<Pfn>> {
        Extent::from_end(Pfn::new(self.start), Pfn::new(self.end))
    }

    pub(super) fn len(self) -> u64 {
        self.end - self.start
    }

    /// The length; 0 if the start is not below the end.
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
        Self::between(self.start.max(other.start), self.end.min(other.end))
    }

    pub(super) fn overlaps(self, other: Self) -> bool {
        !self.meet(other).is_empty()
    }
}
