//! `check()`: walks every invariant of a space and names the one that is broken.
#![forbid(unsafe_code)]

use core::error::Error;
use core::fmt;

use super::{Config, Space, Storage};
use crate::check::Check;
use crate::rbtree::{self, NodeId};

/// A broken invariant of a space, numbered as in the module's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BrokenSpace {
    /// I1: this extent ends before it begins, or overlaps the one before.
    Overlap(NodeId),
    /// I2: something is wrong with the tree.
    Tree(rbtree::Broken<NodeId>),
    /// I3: this extent is not in the space.
    Outside(NodeId),
    /// I4: this node is neither in the tree nor, once, in the list of free nodes.
    Lost(NodeId),
    /// I5: these are not the first and the last node.
    Ends(Option<[NodeId; 2]>),
}

impl fmt::Display for BrokenSpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Overlap(at) => write!(f, "I1: {at:?} is reversed or overlaps the one before"),
            Self::Tree(broken) => write!(f, "I2: the tree: {broken}"),
            Self::Outside(at) => write!(f, "I3: {at:?} is not in the space"),
            Self::Ends(ends) => write!(f, "I5: {ends:?} are not the first and last node"),
            Self::Lost(at) => write!(f, "I4: {at:?} is neither reserved nor, once, free"),
        }
    }
}

impl Error for BrokenSpace {}

impl<C: Config, S: Storage<C>> Check for Space<C, S> {
    type Broken = BrokenSpace;

    /// O(n) time, and stack as deep as the tree. Where code of the user's has panicked in a change,
    /// what the next one makes anew ([`Space::recover`]) is not asked for: ranks and summaries in
    /// the tree, I4 and I5.
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
            // Where no node is to blame the list is longer than there are nodes: its end is.
            let end = NodeId::from_index(self.tree.nodes().len());
            BrokenSpace::Lost(flaw.at.or_else(free).or(end).expect("an arena has a limit"))
        })
    }
}
