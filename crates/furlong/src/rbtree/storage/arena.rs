//! Nodes in an array that the caller provides: indices instead of pointers, no allocation.
//!
//! With an item of two words and halves of two words each, a node is 60 bytes. A node is aligned to
//! 64 bytes, so that every step of a search or of a walk touches exactly one cache line.

use core::fmt;
use core::hint::select_unpredictable;
use core::marker::PhantomData;

#[cfg(feature = "alloc")]
use alloc::vec::Vec;

use super::nodes::{INTERNAL, Internal, Sealed};
use crate::rbtree::{Augment, Half, Nodes, Pair, Place, Ranks, Side, Slots};

/// Names a node of an [`Arena`]: its index, counted from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct NodeId(u32);

/// Absent node, in place of a child's index; also the root's place.
const NONE: u32 = u32::MAX;
/// The place of a node that is in no tree.
const UNLINKED: u32 = u32::MAX - 1;

impl NodeId {
    /// Maximum number of nodes of an arena: a place uses one bit for the side.
    pub const COUNT_MAX: usize = (UNLINKED >> 1) as usize;

    /// The name of the node at `index`; `None` from [`COUNT_MAX`](Self::COUNT_MAX).
    #[inline(always)]
    #[must_use]
    pub const fn from_index(index: usize) -> Option<Self> {
        if index < Self::COUNT_MAX {
            Some(Self(index as u32))
        } else {
            None
        }
    }

    /// The node's index, counted from 0.
    #[inline(always)]
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    #[inline(always)]
    const fn from_raw(raw: u32) -> Option<Self> {
        if raw == NONE { None } else { Some(Self(raw)) }
    }

