//! The tree: a root and the nodes.

use core::fmt;

use crate::error::messages;

use super::{
    Arena, Augment, Config, Head, INTERNAL, NoMemory, Node, NodeId, Nodes, Side, Slots, Standard,
    Store, Summary, Work,
};

#[cfg(feature = "alloc")]
use super::VecArena;
#[cfg(feature = "alloc")]
use alloc::vec::Vec;

/// The key of the trees over `N`.
pub(super) type Key<N> = <<N as Nodes>::Augment as Augment>::Key;
/// The item of the trees over `N`.
pub(super) type Item<N> = <<N as Nodes>::Augment as Augment>::Item;

/// An augmented rank-balanced (weak AVL) tree over nodes that live in `N`.
///
/// It allocates nothing, moves no item, and names nodes by `N::Ref`. Its height is at most 1.44
/// log2 n without removals (an AVL tree), and at most 2 log2 n with removals.
///
/// # Example
/// The largest gap between neighbouring extents, kept up to date:
/// ```
/// use furlong::iova::{Gaps, Measure, Reserved};
/// use furlong::rbtree::{RbTree, VecArena};
///
/// let extents = [(0, 3), (5, 5), (16, 19)];
/// let nodes: VecArena<Gaps> =
///     extents.into_iter().map(|(start, last)| Reserved { start, last }).collect();
/// let ids: Vec<_> = nodes.ids().collect();
/// let mut tree = RbTree::new(nodes);
/// for &id in &ids {
///     tree.insert(id).unwrap();
/// }
/// assert_eq!(tree.summary().unwrap().gap.longest(), 10);
/// tree.remove(ids[1]).unwrap();
/// assert_eq!(tree.summary().unwrap().gap.longest(), 12);
/// ```
pub struct RbTree<N: Nodes, C: Config = Standard> {
    pub(super) nodes: N,
    pub(super) head: Head<N::Ref>,
    pub(super) counters: C::Counters,
}

/// Reason why a node was not inserted; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InsertError<R> {
    /// The node is in a tree already.
    Linked,
    /// Another node has an equal key.
    Occupied(R),
}

messages! { InsertError<R> where [R: fmt::Debug]:
    Self::Linked => "the node is already in a tree";
    Self::Occupied(it) => "the node {it:?} has an equal key";
}

/// The node is in no tree; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotLinked;

messages! { NotLinked:
    Self => "the node is in no tree";
}

/// Message for a node that belongs to another tree.
const ELSEWHERE: &str = "the node is in another tree";

/// Runs one change on a view of the nodes. A macro, because the view must be a local of the
/// function into which the compiler inlines the change.
macro_rules! change {
    ($tree:ident, |$work:ident| $change:expr) => {{
        let mut $work = Work::<'_, _, C> {
            nodes: $tree.nodes.view(INTERNAL),
            head: &mut $tree.head,
            counters: &$tree.counters,
        };
        $change
    }};
}

impl<N: Nodes> RbTree<N> {
    /// An empty tree over nodes, none of which may be in a tree.
    pub const fn new(nodes: N) -> Self {
        Self {
            nodes,
            head: Head::EMPTY,
            counters: super::Off,
        }
    }
}

impl<N: Nodes, C: Config> RbTree<N, C> {
    /// An empty tree with any configuration, over nodes, none of which may be in a tree.
    pub fn with_config(nodes: N) -> Self {
        Self {
            nodes,
            head: Head::EMPTY,
            counters: C::Counters::default(),
        }
    }

    /// Links `new` at the place of its key.
    ///
    /// # Errors
    /// [`Linked`](InsertError::Linked) if it is in a tree, [`Occupied`](InsertError::Occupied) if a
    /// node has an equal key. Nothing has changed.
    ///
    /// # Cost
    /// O(log n), at most two rotations, no allocation.
    #[inline]
    pub fn insert(&mut self, new: N::Ref) -> Result<(), InsertError<N::Ref>> {
        self.recover();
        change!(self, |work| work.insert(new))
    }

