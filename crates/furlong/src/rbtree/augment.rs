//! Augmentation: what a node keeps about the subtrees below it.
#![forbid(unsafe_code)]

use core::fmt::Debug;

use super::Side;

/// How the nodes of a tree are ordered, and what each keeps about its subtrees.
///
/// A node does not keep the summary of its own subtree: it keeps, for each of its two sides, a
/// [`Half`](Augment::Half), which is all that its own summary needs to know of that side. So a
/// climb that comes from one child recomputes one half and joins it with the other one, which
/// stands in the same node: the sibling is never read. In trees larger than the cache that read is
/// what an augmentation costs.
///
/// A summary must be a function of the *sequence* of items in the subtree, whatever the subtree's
/// shape: of its least or greatest key, a count, a maximum, the largest gap between neighbours.
/// (The height of a subtree is no such function.) Rotations then keep the summary of the place
/// where they happen, and the [`Checked`](super::Checked) propagation may stop where nothing
/// changes.
///
/// A function of it may panic, and any answer is safe: one that is wrong makes searches miss and
/// `check` name a node. A panic in a change leaves every node either in the tree or out of it, and
/// the tree [interrupted](super::RbTree::is_interrupted): the next change computes all halves anew.
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
    /// What a node holds. The part that [`Augment`] reads must not change while it is linked,
    /// except through [`RbTree::update`](super::RbTree::update).
    type Item;
    /// What orders the nodes; no two linked nodes have equal keys.
    type Key: Copy + Ord + Debug;
    /// What a node keeps about one of its sides.
    type Half: Copy + PartialEq + Debug;
    /// What is known of a whole subtree; it is handed up in registers and kept nowhere.
    type Summary: Copy + PartialEq + Debug;

    /// The key of an item.
    fn key(item: &Self::Item) -> Self::Key;

    /// The half of a side with no child.
    fn empty(item: &Self::Item, side: Side) -> Self::Half;

    /// The half of a side whose child's subtree has the summary `below`. The answer may not be
    /// used: a tree asks for what it could need rather than to branch on whether it does.
    fn half(item: &Self::Item, side: Side, below: &Self::Summary) -> Self::Half;

    /// The summary of the subtree of a node with these halves.
    fn join(item: &Self::Item, left: &Self::Half, right: &Self::Half) -> Self::Summary;
}

/// A half of the tree `A`.
pub type Half<A> = <A as Augment>::Half;
/// A summary of the tree `A`.
pub type Summary<A> = <A as Augment>::Summary;
