//! `check()`: verifies every invariant of a space and returns the broken one.

use crate::error::messages;

use crate::check::Check;
use crate::iova::{Config, Space, Storage};
use crate::rbtree::{self, NodeId};

messages! {
    /// A broken invariant of a space, numbered as in the module's documentation.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum BrokenSpace {
        /// I1: this extent ends before it begins, or overlaps the one before.
        Overlap(it: NodeId) => "I1: {it:?} is reversed or overlaps the one before";
        /// I2: the tree is broken.
        Tree(it: rbtree::Broken<NodeId>) => "I2: the tree: {it}";
        /// I3: this extent is not in the space.
        Outside(it: NodeId) => "I3: {it:?} is not in the space";
        /// I4: this node is not exactly once in either the tree or the free list.
        Lost(it: NodeId) => "I4: {it:?} is not reserved and not exactly once in the free list";
        /// I5: these are not the first and the last node.
        Ends(it: Option<[NodeId; 2]>) => "I5: {it:?} are not the first and last node";
    }
}

impl<C: Config, S: Storage<C>> Check for Space<C, S> {
    type Broken = BrokenSpace;

    /// O(n) time, and stack as deep as the tree. If user code has panicked in a change, the state
    /// that [`Space::recover`] repairs is skipped: ranks and summaries in the tree, I4 and I5.
    fn check(&self) -> Result<(), BrokenSpace> {
        self.tree.check().map_err(BrokenSpace::Tree)?;
        let mut next = Some(0);
        for at in &self.tree {
            let item = *self.tree.item(at);
            if next.is_none_or(|next| item.start < next) || item.last < item.start {
                return Err(BrokenSpace::Overlap(at));
            }
            if item.start < self.bounds.first || self.bounds.last < item.last {
                return Err(BrokenSpace::Outside(at));
            }
            next = item.last.checked_add(1);
        }
        if self.is_interrupted {
            return Ok(());
        }
        let ends = [self.tree.first(), self.tree.last()];
        if ends != [self.ends.map(|ends| ends[0]), self.ends.map(|ends| ends[1])] {
            return Err(BrokenSpace::Ends(self.ends));
        }
        self.spare.check(&self.tree).map_err(|flaw| {
            let mut names = self.tree.nodes().ids();
            let free = || names.find(|at| !self.tree.is_linked(*at));
            // If no single node is at fault, the list is longer than the array: report the array's
            // end.
            let end = NodeId::from_index(self.tree.nodes().len());
            BrokenSpace::Lost(flaw.at.or_else(free).or(end).expect("an arena has a limit"))
        })
    }
}