    /// Links `new` just before `next`, or as the last node if `next` is `None`. For a caller that
    /// has found the place by its own search. The caller must ensure that keys ascend;
    /// [`check`](crate::check::Check::check) reports a violation.
    ///
    /// # Errors
    /// [`Linked`](InsertError::Linked) if `new` is in a tree; nothing has changed.
    ///
    /// # Panics
    /// If `next` is in no tree.
    ///
    /// # Cost
    /// Same as [`insert`](Self::insert), without its search.
    #[inline]
    pub fn insert_before(
        &mut self,
        next: Option<N::Ref>,
        new: N::Ref,
    ) -> Result<(), InsertError<N::Ref>> {
        self.insert_beside(next, Side::Left, new)
    }

    /// Links `new` just after `previous`, or as the first node if `previous` is `None`. Otherwise
    /// the same as [`insert_before`](Self::insert_before).
    ///
    /// # Errors
    /// Same as [`insert_before`](Self::insert_before).
    ///
    /// # Panics
    /// If `previous` is in no tree.
    #[inline]
    pub fn insert_after(
        &mut self,
        previous: Option<N::Ref>,
        new: N::Ref,
    ) -> Result<(), InsertError<N::Ref>> {
        self.insert_beside(previous, Side::Right, new)
    }

    fn insert_beside(
        &mut self,
        neighbour: Option<N::Ref>,
        side: Side,
        new: N::Ref,
    ) -> Result<(), InsertError<N::Ref>> {
        if self.nodes.is_linked(new) {
            return Err(InsertError::Linked);
        }
        self.recover();
        let is_there = neighbour.is_none_or(|at| self.nodes.is_linked(at));
        assert!(is_there, "the neighbour is in no tree");
        debug_assert!(neighbour.is_none_or(|at| self.has(at)), "{ELSEWHERE}");
        let place = match neighbour {
            Some(at) if self.nodes.child(at, side).is_none() => Some((at, side)),
            Some(at) => self.step(at, side).map(|at| (at, !side)),
            None => self.edge(!side).map(|at| (at, !side)),
        };
        change!(self, |work| work.link(place, new));
        Ok(())
    }

    /// Links `new` as the outermost node on a side of the subtree of `edge`, or as the only node of
    /// an empty tree if `edge` is `None`. For a caller whose own search has ended above the place.
    /// The caller must ensure that keys ascend, as for [`insert_before`](Self::insert_before).
    ///
    /// # Errors
    /// [`Linked`](InsertError::Linked) if `new` is in a tree; nothing has changed.
    ///
    /// # Panics
    /// If the node of `edge` is in no tree, or `edge` is `None` and the tree is not empty.
    ///
    /// # Cost
    /// Same as [`insert`](Self::insert), with a search that begins at `edge`.
    #[inline]
    pub fn insert_at_edge(
        &mut self,
        edge: Option<(N::Ref, Side)>,
        new: N::Ref,
    ) -> Result<(), InsertError<N::Ref>> {
        if self.nodes.is_linked(new) {
            return Err(InsertError::Linked);
        }
        let place = edge.map(|(at, side)| {
            assert!(self.nodes.is_linked(at), "the edge is in no tree");
            debug_assert!(self.has(at), "{ELSEWHERE}");
            (self.outermost(at, side), side)
        });
        assert!(place.is_some() || self.is_empty(), "the tree is not empty");
        if let Some((at, side)) = place.filter(|_| self.head.is_interrupted) {
            // Recovery changes the shape in which the search ended, so `place` is found first.
            return self.insert_beside(Some(at), side, new);
        }
        change!(self, |work| work.link(place, new));
        Ok(())
    }

    /// Says whether the next changes are at an end of the tree. It only saves time.
    #[inline(always)]
    pub(crate) fn expect_end(&mut self, is_at_end: bool) {
        self.head.is_at_end = is_at_end;
    }

    /// Removes `old` from the tree. All nodes keep their items and names.
    ///
    /// # Errors
    /// [`NotLinked`] if it is in no tree; nothing has changed.
    ///
    /// # Cost
    /// No search; amortised O(1) changes of the shape, at most two rotations; the walk to the root
    /// is O(log n) in the worst case; no allocation.
    #[inline]
    pub fn remove(&mut self, old: N::Ref) -> Result<(), NotLinked> {
        debug_assert!(!self.nodes.is_linked(old) || self.has(old), "{ELSEWHERE}");
        self.recover();
        change!(self, |work| work.remove(old))
    }

