//! A movable place in the tree, through which the tree can be changed.
#![forbid(unsafe_code)]

use super::tree::{Item, Key};
use super::{Config, InsertError, Nodes, RbTree};

/// A place in a tree: at a node, or at the one place outside all nodes, which is before the first
/// and after the last; see [`RbTree::cursor`].
pub struct Cursor<'a, N: Nodes, C: Config> {
    tree: &'a mut RbTree<N, C>,
    at: Option<N::Ref>,
}

impl<N: Nodes, C: Config> RbTree<N, C> {
    /// A cursor at `at`; outside all nodes if that is `None` or a node in no tree.
    pub fn cursor(&mut self, at: Option<N::Ref>) -> Cursor<'_, N, C> {
        let at = at.filter(|at| self.is_linked(*at));
        Cursor { tree: self, at }
    }
}

impl<N: Nodes, C: Config> Cursor<'_, N, C> {
    /// The node at the cursor; `None` outside all nodes.
    pub fn at(&self) -> Option<N::Ref> {
        self.at
    }

    /// The item at the cursor.
    pub fn item(&self) -> Option<&Item<N>> {
        self.at.map(|at| self.tree.item(at))
    }

    /// The tree, for reading.
    pub fn tree(&self) -> &RbTree<N, C> {
        self.tree
    }

    /// Moves to the next node, from outside all nodes to the first; returns the new place.
    pub fn move_next(&mut self) -> Option<N::Ref> {
        self.at = match self.at {
            Some(at) => self.tree.next(at),
            None => self.tree.first(),
        };
        self.at
    }

    /// Moves to the previous node, from outside all nodes to the last; returns the new place.
    pub fn move_prev(&mut self) -> Option<N::Ref> {
        self.at = match self.at {
            Some(at) => self.tree.prev(at),
            None => self.tree.last(),
        };
        self.at
    }

    /// Moves to the first node whose key is `key` or greater; returns the new place.
    pub fn seek(&mut self, key: Key<N>) -> Option<N::Ref> {
        self.at = self.tree.lower_bound(key);
        self.at
    }

    /// Links `new` just before the cursor (outside all nodes: as the last one); the cursor stays.
    ///
    /// # Errors
    /// Same as [`RbTree::insert_before`].
    pub fn insert_before(&mut self, new: N::Ref) -> Result<(), InsertError<N::Ref>> {
        self.tree.insert_before(self.at, new)
    }

    /// Links `new` just after the cursor (outside all nodes: as the first one); the cursor stays.
    ///
    /// # Errors
    /// Same as [`RbTree::insert_after`].
    pub fn insert_after(&mut self, new: N::Ref) -> Result<(), InsertError<N::Ref>> {
        self.tree.insert_after(self.at, new)
    }

    /// Removes the node at the cursor, returns it and moves to the next one; `None` outside all
    /// nodes, and nothing has changed.
    pub fn remove(&mut self) -> Option<N::Ref> {
        let old = self.at?;
        self.at = self.tree.next(old);
        self.tree.remove(old).ok()?;
        Some(old)
    }
}