    #[inline(always)]
    const fn raw(id: Option<Self>) -> u32 {
        match id {
            Some(id) => id.0,
            None => NONE,
        }
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// A node of an [`Arena`].
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Node<A: Augment> {
    /// The left and the right child's index. They are bytes because a search loads both at once and
    /// then selects, while a change stores one of them.
    children: [u8; 8],
    /// `parent << 1 | side`, or one of the two constants above.
    place: u32,
    /// The owner's mark; see [`RbTree::mark`](crate::rbtree::RbTree::mark).
    mark: u8,
    /// Off a multiple of four. There, the compiler would load four bytes where one has just been
    /// stored. A processor cannot forward such a store, so the load would wait for it.
    ranks: Ranks,
    halves: A::Halves,
    item: A::Item,
}

impl<A: Augment> Node<A> {
    /// Offset of the ranks in a node.
    #[cfg(all(test, feature = "alloc"))]
    pub(crate) const RANKS_AT: usize = core::mem::offset_of!(Self, ranks);

    /// The node's item.
    #[cfg(all(test, feature = "alloc"))]
    pub(crate) const fn item(&self) -> &A::Item {
        &self.item
    }

    /// A node in no tree.
    pub fn of(item: A::Item) -> Self {
        let [left, right] = Side::BOTH.map(|side| A::empty(&item, side));
        Self::with_halves(item, Pair::of(left, right))
    }

    /// A node in no tree, with any halves.
    pub(crate) const fn with_halves(item: A::Item, halves: A::Halves) -> Self {
        Self {
            item,
            halves,
            children: [0xff; 8],
            place: UNLINKED,
            ranks: Ranks::SHORT,
            mark: 0,
        }
    }
}

/// Nodes in the caller's array: a `Vec`, a boxed or a borrowed slice of [`Node`]s, or any other
/// [`Slots`].
///
/// # Panics
/// Every function that takes a [`NodeId`], here and in a tree, if the array has no node of that
/// name.
#[derive(Debug)]
pub struct Arena<A: Augment, S> {
    nodes: S,
    augment: PhantomData<fn() -> A>,
}

/// An arena that owns its array.
#[cfg(feature = "alloc")]
pub type VecArena<A> = Arena<A, Vec<Node<A>>>;

impl<A: Augment, S: Slots<A>> Arena<A, S> {
    /// An arena over `nodes`, none of which may be in a tree.
    ///
    /// # Panics
    /// If there are more than [`NodeId::COUNT_MAX`], or one of them is in a tree.
    pub fn new(nodes: S) -> Self {
        let count = nodes.count();
        assert!(count <= NodeId::COUNT_MAX, "an index has 31 bits");
        assert!(
            (0..count).all(|index| nodes.node(index).place == UNLINKED),
            "a node is in one tree at most"
        );
        Self {
            nodes,
            augment: PhantomData,
        }
    }

    /// Returns the caller's array.
    pub fn into_inner(self) -> S {
        self.nodes
    }

    /// The number of nodes, linked or not.
    pub fn len(&self) -> usize {
        self.nodes.count()
    }

    /// Returns true if the arena has no nodes at all.
    pub fn is_empty(&self) -> bool {
        self.nodes.count() == 0
    }

    /// The names of all nodes, linked or not, by index.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = NodeId> + DoubleEndedIterator + use<A, S> {
        (0..self.len()).map(|index| NodeId(index as u32))
    }

    /// Replaces the item of an unlinked node and returns the old item.
    ///
    /// # Errors
    /// The item is returned if the node is linked; nothing has changed.
    pub fn replace(&mut self, at: NodeId, item: A::Item) -> Result<A::Item, A::Item> {
        if self.is_linked(at) {
            return Err(item);
        }
        Ok(core::mem::replace(
            &mut self.nodes.node_mut(at.index()).item,
            item,
        ))
    }

    /// An arena over nodes that may be in a tree: copies of another arena's nodes.
    #[cfg(feature = "alloc")]
    pub(crate) const fn linked(nodes: S) -> Self {
        Self {
            nodes,
            augment: PhantomData,
        }
    }

    #[cfg(feature = "alloc")]
    pub(crate) fn store(&self) -> &S {
        &self.nodes
    }

    #[inline(always)]
    pub(crate) fn store_mut(&mut self) -> &mut S {
        &mut self.nodes
    }

    #[inline(always)]
    pub(crate) fn mark(&self, at: NodeId) -> u8 {
        self.nodes.node(at.index()).mark
    }

    #[inline(always)]
    pub(crate) fn set_mark(&mut self, at: NodeId, mark: u8) {
        self.nodes.node_mut(at.index()).mark = mark;
    }

    /// The item of a node, if there is one: for a search that must not panic.
    #[cfg(feature = "alloc")]
    #[inline(always)]
    pub(crate) fn get(&self, at: NodeId) -> Option<&A::Item> {
        self.nodes.get(at.index()).map(|node| &node.item)
    }

    #[inline(always)]
    pub(crate) fn item_mut(&mut self, at: NodeId) -> &mut A::Item {
        &mut self.nodes.node_mut(at.index()).item
    }
}

/// Nodes while copies replace them. Its drop unlinks them all: a user's `Clone` has panicked, and
/// the nodes are of two trees.
struct Copying<'a, A: Augment, S: Slots<A>>(&'a mut Arena<A, S>);

impl<A: Augment, S: Slots<A>> Drop for Copying<'_, A, S> {
    fn drop(&mut self) {
        for at in self.0.ids() {
            self.0.set_unlinked(at, INTERNAL);
        }
    }
}

impl<A: Augment, S: Slots<A> + Clone> Clone for Arena<A, S> {
    fn clone(&self) -> Self {
        Self {
            nodes: self.nodes.clone(),
            augment: PhantomData,
        }
    }

    /// Same as the array's own: a `Vec` that is large enough is reused. If a user's `Clone` panics,
    /// all nodes are unlinked.
    fn clone_from(&mut self, source: &Self) {
        let copying = Copying(self);
        copying.0.nodes.clone_from(&source.nodes);
        core::mem::forget(copying);
    }
}

