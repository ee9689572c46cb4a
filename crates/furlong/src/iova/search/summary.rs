//! Summary of a subtree for the search: its first and last address, and a measure of its gaps.
//! The default measure adds the largest aligned block to that of `iommu_gas`, the longest gap.

use core::fmt::Debug;
use core::hint::select_unpredictable;
use core::marker::PhantomData;

use super::query::Need;
#[cfg(feature = "alloc")]
use crate::rbtree::Blank;
use crate::rbtree::{Augment, Node, Pair, Side};

/// A reserved extent, in granules of a device's address space. It stores the last granule instead
/// of the end, because an extent may reach the last granule of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reserved {
    /// First granule.
    pub start: u64,
    /// Last granule, at least `start`.
    pub last: u64,
}

#[cfg(feature = "alloc")]
impl Blank for Reserved {
    const BLANK: Self = Self { start: 0, last: 0 };
}

/// Summary of a set of gaps. Measures form a commutative monoid: `NONE` is neutral, `join` is
/// associative and commutative. A set meets a need if and only if one of its gaps does, so a search
/// that descends along `meets` always arrives.
pub trait Measure: Copy + PartialEq + Debug {
    /// The halves of a node as it stores them: `[GapHalf<Self>; 2]`, or a smaller [`Pair`].
    type Halves: Pair<Half = GapHalf<Self>>;

    /// Measure of no gap.
    const NONE: Self;

    /// The halves of a node in no space, which nobody reads: `[GapHalf::UNLINKED; 2]`, for example.
    const UNLINKED: Self::Halves;

    /// Measure of one gap of `len` granules at `start`; `len` may be 0.
    fn of(start: u64, len: u64) -> Self;

    /// Measure of the union of two sets of gaps.
    #[must_use]
    fn join(self, other: Self) -> Self;

    /// Returns true if `both` is the measure of the union of two sets of gaps.
    #[inline(always)]
    fn joins_to(self, other: Self, both: Self) -> bool {
        self.join(other) == both
    }

    /// Returns true if one of the gaps may satisfy the need; never false if one does.
    fn meets(self, need: &Need) -> bool;

    /// Returns true if one gap may satisfy the need, as judged by its measure.
    #[inline(always)]
    fn gap_meets(start: u64, len: u64, need: &Need) -> bool {
        Self::of(start, len).meets(need)
    }

    /// Length of the longest gap.
    fn longest(self) -> u64;

    /// Number of powers of two, from 1 granule on, that [`starts`](Self::starts) supports.
    const ORDERS: u32 = 0;

    /// Number of granules at which `1 << order` granules may start.
    ///
    /// # Panics
    /// If `order` is not less than [`ORDERS`](Self::ORDERS).
    fn starts(self, order: u32) -> u64 {
        panic!("order {order} is not counted")
    }
}

/// The longest gap, and the largest aligned block in any gap. A block has a power of two of
/// granules, and is aligned if it starts at a multiple of its length.
///
/// The two are independent maxima, so a walk towards the root joins them side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Largest {
    /// Granules of the longest gap.
    pub len: u64,
    /// Number of powers of two, from 1 on, of which a gap holds an aligned block: one more than
    /// log2 of the largest block, or 0 without any.
    pub orders: u32,
}

/// Both halves of a node in 34 bytes, so that a node has 64. Each part of a half is at a place that
/// a processor computes from the side while it loads. The orders are first, because in a node they
/// are then off a multiple of four, as its ranks are.
#[derive(Clone, Copy, Debug)]
#[repr(C, packed(2))]
pub struct LargestHalves {
    orders: [u8; 2],
    edge: [u64; 2],
    len: [u64; 2],
}

impl Pair for LargestHalves {
    type Half = GapHalf;

    #[inline(always)]
    fn of(left: GapHalf, right: GapHalf) -> Self {
        Self {
            orders: [left.gap.orders as u8, right.gap.orders as u8],
            edge: [left.edge, right.edge],
            len: [left.gap.len, right.gap.len],
        }
    }

