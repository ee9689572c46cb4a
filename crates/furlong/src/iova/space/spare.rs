//! Free nodes, kept for future extents.

use crate::iova::{Config, Gaps, Reserved, Space, Storage};
use crate::rbtree::{Arena, NoMemory, NodeId, RbTree};

/// A free list of nodes, linked through the `start` fields of their items.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spare {
    /// The index of the first free node; [`END`](Self::END) if there is none.
    pub(crate) next: u64,
    /// Number of free nodes.
    pub(crate) count: usize,
}

/// Defect of a free list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flaw {
    /// Number of free nodes on the list before it ends or goes wrong.
    pub(crate) listed: usize,
    /// The node on the list that is not free; `None` if the list's length is wrong.
    pub(crate) at: Option<NodeId>,
}

/// The tree of a space.
pub(crate) type Tree<C, S> = RbTree<Arena<Gaps<<C as Config>::Measure>, S>, C>;

impl Spare {
    /// The end of a list.
    pub(crate) const END: u64 = u64::MAX;
    /// An empty list.
    const NONE: Self = Self {
        next: Self::END,
        count: 0,
    };

    /// Lists all unlinked nodes of a tree, lowest index first. Their items are dropped.
    pub(crate) fn of<C: Config, S: Storage<C>>(tree: &mut Tree<C, S>) -> Self {
        let mut spare = Self::NONE;
        for at in tree.nodes().ids().rev() {
            if !tree.is_linked(at) {
                spare.give(tree, at);
            }
        }
        spare
    }

    /// A node for `item`, not in the tree: a free one, or else a new one.
    #[inline]
    pub(crate) fn take<C: Config, S: Storage<C>>(
        &mut self,
        tree: &mut Tree<C, S>,
        item: Reserved,
    ) -> Result<NodeId, NoMemory> {
        let Some(at) = self.first() else {
            tree.try_reserve(1)?;
            return tree.push(item);
        };
        let free = tree.replace(at, item).ok();
        self.next = free.expect("a free node is in no tree").start;
        self.count -= 1;
        Ok(at)
    }

    /// Adds an unlinked node to the list, and returns its old item.
    #[inline]
    pub(crate) fn give<C: Config, S: Storage<C>>(
        &mut self,
        tree: &mut Tree<C, S>,
        at: NodeId,
    ) -> Reserved {
        if tree.mark(at) != 0 {
            tree.set_mark(at, 0);
        }
        let link = Reserved {
            start: self.next,
            last: u64::MAX,
        };
        let old = tree.replace(at, link).ok();
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
    pub(crate) fn check<C: Config, S: Storage<C>>(&self, tree: &Tree<C, S>) -> Result<(), Flaw> {
        let nodes = tree.nodes();
        let mut rest = *self;
        for listed in 0..self.count {
            let at = rest.first().filter(|at| at.index() < nodes.len());
            let is_free = |at: &NodeId| !tree.is_linked(*at) && tree.mark(*at) == 0;
            let free = at.filter(is_free).ok_or(Flaw { listed, at })?;
            rest.next = tree.item(free).start;
        }
        let is_whole = rest.next == Self::END && self.count + tree.len() == nodes.len();
        let listed = self.count;
        is_whole.then_some(()).ok_or(Flaw { listed, at: None })
    }
}

impl<C: Config, S: Storage<C>> Space<C, S> {
    /// Ensures that the next `nodes` reservations allocate nothing. It may allocate itself; if a
    /// lock forbids that, use [`grow_into`](crate::iova::VecSpace::grow_into).
    ///
    /// # Errors
    /// [`NoMemory`]; nothing has changed.
    ///
    /// # Cost
    /// Same as [`RbTree::try_reserve`].
    pub fn prepare(&mut self, nodes: usize) -> Result<(), NoMemory> {
        match nodes.checked_sub(self.spare.count) {
            // No need to reserve: a fixed array would refuse even for 0 more nodes.
            None | Some(0) => Ok(()),
            Some(more) => self.tree.try_reserve(more),
        }
    }
}
