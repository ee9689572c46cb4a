//! `check()`: verifies every invariant and returns the broken one.

use crate::error::messages;

use crate::check::Check;

use super::{Config, Key, Nodes, RbTree, Side};

/// A broken invariant of a tree, numbered as in the module's documentation, and the node at which
/// it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Broken<R> {
    /// I1: the root has a parent.
    RootHasParent(R),
    /// I2: a child's place is not its parent and its side.
    Parent(R),
    /// I3: keys do not ascend.
    Order(R),
    /// I4: rank differences do not add up to one rank for the node.
    Rank(R),
    /// I5: a leaf has a rank other than 0.
    Leaf(R),
    /// I6: a half is not the value computed from its child's subtree.
    Half(R, Side),
    /// I7: the number of linked nodes is not the tree's length.
    Length(usize),
}

messages! { Broken<R> where [R: core::fmt::Debug]:
    Self::RootHasParent(it) => "I1: the root {it:?} has a parent";
    Self::Parent(it) => "I2: a child of {it:?} has another parent";
    Self::Order(it) => "I3: the key of {it:?} is not above the one before";
    Self::Rank(it) => "I4: the two children of {it:?} imply different ranks";
    Self::Leaf(it) => "I5: the leaf {it:?} has a rank other than 0";
    Self::Half(it_0, it) => "I6: the {it:?} half of {it_0:?} is out of date";
    Self::Length(n) => "I7: the count of nodes is not {n}";
}

impl<N: Nodes, C: Config> Check for RbTree<N, C> {
    type Broken = Broken<N::Ref>;

    /// O(n) time, and stack as deep as the tree. In an [interrupted](RbTree::is_interrupted) tree
    /// ranks and halves are skipped.
    fn check(&self) -> Result<(), Broken<N::Ref>> {
        let mut last = None;
        let mut len = 0;
        if let Some(root) = self.head.root {
            if self.nodes.place(root).is_some() {
                return Err(Broken::RootHasParent(root));
            }
            self.check_below(root, &mut last, &mut len)?;
        }
        if len != self.head.len {
            return Err(Broken::Length(len));
        }
        Ok(())
    }
}

impl<N: Nodes, C: Config> RbTree<N, C> {
    /// Checks the subtree of `at` and returns its rank; `last` is the greatest key so far.
    fn check_below(
        &self,
        at: N::Ref,
        last: &mut Option<Key<N>>,
        len: &mut usize,
    ) -> Result<u32, Broken<N::Ref>> {
        let left = self.check_side(at, Side::Left, last, len)?;
        let key = self.nodes.key(at);
        if last.is_some_and(|last| last >= key) {
            return Err(Broken::Order(at));
        }
        *last = Some(key);
        *len += 1;
        let right = self.check_side(at, Side::Right, last, len)?;
        if self.head.is_interrupted {
            return Ok(0);
        }
        if left != right {
            return Err(Broken::Rank(at));
        }
        let is_leaf = Side::BOTH
            .iter()
            .all(|side| self.nodes.child(at, *side).is_none());
        if is_leaf && left != 0 {
            return Err(Broken::Leaf(at));
        }
        for side in Side::BOTH {
            if self.nodes.half(at, side) != self.nodes.fresh_half(at, side) {
                return Err(Broken::Half(at, side));
            }
        }
        Ok(left)
    }

    /// Checks one side of `at` and returns the rank of `at` computed from that side.
    fn check_side(
        &self,
        at: N::Ref,
        side: Side,
        last: &mut Option<Key<N>>,
        len: &mut usize,
    ) -> Result<u32, Broken<N::Ref>> {
        let long = self.nodes.ranks(at).is_long(side);
        let Some(child) = self.nodes.child(at, side) else {
            return Ok(u32::from(long));
        };
        if self.nodes.place(child) != Some((at, side)) {
            return Err(Broken::Parent(at));
        }
        Ok(self.check_below(child, last, len)? + 1 + u32::from(long))
    }
}