    /// Recomputes the summaries for `at`, whose item has changed in a part that the augmentation
    /// reads. Its key must still be between those of its neighbours.
    ///
    /// # Errors
    /// [`NotLinked`] if it is in no tree; nothing has changed.
    ///
    /// # Cost
    /// O(log n).
    pub fn refresh(&mut self, at: N::Ref) -> Result<(), NotLinked> {
        if !self.nodes.is_linked(at) {
            return Err(NotLinked);
        }
        debug_assert!(self.has(at), "{ELSEWHERE}");
        self.recover();
        change!(self, |work| work.refresh(at));
        Ok(())
    }

    /// True if a linked node is in this tree and no other one. It walks to the root, so only
    /// assertions of debug builds call it.
    fn has(&self, at: N::Ref) -> bool {
        let up = |at: &N::Ref| self.nodes.place(*at).map(|(parent, _)| parent);
        core::iter::successors(Some(at), up).last() == self.head.root
    }

    /// Unlinks every node of the tree.
    ///
    /// # Cost
    /// O(n), no allocation, no recomputation.
    pub fn clear(&mut self) {
        let mut nodes = self.nodes.view(INTERNAL);
        let mut next = core::mem::replace(&mut self.head, Head::EMPTY).root;
        while let Some(at) = next {
            let child = Side::BOTH
                .into_iter()
                .find_map(|side| nodes.child(at, side));
            next = child.or_else(|| {
                let parent = nodes.place(at);
                nodes.set_unlinked(at, INTERNAL);
                parent.map(|(parent, side)| {
                    nodes.set_child(parent, side, None, INTERNAL);
                    parent
                })
            });
        }
    }

    /// The nodes.
    #[inline]
    pub const fn nodes(&self) -> &N {
        &self.nodes
    }

    /// Returns the nodes, all of them unlinked.
    ///
    /// # Cost
    /// Same as [`clear`](Self::clear).
    pub fn into_nodes(mut self) -> N {
        self.clear();
        self.nodes
    }

    /// The item of a node, linked or not.
    #[inline]
    pub fn item(&self, at: N::Ref) -> &Item<N> {
        self.nodes.item(at, INTERNAL)
    }

    /// Returns true if a node is in the tree.
    #[inline]
    pub fn is_linked(&self, at: N::Ref) -> bool {
        self.nodes.is_linked(at)
    }

    /// The number of linked nodes.
    #[inline]
    pub const fn len(&self) -> usize {
        self.head.len
    }

    /// Returns true if no node is linked.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.head.len == 0
    }

    /// The root, for a search written by the caller; see [`Nodes::child`] and [`Nodes::half`].
    #[inline]
    pub const fn root(&self) -> Option<N::Ref> {
        self.head.root
    }

    /// The counters.
    #[inline]
    pub const fn counters(&self) -> &C::Counters {
        &self.counters
    }

    /// The summary of the whole tree; `None` if it is empty.
    ///
    /// # Cost
    /// O(1).
    #[inline]
    pub fn summary(&self) -> Option<Summary<N::Augment>> {
        let root = self.head.root?;
        Some(if self.head.is_interrupted {
            self.fresh_summary(root)
        } else {
            self.nodes.summary(root)
        })
    }
}

