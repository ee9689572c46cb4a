//! Augmentation: the data that a node keeps about the subtrees below it.

use core::fmt::Debug;

use super::Side;

/// Defines the order of a tree's nodes, and the data that each keeps about its subtrees.
///
/// A node does not keep the summary of its own subtree. It keeps, for each of its two sides, a
/// [`Half`]: all that its own summary needs to know of that side. So a climb from
/// one child recomputes one half and joins it with the other one, in the same node. The sibling is
/// never read. In trees larger than the cache, that read is the main cost of an augmentation.
///
/// A summary must be a function of the *sequence* of items in the subtree, regardless of the
/// subtree's shape. Examples are its least or greatest key, a count, a maximum, the largest gap
/// between neighbours. (The height of a subtree is no such function.) Then a rotation does not
/// change the summary of its place. The [`Checked`](super::Checked) propagation may stop where
/// nothing changes.
///
/// Its functions may panic, and any result is safe: a wrong one makes searches miss and `check`
/// report a node. After a panic in a change, every node is either in the tree or out of it. The
/// tree is then [interrupted](super::RbTree::is_interrupted), and the next change recomputes all
/// halves.
///
/// # Example
/// The number of nodes on each side, which makes "the k-th item" a search:
/// ```
/// use furlong::rbtree::{Augment, Side};
///
/// struct Rank;
///
/// impl Augment for Rank {
///     type Item = u64;
///     type Key = u64;
///     type Halves = [usize; 2];
///     type Summary = usize;
///
///     fn key(item: &u64) -> u64 {
///         *item
///     }
///     fn empty(_: &u64, _: Side) -> usize {
///         0
///     }
///     fn half(_: &u64, _: Side, below: &usize) -> usize {
///         *below
///     }
///     fn join(_: &u64, _: Side, half: &usize, other: &usize) -> usize {
///         half + 1 + other
///     }
/// }
/// ```
pub trait Augment: Sized {
    /// The data of a node. The part that [`Augment`] reads must not change while it is linked,
    /// except through [`RbTree::update`](super::RbTree::update).
    type Item;
    /// The sort key; no two linked nodes have equal keys.
    type Key: Copy + Ord + Debug;
    /// Data that a node keeps about its sides: `[H; 2]`, or another [`Pair`] of halves `H`.
    type Halves: Pair;
    /// Summary of a whole subtree; it is passed up in registers and never stored.
    type Summary: Copy + PartialEq + Debug;

    /// True if halves have an edge: data that every node above copies unread, as long as the way up
    /// stays on the same side. An example is the greatest key of a subtree, on the right.
    const HAS_EDGES: bool = false;

    /// The key of an item.
    fn key(item: &Self::Item) -> Self::Key;

    /// The half of a side without a child.
    fn empty(item: &Self::Item, side: Side) -> Half<Self>;

    /// The half of a side whose child's subtree has the summary `below`. The result may go unused:
    /// a tree computes halves that it might need, to avoid a branch.
    fn half(item: &Self::Item, side: Side, below: &Self::Summary) -> Half<Self>;

    /// The summary of the subtree of a node: `half` is on `side`, `other` on the other one.
    fn join(item: &Self::Item, side: Side, half: &Half<Self>, other: &Half<Self>) -> Self::Summary;

    /// The summary of a node without children.
    #[inline(always)]
    fn leaf(item: &Self::Item) -> Self::Summary {
        let [left, right] = Side::BOTH.map(|side| Self::empty(item, side));
        Self::join(item, Side::Left, &left, &right)
    }

    /// Returns true if a node's summary differs once its half on `side`, `change[0]`, has become
    /// `change[1]`, and its summary `after`. A walk towards the root asks this at every node, so an
    /// augmentation may answer with less than a [`join`](Augment::join).
    #[inline(always)]
    fn differs(
        item: &Self::Item,
        side: Side,
        change: [&Half<Self>; 2],
        other: &Half<Self>,
        after: &Self::Summary,
    ) -> bool {
        Self::join(item, side, change[0], other) != *after
    }

    /// The half with the edge of `other`, if halves have edges.
    #[inline(always)]
    fn with_edge(half: &Half<Self>, other: &Half<Self>) -> Half<Self> {
        let _ = other;
        *half
    }
}

/// The half type of the augmentation `A`.
pub type Half<A> = <<A as Augment>::Halves as Pair>::Half;
/// The summary type of the augmentation `A`.
pub type Summary<A> = <A as Augment>::Summary;

/// A value for each side of a node, in any layout.
pub trait Pair: Copy + Debug {
    /// The value of one side.
    type Half: Copy + PartialEq + Debug;

    /// The pair of these two.
    fn of(left: Self::Half, right: Self::Half) -> Self;

    /// The value of `side`.
    fn get(&self, side: Side) -> Self::Half;

    /// Sets the value of `side`.
    fn set(&mut self, side: Side, half: Self::Half);
}

impl<H: Copy + PartialEq + Debug> Pair for [H; 2] {
    type Half = H;

    #[inline(always)]
    fn of(left: H, right: H) -> Self {
        [left, right]
    }

    #[inline(always)]
    fn get(&self, side: Side) -> H {
        self[side.index()]
    }

    #[inline(always)]
    fn set(&mut self, side: Side, half: H) {
        self[side.index()] = half;
    }
}
