//! What a search for a gap knows of a subtree: where it begins, where it ends, and a measure of its
//! gaps. With the largest gap for a measure it is the summary of `iommu_gas`.
#![forbid(unsafe_code)]

use core::fmt::Debug;
use core::hint::select_unpredictable;
use core::marker::PhantomData;

use super::query::Need;
use crate::rbtree::{Augment, Side};

/// Something that lies at `start..=last`. Both stay what they are while it is in a tree.
pub trait Ranged {
    /// First address.
    fn start(&self) -> u64;
    /// Last address, at least `start`.
    fn last(&self) -> u64;
}

/// A reserved extent, in granules of a device's address space. Its last address is kept, not its
/// end: an extent may reach the last granule of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reserved {
    /// First granule.
    pub start: u64,
    /// Last granule, at least `start`.
    pub last: u64,
}

impl Ranged for Reserved {
    #[inline(always)]
    fn start(&self) -> u64 {
        self.start
    }

    #[inline(always)]
    fn last(&self) -> u64 {
        self.last
    }
}

/// What is known of a set of gaps. It makes a monoid of them: `NONE` is neutral, `join` associates
/// and commutes. A set meets a need exactly if one of its gaps does: a search that follows `meets`
/// downwards arrives.
pub trait Measure: Copy + PartialEq + Debug {
    /// Of no gap.
    const NONE: Self;

    /// Of one gap of `len` granules at `start`; `len` may be 0.
    fn of(start: u64, len: u64) -> Self;

    /// Of the gaps of both.
    #[must_use]
    fn join(self, other: Self) -> Self;

    /// Whether one of the gaps may hold what is needed; never no where one does.
    fn meets(self, need: &Need) -> bool;

    /// Length of the largest gap.
    fn longest(self) -> u64;

    /// For how many powers of two, from 1 granule on, [`starts`](Self::starts) knows an answer.
    const ORDERS: u32 = 0;

    /// At how many granules `1 << order` granules may start.
    ///
    /// # Panics
    /// If `order` is not less than [`ORDERS`](Self::ORDERS).
    fn starts(self, order: u32) -> u64 {
        panic!("order {order} is not counted")
    }
}

/// The length of the largest gap.
impl Measure for u64 {
    const NONE: Self = 0;

    #[inline(always)]
    fn of(_start: u64, len: u64) -> Self {
        len
    }

    #[inline(always)]
    fn join(self, other: Self) -> Self {
        self.max(other)
    }

    #[inline(always)]
    fn meets(self, need: &Need) -> bool {
        self >= need.span
    }

    #[inline(always)]
    fn longest(self) -> u64 {
        self
    }
}

/// Orders extents by their last address, and knows of each subtree where it begins, where it ends
/// and the measure of the gaps between neighbours in it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gaps<M = u64, T = Reserved>(PhantomData<(M, T)>);

/// What a node keeps about one side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GapHalf<M = u64> {
    /// Far edge of that side: on the left the first address of the subtree, on the right the last.
    pub edge: u64,
    /// Of the gaps on that side, the one next to the node included.
    pub gap: M,
}

/// What is known of a subtree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GapSummary<M = u64> {
    /// Least start.
    pub first: u64,
    /// Greatest last address.
    pub last: u64,
    /// Of the gaps between two neighbours of the subtree.
    pub gap: M,
}

impl<M: Measure, T: Ranged> Augment for Gaps<M, T> {
    type Item = T;
    type Key = u64;
    type Half = GapHalf<M>;
    type Summary = GapSummary<M>;

    #[inline(always)]
    fn key(item: &T) -> u64 {
        item.last()
    }

    #[inline(always)]
    fn empty(item: &T, side: Side) -> GapHalf<M> {
        let edge = match side {
            Side::Left => item.start(),
            Side::Right => item.last(),
        };
        GapHalf { edge, gap: M::NONE }
    }

    #[inline(always)]
    fn half(item: &T, side: Side, below: &GapSummary<M>) -> GapHalf<M> {
        // Selected, not branched: a walk mispredicts every other branch on the side.
        let is_left = matches!(side, Side::Left);
        let edge = select_unpredictable(is_left, below.first, below.last);
        let before = select_unpredictable(is_left, below.last, item.last());
        let end = select_unpredictable(is_left, item.start(), below.first);
        // Wrapping: that a tree is out of order is for `check` to say, not for this to stop.
        let len = end.wrapping_sub(before).wrapping_sub(1);
        GapHalf {
            edge,
            gap: below.gap.join(M::of(before.wrapping_add(1), len)),
        }
    }

    #[inline(always)]
    fn join(_: &T, left: &GapHalf<M>, right: &GapHalf<M>) -> GapSummary<M> {
        GapSummary {
            first: left.edge,
            last: right.edge,
            gap: left.gap.join(right.gap),
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
