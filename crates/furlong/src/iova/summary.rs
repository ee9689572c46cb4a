//! The summary of `iommu_gas`: first, last and largest gap of a subtree of extents.
#![forbid(unsafe_code)]

use core::hint::select_unpredictable;

use crate::rbtree::{Augment, Side};

/// A reserved extent: `start..end`, half-open, in bytes or granules of a device's address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reserved {
    /// First address.
    pub start: u64,
    /// First address behind it; at least `start`.
    pub end: u64,
}

/// Orders extents by their end, and knows of each subtree where it begins, where it ends and the
/// largest gap between two neighbours in it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gaps;

/// What a node keeps about one side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GapHalf {
    /// Far edge of that side: on the left where the subtree begins, on the right where it ends.
    pub edge: u64,
    /// The largest gap on that side, the one next to the node included; 0 if there is none.
    pub gap: u64,
}

/// What is known of a subtree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GapSummary {
    /// Least start.
    pub first: u64,
    /// Greatest end.
    pub last: u64,
    /// The largest gap between two neighbours of the subtree.
    pub gap: u64,
}

impl Augment for Gaps {
    type Item = Reserved;
    type Key = u64;
    type Half = GapHalf;
    type Summary = GapSummary;

    #[inline(always)]
    fn key(item: &Reserved) -> u64 {
        item.end
    }

    #[inline(always)]
    fn empty(item: &Reserved, side: Side) -> GapHalf {
        let edge = match side {
            Side::Left => item.start,
            Side::Right => item.end,
        };
        GapHalf { edge, gap: 0 }
    }

    #[inline(always)]
    fn half(item: &Reserved, side: Side, below: &GapSummary) -> GapHalf {
        // Selected, not branched: a walk mispredicts every other branch on the side.
        let is_left = matches!(side, Side::Left);
        let edge = select_unpredictable(is_left, below.first, below.last);
        let start = select_unpredictable(is_left, below.last, item.end);
        let end = select_unpredictable(is_left, item.start, below.first);
        GapHalf {
            edge,
            // Wrapping: that a tree is out of order is for `check` to say, not for this to stop.
            gap: below.gap.max(end.wrapping_sub(start)),
        }
    }

    #[inline(always)]
    fn join(_: &Reserved, left: &GapHalf, right: &GapHalf) -> GapSummary {
        GapSummary {
            first: left.edge,
            last: right.edge,
            gap: left.gap.max(right.gap),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Gaps;
    use crate::rbtree::Node;

    #[test]
    fn a_node_fills_one_cache_line() {
        assert_eq!(size_of::<Node<Gaps>>(), 64);
        assert_eq!(align_of::<Node<Gaps>>(), 64);
    }
}