impl<A, S, C> RbTree<Arena<A, S>, C>
where
    A: Augment,
    S: Slots<A>,
    C: Config,
{
    /// Changes the item of a node. The key of a linked node may change as long as it stays between
    /// those of its neighbours: the node keeps its place.
    ///
    /// # Panics
    /// If the key has left its place between those of its neighbours; the order is broken, and
    /// [`check`](crate::check::Check::check) reports it. If `change` panics, its effects on the
    /// item stay, and the tree is [interrupted](Self::is_interrupted).
    ///
    /// # Cost
    /// O(log n) if it is linked.
    pub fn update<T>(&mut self, at: NodeId, change: impl FnOnce(&mut A::Item) -> T) -> T {
        self.recover();
        let key = self.nodes.key(at);
        self.head.is_interrupted = true;
        let done = change(self.nodes.item_mut(at));
        if !self.nodes.is_linked(at) {
            self.head.is_interrupted = false;
            return done;
        }
        change!(self, |work| work.refresh(at));
        let holds = self.nodes.key(at) == key || self.is_in_order(at);
        assert!(holds, "the key of a linked node has left its place");
        done
    }

    /// True if the key of a linked node is between those of its neighbours.
    fn is_in_order(&self, at: NodeId) -> bool {
        let key = self.nodes.key(at);
        self.prev(at).is_none_or(|prev| self.nodes.key(prev) < key)
            && self.next(at).is_none_or(|next| key < self.nodes.key(next))
    }

    /// The caller's byte of a node, initially 0; it is stored in padding.
    #[inline(always)]
    pub fn mark(&self, at: NodeId) -> u8 {
        self.nodes.mark(at)
    }

    /// Sets the caller's byte of a node.
    #[inline(always)]
    pub fn set_mark(&mut self, at: NodeId, mark: u8) {
        self.nodes.set_mark(at, mark);
    }

    /// Replaces the item of a node that is in no tree and returns the old item.
    ///
    /// # Errors
    /// The item is returned if the node is linked; nothing has changed.
    pub fn replace(&mut self, at: NodeId, item: A::Item) -> Result<A::Item, A::Item> {
        self.nodes.replace(at, item)
    }
}

impl<A, S, C> RbTree<Arena<A, S>, C>
where
    A: Augment,
    S: Store<A>,
    C: Config,
{
    /// Makes room for `more` nodes, which [`push`](Self::push) can then add.
    ///
    /// # Errors
    /// [`NoMemory`]; nothing has changed.
    ///
    /// # Cost
    /// Same as [`Store::try_reserve`].
    pub fn try_reserve(&mut self, more: usize) -> Result<(), NoMemory> {
        self.nodes.store_mut().try_reserve(more)
    }

    /// Adds a node in no tree and returns its name. It allocates nothing.
    ///
    /// # Errors
    /// [`NoMemory`] if there is no room for it; nothing has changed.
    pub fn push(&mut self, item: A::Item) -> Result<NodeId, NoMemory> {
        let id = NodeId::from_index(self.nodes.len()).ok_or(NoMemory)?;
        self.nodes.store_mut().push(Node::of(item))?;
        Ok(id)
    }
}

#[cfg(feature = "alloc")]
impl<A: Augment, C: Config> RbTree<VecArena<A>, C> {
    /// Number of nodes that fit in the memory, existing ones included.
    pub fn capacity(&self) -> usize {
        self.nodes.store().capacity()
    }

    /// Moves the nodes into `memory`, which was obtained elsewhere, and returns the old memory.
    /// With this a tree under a lock can grow while all allocation and freeing stays outside. Nodes
    /// keep their names. The contents of `memory` are dropped. If it is not larger than the current
    /// array, it is returned and nothing else has changed.
    ///
    /// # Cost
    /// O(nodes), a plain copy; it neither allocates nor frees.
    pub fn grow_into(&mut self, mut memory: Vec<Node<A>>) -> Vec<Node<A>> {
        memory.clear();
        if memory.capacity() <= self.capacity() {
            return memory;
        }
        let nodes = self.nodes.store_mut();
        memory.append(nodes);
        core::mem::replace(nodes, memory)
    }
}

impl<N: Nodes + Clone, C: Config> Clone for RbTree<N, C>
where
    C::Counters: Clone,
{
    fn clone(&self) -> Self {
        Self {
            nodes: self.nodes.clone(),
            head: self.head,
            counters: self.counters.clone(),
        }
    }

    /// Copies nodes into the existing ones, so that a tree is restored without allocating. If a
    /// user's `Clone` panics, the tree is empty, and all its nodes are unlinked.
    fn clone_from(&mut self, source: &Self) {
        self.head = Head::EMPTY;
        self.nodes.clone_from(&source.nodes);
        self.head = source.head;
        self.counters.clone_from(&source.counters);
    }
}

impl<N: Nodes, C: Config> fmt::Debug for RbTree<N, C>
where
    Key<N>: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.iter().map(|at| (at, self.nodes.key(at))))
            .finish()
    }
}