#[cfg(feature = "alloc")]
impl<A: Augment> FromIterator<A::Item> for VecArena<A> {
    fn from_iter<I: IntoIterator<Item = A::Item>>(items: I) -> Self {
        Self::new(items.into_iter().map(Node::of).collect())
    }
}

impl<A: Augment, S: Slots<A>> Sealed for Arena<A, S> {}

impl<A: Augment, S: Slots<A>> Nodes for Arena<A, S> {
    type Augment = A;
    type Ref = NodeId;
    type View<'a>
        = Arena<A, S::View<'a>>
    where
        Self: 'a;

    #[inline(always)]
    fn view(&mut self, _: Internal) -> Self::View<'_> {
        Arena {
            nodes: self.nodes.view(),
            augment: PhantomData,
        }
    }

    #[inline(always)]
    fn item(&self, at: NodeId, _: Internal) -> &A::Item {
        &self.nodes.node(at.index()).item
    }

    #[inline(always)]
    fn child(&self, at: NodeId, side: Side) -> Option<NodeId> {
        let words = self.nodes.node(at.index()).children.as_chunks::<4>().0;
        NodeId::from_raw(u32::from_le_bytes(words[side.index()]))
    }

    #[inline(always)]
    fn child_if(&self, at: NodeId, right: bool) -> Option<NodeId> {
        let both = u64::from_le_bytes(self.nodes.node(at.index()).children);
        NodeId::from_raw(select_unpredictable(
            right,
            (both >> 32) as u32,
            both as u32,
        ))
    }

    #[inline(always)]
    fn only_child(&self, at: NodeId) -> Option<NodeId> {
        let words = self.nodes.node(at.index()).children.as_chunks::<4>().0;
        NodeId::from_raw(u32::from_le_bytes(words[0]) & u32::from_le_bytes(words[1]))
    }

    #[inline(always)]
    fn set_child(&mut self, at: NodeId, side: Side, child: Option<NodeId>, _: Internal) {
        let words = self
            .nodes
            .node_mut(at.index())
            .children
            .as_chunks_mut::<4>()
            .0;
        words[side.index()] = NodeId::raw(child).to_le_bytes();
    }

    #[inline(always)]
    fn ranks(&self, at: NodeId) -> Ranks {
        self.nodes.node(at.index()).ranks
    }

    #[inline(always)]
    fn set_ranks(&mut self, at: NodeId, ranks: Ranks, _: Internal) {
        self.nodes.node_mut(at.index()).ranks = ranks;
    }

    #[inline(always)]
    fn place(&self, at: NodeId) -> Place<NodeId> {
        let place = self.nodes.node(at.index()).place;
        (place < UNLINKED).then(|| (NodeId(place >> 1), Side::right_if(place & 1 == 1)))
    }

    #[inline(always)]
    fn set_place(&mut self, at: NodeId, place: Place<NodeId>, _: Internal) {
        self.nodes.node_mut(at.index()).place = match place {
            Some((parent, side)) => parent.0 << 1 | side.index() as u32,
            None => NONE,
        };
    }

    #[inline(always)]
    fn is_linked(&self, at: NodeId) -> bool {
        // Every change begins with this: behind the last node, a store may have spare ones.
        let node = self.nodes.get(at.index());
        node.expect("the store has a node of this name").place != UNLINKED
    }

    #[inline(always)]
    fn set_unlinked(&mut self, at: NodeId, _: Internal) {
        self.nodes.node_mut(at.index()).place = UNLINKED;
    }

    #[inline(always)]
    fn half(&self, at: NodeId, side: Side) -> Half<A> {
        self.nodes.node(at.index()).halves.get(side)
    }

    #[inline(always)]
    fn set_half(&mut self, at: NodeId, side: Side, half: Half<A>, _: Internal) {
        self.nodes.node_mut(at.index()).halves.set(side, half);
    }
}
