//! The walk from a change towards the root.
//!
//! Everything below the current node of the walk is final. So a rotation can recompute the nodes
//! that it moves at once, and each node on the way is recomputed once. Ranks are correct after O(1)
//! steps on average. Halves are updated as long as a summary changes, which depends on the user's
//! augmentation. When none changes any more, the [`Checked`](crate::rbtree::Checked) propagation
//! ends the walk.
//!
//! The side of a node below its parent is unpredictable. So values that depend on the side are
//! selected instead of branched on, here and in any [`Augment`] written for speed.

use crate::rbtree::{Config, Counters, INTERNAL, Nodes, Place, Propagation, Side, Summary, Work};

impl<N: Nodes, C: Config> Work<'_, N, C> {
    /// The walk once ranks are correct: from a node at `place`, whose `summary` has changed.
    #[inline(always)]
    pub(super) fn climb(&mut self, mut place: Place<N::Ref>, mut summary: Summary<N::Augment>) {
        while let Some((at, side)) = place {
            let differs;
            (summary, differs) = self.raise(at, side, &summary);
            self.counters.augmentation();
            if !C::Propagation::climb(differs) {
                return;
            }
            place = self.nodes.place(at);
        }
    }

    /// Recomputes both halves of `at`, whose item has changed, and walks up.
    pub(crate) fn refresh(&mut self, at: N::Ref) {
        self.head.is_interrupted = true;
        for side in Side::BOTH {
            self.nodes
                .set_half(at, side, self.nodes.fresh_half(at, side), INTERNAL);
        }
        self.counters.augmentation();
        self.climb(self.nodes.place(at), self.nodes.summary(at));
        self.head.is_interrupted = false;
    }
}
