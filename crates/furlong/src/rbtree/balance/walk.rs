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

use crate::rbtree::{
    Augment, Config, Counters, INTERNAL, Nodes, Place, Propagation, Side, Summary, Work,
};

impl<N: Nodes, C: Config> Work<'_, N, C> {
    /// The walk once ranks are correct: from a node at `place`, whose `summary` has changed.
    #[inline(always)]
    pub(super) fn climb(&mut self, mut place: Place<N::Ref>, mut summary: Summary<N::Augment>) {
        // If rotations recompute, halves above may be out of date in more than an edge.
        let copies_edges = N::Augment::HAS_EDGES && !C::Propagation::AT_ROTATION;
        if copies_edges && self.head.is_at_end {
            return self.by_value().climb_at_end(place, summary);
        }
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

    /// The same at an end of the tree: as soon as only the edge changes, it is all that is copied.
    #[inline(never)]
    fn climb_at_end(mut self, mut place: Place<N::Ref>, mut summary: Summary<N::Augment>) {
        while let Some((mut at, side)) = place {
            let (old, new) = (self.nodes.half(at, side), self.half_of(at, side, &summary));
            let differs;
            (summary, differs) = self.put_half(at, side, new);
            self.counters.augmentation();
            if !C::Propagation::climb(differs) {
                return;
            }
            place = self.nodes.place(at);
            if N::Augment::with_edge(&old, &new) != new {
                continue;
            }
            while let Some((above, on)) = place
                && on == side
            {
                at = above;
                let half = N::Augment::with_edge(&self.nodes.half(at, side), &new);
                self.nodes.set_half(at, side, half, INTERNAL);
                self.counters.augmentation();
                place = self.nodes.place(at);
            }
            if place.is_none() {
                return;
            }
            summary = self.nodes.summary(at);
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
