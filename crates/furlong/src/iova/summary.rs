//! Summary of a subtree for a search: where it begins, where it ends, and a measure of its gaps.
//! Without its lowest bit the default measure is that of `iommu_gas`, the largest gap.
#![forbid(unsafe_code)]

use core::fmt::Debug;
use core::hint::select_unpredictable;
use core::marker::PhantomData;

use super::query::Need;
use super::spare::Link;
#[cfg(feature = "alloc")]
use crate::rbtree::Blank;
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

#[cfg(feature = "alloc")]
impl Blank for Reserved {
    const BLANK: Self = Self { start: 0, last: 0 };
}

impl Link for Reserved {
    #[inline(always)]
    fn link(next: u64) -> Self {
        Self {
            start: next,
            last: u64::MAX,
        }
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

    /// Whether one gap may hold what is needed: what its measure says.
    #[inline(always)]
    fn gap_meets(start: u64, len: u64, need: &Need) -> bool {
        Self::of(start, len).meets(need)
    }

    /// Length of the largest gap; where that is 2^63 or more, one less than 2^63.
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

/// The largest gap, and whether it holds the largest block that its length allows: twice the
/// length, and one more if a gap of at least the same power of two, 2^m, has 2^m granules that
/// start at a multiple of 2^m.
///
/// One bit is enough for all blocks. A gap of 2^m granules or more, and fewer than twice as many,
/// surely has a block of half of 2^m, and none of more than 2^m.
///
/// Lengths of 2^63 granules and more count as one less than that: no two gaps are so long.
///
/// # Cost
/// The bit takes no memory: a node has 64 bytes. Beside a measure of the length alone it takes a
/// third more instructions for a change of the tree by address (896 for 677, 65,536 extents), half
/// as many more for a search and a release together (3,357 for 2,218, 10,000 extents), and a
/// quarter to two fifths more time; about one augmentation in a hundred more.
impl Measure for u64 {
    const NONE: Self = 0;

    #[inline(always)]
    fn of(start: u64, len: u64) -> Self {
        let len = len.min(LONGEST);
        let power = 1 << (len | 1).ilog2();
        let past = start.wrapping_neg() & (power - 1);
        len << 1 | u64::from(len >= past + power)
    }

    #[inline(always)]
    fn join(self, other: Self) -> Self {
        let (high, low) = (self.max(other), self.min(other));
        // Less than the lower one only if the highest bit of both is the same, and cancelled.
        let is_same_power = (high ^ low) < low;
        high | (low & u64::from(is_same_power))
    }

    #[inline(always)]
    fn meets(self, need: &Need) -> bool {
        self >= select_unpredictable(self & 1 == 1, need.with_block, need.without_block)
    }

    /// A length is enough or too little, but where a block is asked for.
    #[inline(always)]
    fn gap_meets(start: u64, len: u64, need: &Need) -> bool {
        let is_block = need.with_block != need.without_block;
        if is_block {
            return Self::of(start, len).meets(need);
        }
        len >= need.with_block >> 1
    }

    #[inline(always)]
    fn longest(self) -> u64 {
        self >> 1
    }
}

/// The greatest length that the default measure tells from others.
pub(super) const LONGEST: u64 = u64::MAX >> 1;

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
    use super::{Gaps, LONGEST, Measure};
    use crate::iova::Boundary;
    use crate::rbtree::Node;

    #[test]
    fn a_node_fills_one_cache_line() {
        assert_eq!(size_of::<Node<Gaps>>(), 64);
        assert_eq!(align_of::<Node<Gaps>>(), 64);
    }

    #[test]
    fn a_declared_boundary_makes_it_two() {
        assert_eq!(size_of::<Node<Gaps<Boundary<4>>>>(), 128);
    }

    /// log2 of the largest block of a power of two, at a multiple of it, that a gap holds.
    fn largest_block(start: u64, len: u64) -> Option<u32> {
        let holds = |order: &u32| {
            let first = start.next_multiple_of(1 << order);
            first + (1 << order) <= start + len
        };
        (0..16).rev().find(holds)
    }

    /// What the measure says of it.
    fn told(measure: u64) -> Option<u32> {
        let order = measure.longest().checked_ilog2()?;
        Some(if measure & 1 == 1 { order } else { order - 1 })
    }

    #[test]
    fn one_bit_beside_the_length_tells_the_largest_block_of_any_set_of_gaps() {
        let gaps = || (0..40u64).flat_map(|start| (0..80).map(move |len| (start, len)));
        for (start, len) in gaps() {
            let one = u64::of(start, len);
            assert_eq!((one.longest(), told(one)), (len, largest_block(start, len)));
            for (from, more) in gaps().step_by(7) {
                let both = one.join(u64::of(from, more));
                let block = largest_block(start, len).max(largest_block(from, more));
                assert_eq!((both.longest(), told(both)), (len.max(more), block));
                assert_eq!(both, u64::of(from, more).join(one));
            }
        }
    }

    #[test]
    fn a_gap_of_half_of_all_granules_is_told_from_no_longer_one() {
        for (start, len) in [(1, LONGEST), (1, LONGEST + 1), (1, u64::MAX - 2)] {
            assert_eq!(u64::of(start, len).longest(), LONGEST);
        }
        assert_eq!(u64::of(1, LONGEST - 1).longest(), LONGEST - 1);
    }
}
