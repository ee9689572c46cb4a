//! Recovery from a panic of user code in the middle of a change.
//!
//! Links are intact then ([`Work`](super::work::Work) explains the reason). Ranks and halves are
//! recomputed; for that the nodes are put into a new shape with the same order.

use crate::rbtree::{Augment, Config, INTERNAL, Nodes, Ranks, RbTree, Side, Summary};

impl<N: Nodes, C: Config> RbTree<N, C> {
    /// Returns true if user code has panicked in a change and the tree was not
    /// [recovered](Self::recover) since. User code is an [`Augment`],
    /// [`Counters`](crate::rbtree::Counters), or the closure of [`update`](RbTree::update). Every
    /// node is in the tree or out of it, and operations that only read keys are correct; the halves
    /// are out of date.
    #[inline]
    pub const fn is_interrupted(&self) -> bool {
        self.head.is_interrupted
    }

    /// Repairs the tree after a panic in a change. Every change does so first; this method lets the
    /// caller choose when.
    ///
    /// # Panics
    /// If user code, which computes every half, panics again; the tree stays
    /// [interrupted](Self::is_interrupted).
    ///
    /// # Cost
    /// O(1) if nothing has panicked, else O(n). No allocation; recursion of depth O(log n).
    #[inline]
    pub fn recover(&mut self) {
        if self.head.is_interrupted {
            self.rebuild();
        }
    }

    #[cold]
    #[inline(never)]
    fn rebuild(&mut self) {
        let mut nodes = self.nodes.view(INTERNAL);
        let mut row = self.head.root.map(|root| stretch(&mut nodes, root));
        self.head.root = shape(&mut nodes, self.head.len, &mut row);
        if let Some(root) = self.head.root {
            nodes.set_place(root, None, INTERNAL);
            renew(&mut nodes, root);
        }
        self.head.is_interrupted = false;
    }

    /// The summary of a subtree whose halves may be out of date.
    ///
    /// # Cost
    /// O(nodes of the subtree).
    #[cold]
    pub(crate) fn fresh_summary(&self, at: N::Ref) -> Summary<N::Augment> {
        let item = self.nodes.item(at, INTERNAL);
        let half = |side| match self.nodes.child(at, side) {
            Some(child) => N::Augment::half(item, side, &self.fresh_summary(child)),
            None => N::Augment::empty(item, side),
        };
        N::Augment::join(item, Side::Left, &half(Side::Left), &half(Side::Right))
    }
}

/// Turns a tree into a row: nodes in order, each the right child of the one before. Returns the
/// first. Places stay unchanged.
fn stretch<N: Nodes>(nodes: &mut N, root: N::Ref) -> N::Ref {
    let mut first = root;
    let mut last = None;
    let mut rest = Some(root);
    while let Some(at) = rest {
        let Some(left) = nodes.child(at, Side::Left) else {
            match last {
                Some(last) => nodes.set_child(last, Side::Right, Some(at), INTERNAL),
                None => first = at,
            }
            last = Some(at);
            rest = nodes.child(at, Side::Right);
            continue;
        };
        let inner = nodes.child(left, Side::Right);
        nodes.set_child(at, Side::Left, inner, INTERNAL);
        nodes.set_child(left, Side::Right, Some(at), INTERNAL);
        rest = Some(left);
    }
    first
}

/// Makes a tree of the first `count` nodes of a row, and leaves the others in it. A subtree of n
/// nodes has rank log2 n, rounded down. The caller sets the place of the root.
fn shape<N: Nodes>(nodes: &mut N, count: usize, row: &mut Option<N::Ref>) -> Option<N::Ref> {
    if count == 0 {
        return None;
    }
    let counts = [count / 2, count - 1 - count / 2];
    let left = shape(nodes, counts[0], row);
    let root = (*row)?;
    *row = nodes.child(root, Side::Right);
    let right = shape(nodes, counts[1], row);
    // One more than the rank of a subtree of `count` nodes.
    let height = |count: usize| count.checked_ilog2().map_or(0, |log| log + 1);
    let mut ranks = Ranks::SHORT;
    for (side, child) in Side::BOTH.into_iter().zip([left, right]) {
        let is_long = height(count) - height(counts[side.index()]) == 2;
        ranks = ranks.with(side, is_long);
        nodes.set_child(root, side, child, INTERNAL);
        if let Some(child) = child {
            nodes.set_place(child, Some((root, side)), INTERNAL);
        }
    }
    nodes.set_ranks(root, ranks, INTERNAL);
    Some(root)
}

/// Computes the halves of a subtree, from its leaves up.
fn renew<N: Nodes>(nodes: &mut N, at: N::Ref) {
    for side in Side::BOTH {
        if let Some(child) = nodes.child(at, side) {
            renew(nodes, child);
        }
        let half = nodes.fresh_half(at, side);
        nodes.set_half(at, side, half, INTERNAL);
    }
}
