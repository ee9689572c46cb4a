//! Augmentation: the data that a node keeps about the subtrees below it.

use core::fmt::Debug;

use super::Side;

/// Defines the order of a tree's nodes, and the data that each keeps about its subtrees.
///
/// A node does not keep the summary of its own subtree. It keeps, for each of its two sides, a
/// [`Half`](Augment::Half): all that its own summary needs to know of that side. So a climb from
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
///     type Half = usize;
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
///     fn join(_: &u64, left: &usize, right: &usize) -> usize {
///         left + 1 + right
///     }
/// }
/// ```
pub trait Augment {
    /// The data of a node. The part that [`Augment`] reads must not change while it is linked,
    /// except through [`RbTree::update`](super::RbTree::update).
    type Item;
    /// The sort key; no two linked nodes have equal keys.
    type Key: Copy + Ord + Debug;
    /// Data that a node keeps about one of its sides.
    type Half: Copy + PartialEq + Debug;
    /// Summary of a whole subtree; it is passed up in registers and never stored.
    type Summary: Copy + PartialEq + Debug;

    /// The key of an item.
    fn key(item: &Self::Item) -> Self::Key;

    /// The half of a side without a child.
    fn empty(item: &Self::Item, side: Side) -> Self::Half;

    /// The half of a side whose child's subtree has the summary `below`. The result may go unused:
    /// a tree computes halves that it might need, to avoid a branch.
    fn half(item: &Self::Item, side: Side, below: &Self::Summary) -> Self::Half;

    /// The summary of the subtree of a node with these halves.
    fn join(item: &Self::Item, left: &Self::Half, right: &Self::Half) -> Self::Summary;
}

/// The half type of the augmentation `A`.
pub type Half<A> = <A as Augment>::Half;
/// The summary type of the augmentation `A`.
pub type Summary<A> = <A as Augment>::Summary;
