//! Free nodes, kept for future extents; shared by spaces and maps.
#![forbid(unsafe_code)]

use crate::iova::{Ranged, Space, Storage};
use crate::rbtree::{Arena, Augment, Config, NoMemory, NodeId, RbTree, Store};

/// A node's item that can store a link of the free list instead.
pub(in crate::iova) trait Link: Ranged {
    /// A link whose start is `next`.
    fn link(next: u64) -> Self;
}

/// A free list of nodes, linked through the `start` fields of their items.
#[derive(Clone, Copy, Debug)]
pub(in crate::iova) struct Spare {
    /// The index of the first free node; [`END`](Self::END) if there is none.
    pub(in crate::iova) next: u64,
    /// Number of free nodes.
    pub(in crate::iova) count: usize,
}

/// Defect of a free list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::iova) struct Flaw {
    /// Number of free nodes on the list before it ends or goes wrong.
    pub(in crate::iova) listed: usize,
    /// The node on the list that is not free; `None` if the list's length is wrong.
    pub(in crate::iova) at: Option<NodeId>,
}

type Tree<A, S, C> = RbTree<Arena<A, S>, C>;

impl Spare {
    /// The end of a list.
    pub(in crate::iova) const END: u64 = u64::MAX;
    /// An empty list.
    const NONE: Self = Self {
        next: Self::END,
        count: 0,
    };

    /// Lists all unlinked nodes of a tree, lowest index first. Their items are dropped.
    pub(in crate::iova) fn of<A, S, C>(tree: &mut Tree<A, S, C>) -> Self
    where
        A: Augment<Item: Link>,
        S: Store<A>,
        C: Config,
    {
        let mut spare = Self::NONE;
        for at in tree.nodes().ids().rev() {
            if !tree.is_linked(at) {
                spare.give(tree, at);
            }
        }
        spare
    }

    /// Ensures that the next `nodes` can be taken without allocation.
    pub(in crate::iova) fn prepare<A, S, C>(
        &self,
        tree: &mut Tree<A, S, C>,
        nodes: usize,
    ) -> Result<(), NoMemory>
    where
        A: Augment,
        S: Store<A>,
        C: Config,
    {
        match nodes.checked_sub(self.count) {
            // No need to reserve: a fixed array would refuse even for 0 more nodes.
            None | Some(0) => Ok(()),
            Some(more) => tree.try_reserve(more),
        }
    }

    /// A node for `item`, not in the tree: a free one, or else a new one.
    #[inline]
    pub(in crate::iova) fn take<A, S, C>(
        &mut self,
        tree: &mut Tree<A, S, C>,
        item: A::Item,
    ) -> Result<NodeId, NoMemory>
    where
        A: Augment<Item: Link>,
        S: Store<A>,
        C: Config,
    {
        let Some(at) = self.first() else {
            tree.try_reserve(1)?;
            return tree.push(item);
        };
        let free = tree.replace(at, item).ok();
        self.next = free.expect("a free node is in no tree").start();
        self.count -= 1;
        Ok(at)
    }

    /// Adds an unlinked node to the list, and returns its old item.
    #[inline]
    pub(in crate::iova) fn give<A, S, C>(&mut self, tree: &mut Tree<A, S, C>, at: NodeId) -> A::Item
    where
        A: Augment<Item: Link>,
        S: Store<A>,
        C: Config,
    {
        if tree.mark(at) != 0 {
            tree.set_mark(at, 0);
        }
        let old = tree.replace(at, Link::link(self.next)).ok();
        self.next = at.index() as u64;
        self.count += 1;
        old.expect("the node is in no tree")
    }

    #[inline]
    fn first(&self) -> Option<NodeId> {
        let index = usize::try_from(self.next).ok()?;
        NodeId::from_index(index)
    }

    /// Checks that the list has the right length and contains no linked node. Then it contains each
    /// free node exactly once.
    pub(in crate::iova) fn check<A, S, C>(&self, tree: &Tree<A, S, C>) -> Result<(), Flaw>
    where
        A: Augment<Item: Link>,
        S: Store<A>,
        C: Config,
    {
        let nodes = tree.nodes();
        let mut rest = *self;
        for listed in 0..self.count {
            let at = rest.first().filter(|at| at.index() < nodes.len());
            let is_free = |at: &NodeId| !tree.is_linked(*at) && tree.mark(*at) == 0;
            let free = at.filter(is_free).ok_or(Flaw { listed, at })?;
            rest.next = tree.item(free).start();
        }
        let is_whole = rest.next == Self::END && self.count + tree.len() == nodes.len();
        let listed = self.count;
        is_whole.then_some(()).ok_or(Flaw { listed, at: None })
    }
}

impl<C: crate::iova::Config, S: Storage<C>> Space<C, S> {
    /// Ensures that the next `nodes` reservations allocate nothing. It may allocate itself; if a
    /// lock forbids that, use [`grow_into`](crate::iova::VecSpace::grow_into).
    ///
    /// # Errors
    /// [`NoMemory`]; nothing has changed.
    ///
    /// # Cost
    /// Same as [`RbTree::try_reserve`].
    pub fn prepare(&mut self, nodes: usize) -> Result<(), NoMemory> {
        self.spare.prepare(&mut self.tree, nodes)
    }
}
