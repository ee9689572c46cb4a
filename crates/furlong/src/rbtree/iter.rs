//! Iteration in order, from both ends.

use core::iter::FusedIterator;

use super::{Config, Nodes, RbTree};

/// The names of the linked nodes in order; see [`RbTree::iter`].
pub struct Iter<'a, N: Nodes, C: Config> {
    tree: &'a RbTree<N, C>,
    front: Option<N::Ref>,
    back: Option<N::Ref>,
    left: usize,
}

impl<N: Nodes, C: Config> RbTree<N, C> {
    /// The names of the linked nodes in ascending order of their keys; `rev()` descends.
    ///
    /// # Cost
    /// O(n) for all of them, no allocation.
    pub fn iter(&self) -> Iter<'_, N, C> {
        Iter {
            tree: self,
            front: self.first(),
            back: self.last(),
            left: self.head.len,
        }
    }
}

impl<'a, N: Nodes, C: Config> IntoIterator for &'a RbTree<N, C> {
    type Item = N::Ref;
    type IntoIter = Iter<'a, N, C>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<N: Nodes, C: Config> Iterator for Iter<'_, N, C> {
    type Item = N::Ref;

    fn next(&mut self) -> Option<N::Ref> {
        self.left = self.left.checked_sub(1)?;
        let at = self.front?;
        self.front = self.tree.next(at);
        Some(at)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<N: Nodes, C: Config> DoubleEndedIterator for Iter<'_, N, C> {
    fn next_back(&mut self) -> Option<N::Ref> {
        self.left = self.left.checked_sub(1)?;
        let at = self.back?;
        self.back = self.tree.prev(at);
        Some(at)
    }
}

impl<N: Nodes, C: Config> ExactSizeIterator for Iter<'_, N, C> {}
impl<N: Nodes, C: Config> FusedIterator for Iter<'_, N, C> {}