    #[inline(always)]
    fn get(&self, side: Side) -> GapHalf {
        let at = side.index();
        let edge = self.edge[at];
        let (len, orders) = (self.len[at], self.orders[at].into());
        let gap = Largest { len, orders };
        GapHalf { edge, gap }
    }

    #[inline(always)]
    fn set(&mut self, side: Side, GapHalf { edge, gap }: GapHalf) {
        let at = side.index();
        self.edge[at] = edge;
        self.len[at] = gap.len;
        self.orders[at] = gap.orders as u8;
    }
}

impl Measure for Largest {
    type Halves = LargestHalves;

    const NONE: Self = Self { len: 0, orders: 0 };
    const UNLINKED: LargestHalves = LargestHalves {
        orders: [0; 2],
        edge: [0; 2],
        len: [0; 2],
    };

    #[inline(always)]
    fn of(start: u64, len: u64) -> Self {
        let (before, end) = (start.wrapping_sub(1), start.wrapping_add(len));
        // A gap of 2^m to 2^(m+1) - 1 granules always holds a block of half of 2^m, and none larger
        // than 2^m. One or two multiples of 2^m lie between `before` and `end`, `end` included. Two
        // hold a block. No granule counts as 2^0 here, with one multiple.
        let order = (len | 1).ilog2();
        let has_block = (before ^ end) >> order & 1 == 0;
        let orders = order + u32::from(has_block);
        Self { len, orders }
    }

    #[inline(always)]
    fn join(self, other: Self) -> Self {
        // Selected, not branched: it is unpredictable which one is greater. A comparison of the
        // orders themselves would become a `max`, and that a branch.
        let is_longer = other.len > self.len;
        let has_more = (self.orders.wrapping_sub(other.orders) as i32) < 0;
        Self {
            len: select_unpredictable(is_longer, other.len, self.len),
            orders: select_unpredictable(has_more, other.orders, self.orders),
        }
    }

    /// The length first: if one of the two differs, it mostly does.
    #[inline(always)]
    fn joins_to(self, other: Self, both: Self) -> bool {
        self.len.max(other.len) == both.len && self.orders.max(other.orders) == both.orders
    }

    #[inline(always)]
    fn meets(self, need: &Need) -> bool {
        (self.orders >= need.orders) | (self.len >= need.any)
    }

    /// Without an aligned block in the need, the length alone decides.
    #[inline(always)]
    fn gap_meets(start: u64, len: u64, need: &Need) -> bool {
        if need.orders == Need::NO_BLOCK {
            return len >= need.any;
        }
        Self::of(start, len).meets(need)
    }

    #[inline(always)]
    fn longest(self) -> u64 {
        self.len
    }
}

/// Orders extents by their last address. Each subtree's summary holds its first address, its last
/// address and the measure of the gaps between neighbours in it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gaps<M = Largest>(PhantomData<M>);

/// Data that a node keeps about one side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GapHalf<M = Largest> {
    /// Far edge of that side: on the left the first address of the subtree, on the right the last.
    pub edge: u64,
    /// Measure of the gaps on that side, including the one next to the node.
    pub gap: M,
}

impl<M: Measure> GapHalf<M> {
    /// One half of a node in no space.
    pub const UNLINKED: Self = Self {
        edge: 0,
        gap: M::NONE,
    };
}

/// Summary of a subtree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GapSummary<M = Largest> {
    /// Least start.
    pub first: u64,
    /// Greatest last address.
    pub last: u64,
    /// Measure of the gaps between neighbours of the subtree.
    pub gap: M,
}

impl<M: Measure> Augment for Gaps<M> {
    type Item = Reserved;
    type Key = u64;
    type Halves = M::Halves;
    type Summary = GapSummary<M>;

    const HAS_EDGES: bool = true;

    #[inline(always)]
    fn key(item: &Reserved) -> u64 {
        item.last
    }

    #[inline(always)]
    fn empty(item: &Reserved, side: Side) -> GapHalf<M> {
        let edge = match side {
            Side::Left => item.start,
            Side::Right => item.last,
        };
        GapHalf { edge, gap: M::NONE }
    }

