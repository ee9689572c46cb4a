//! Searches by key, and the steps from a node to its neighbours.

use core::hint::select_unpredictable;

use super::{Config, Counters, Key, Nodes, RbTree, Side};

impl<N: Nodes, C: Config> RbTree<N, C> {
    /// The node with `key`.
    ///
    /// # Cost
    /// O(log n).
    pub fn find(&self, key: Key<N>) -> Option<N::Ref> {
        self.lower_bound(key)
            .filter(|at| self.nodes.key(*at) == key)
    }

    /// The first node whose key is `key` or greater.
    ///
    /// # Cost
    /// O(log n).
    #[inline]
    pub fn lower_bound(&self, key: Key<N>) -> Option<N::Ref> {
        self.first_not(|at| at < key)
    }

    /// The first node whose key is greater than `key`.
    ///
    /// # Cost
    /// O(log n).
    #[inline]
    pub fn upper_bound(&self, key: Key<N>) -> Option<N::Ref> {
        self.first_not(|at| at <= key)
    }

    /// The first node whose key does not satisfy `is_before`, which must be monotone: false for all
    /// keys after one for which it is false.
    #[inline(always)]
    fn first_not(&self, is_before: impl Fn(Key<N>) -> bool) -> Option<N::Ref> {
        let mut at = self.head.root?;
        // The last node at which the search went left, or the root: one comparison at the end costs
        // less than a flag at each level.
        let mut found = at;
        loop {
            self.counters.visit();
            let right = is_before(self.nodes.key(at));
            found = select_unpredictable(right, found, at);
            match self.nodes.child_if(at, right) {
                Some(child) => at = child,
                None => break,
            }
        }
        (!is_before(self.nodes.key(found))).then_some(found)
    }

    /// The first node.
    ///
    /// # Cost
    /// O(log n).
    pub fn first(&self) -> Option<N::Ref> {
        self.edge(Side::Left)
    }

    /// The last node.
    ///
    /// # Cost
    /// O(log n).
    pub fn last(&self) -> Option<N::Ref> {
        self.edge(Side::Right)
    }

    /// The node after `at`; `None` after the last one, and for a node in no tree.
    ///
    /// # Cost
    /// O(log n), and O(1) on average over a whole iteration.
    pub fn next(&self, at: N::Ref) -> Option<N::Ref> {
        self.step(at, Side::Right)
    }

    /// The node before `at`; `None` before the first one, and for a node in no tree.
    ///
    /// # Cost
    /// Same as [`next`](Self::next).
    pub fn prev(&self, at: N::Ref) -> Option<N::Ref> {
        self.step(at, Side::Left)
    }

    /// The outermost node on `side`.
    pub(super) fn edge(&self, side: Side) -> Option<N::Ref> {
        self.head.root.map(|root| self.outermost(root, side))
    }

    /// The neighbour of `at` on `side`.
    pub(super) fn step(&self, at: N::Ref, side: Side) -> Option<N::Ref> {
        if !self.nodes.is_linked(at) {
            return None;
        }
        if let Some(child) = self.nodes.child(at, side) {
            return Some(self.outermost(child, !side));
        }
        let mut below = at;
        loop {
            let (parent, from) = self.nodes.place(below)?;
            if from != side {
                return Some(parent);
            }
            below = parent;
        }
    }

    /// The outermost node on `side` of the subtree of `at`.
    pub(super) fn outermost(&self, mut at: N::Ref, side: Side) -> N::Ref {
        while let Some(child) = self.nodes.child(at, side) {
            self.counters.visit();
            at = child;
        }
        at
    }
}