    #[inline(always)]
    fn half(item: &Reserved, side: Side, below: &GapSummary<M>) -> GapHalf<M> {
        // Selected, not branched: a walk would mispredict every second branch on the side.
        let is_left = matches!(side, Side::Left);
        let edge = select_unpredictable(is_left, below.first, below.last);
        let before = select_unpredictable(is_left, below.last, item.last);
        let end = select_unpredictable(is_left, item.start, below.first);
        // Wrapping: `check` reports a tree out of order; this must not panic on one.
        let len = end.wrapping_sub(before).wrapping_sub(1);
        let gap = below.gap.join(M::of(before.wrapping_add(1), len));
        GapHalf { edge, gap }
    }

    #[inline(always)]
    fn join(_: &Reserved, side: Side, half: &GapHalf<M>, other: &GapHalf<M>) -> GapSummary<M> {
        let is_left = matches!(side, Side::Left);
        GapSummary {
            first: select_unpredictable(is_left, half.edge, other.edge),
            last: select_unpredictable(is_left, other.edge, half.edge),
            gap: half.gap.join(other.gap),
        }
    }

    #[inline(always)]
    fn differs(
        _: &Reserved,
        _: Side,
        [old, new]: [&GapHalf<M>; 2],
        other: &GapHalf<M>,
        after: &GapSummary<M>,
    ) -> bool {
        old.edge != new.edge || !old.gap.joins_to(other.gap, after.gap)
    }

    #[inline(always)]
    fn with_edge(half: &GapHalf<M>, other: &GapHalf<M>) -> GapHalf<M> {
        let (edge, gap) = (other.edge, half.gap);
        GapHalf { edge, gap }
    }
}

impl<M: Measure> Node<Gaps<M>> {
    /// A node in no space, for an array of nodes, also in a `static`. A space that takes the array
    /// does not read `item`.
    ///
    /// # Example
    /// ```
    /// use furlong::iova::{Reserved, SpaceNode, Standard};
    ///
    /// const UNUSED: SpaceNode = SpaceNode::<Standard>::new(Reserved { start: 0, last: 0 });
    /// static NODES: [SpaceNode; 64] = [UNUSED; 64];
    /// # assert_eq!(NODES.len(), 64);
    /// ```
    #[must_use]
    pub const fn new(item: Reserved) -> Self {
        Self::with_halves(item, M::UNLINKED)
    }
}

#[cfg(test)]
mod tests {
    use super::{Gaps, Largest, Measure};
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

    /// Powers of two of which a gap holds a block at a multiple of it.
    fn orders(start: u128, len: u128) -> u32 {
        let holds = |order: &u32| {
            let first = start.next_multiple_of(1 << order);
            first + (1 << order) <= start + len
        };
        (0..64).take_while(holds).count() as u32
    }

    #[test]
    fn the_largest_gap_and_block_of_any_two_gaps_are_told() {
        let gaps = || (0..40u64).flat_map(|start| (0..80).map(move |len| (start, len)));
        let parts = |largest: Largest| (largest.len, largest.orders);
        for (start, len) in gaps() {
            let one = Largest::of(start, len);
            let block = orders(start.into(), len.into());
            assert_eq!(parts(one), (len, block), "{len} from {start}");
            for (from, more) in gaps().step_by(7) {
                let both = one.join(Largest::of(from, more));
                let block = block.max(orders(from.into(), more.into()));
                assert_eq!(parts(both), (len.max(more), block));
                assert_eq!(both, Largest::of(from, more).join(one));
            }
        }
    }

    #[test]
    fn so_are_those_of_a_gap_of_half_of_all_granules() {
        let half = 1 << 63;
        for start in [1, 2, half - 1, half, half + 1] {
            for len in [half - 2, half - 1, half, half + 1, u64::MAX - 1] {
                let len = len.min(u64::MAX - start);
                let one = Largest::of(start, len);
                let block = orders(start.into(), len.into());
                assert_eq!((one.longest(), one.orders), (len, block));
            }
        }
    }
}
