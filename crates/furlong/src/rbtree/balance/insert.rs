//! Insertion: by key, or beside a node that the caller has found.

use core::hint::select_unpredictable;

use crate::rbtree::{
    Augment, Config, Counters, INTERNAL, InsertError, Key, Nodes, Place, Propagation, Ranks, Side,
    Summary, Work,
};

impl<N: Nodes, C: Config> Work<'_, N, C> {
    /// Links `new` at the place of its key.
    #[inline(always)]
    pub(crate) fn insert(&mut self, new: N::Ref) -> Result<(), InsertError<N::Ref>> {
        if self.nodes.is_linked(new) {
            return Err(InsertError::Linked);
        }
        let place = self.find_place(self.nodes.key(new))?;
        self.link(place, new);
        Ok(())
    }

    /// The node below which `key` belongs, and the side; `None` in an empty tree.
    #[inline(always)]
    fn find_place(&self, key: Key<N>) -> Result<Place<N::Ref>, InsertError<N::Ref>> {
        let Some(mut at) = self.head.root else {
            return Ok(None);
        };
        // The last node at which the search went left, or the root: the only one that can have an
        // equal key.
        let mut next = at;
        let side = loop {
            self.counters.visit();
            let right = self.nodes.key(at) < key;
            next = select_unpredictable(right, next, at);
            match self.nodes.child_if(at, right) {
                Some(child) => at = child,
                None => break Side::right_if(right),
            }
        };
        if self.nodes.key(next) == key {
            return Err(InsertError::Occupied(next));
        }
        Ok(Some((at, side)))
    }

    /// Links `new` as a leaf at an empty place.
    #[inline(always)]
    pub(crate) fn link(&mut self, place: Place<N::Ref>, new: N::Ref) {
        let item = self.nodes.item(new, INTERNAL);
        let left = N::Augment::empty(item, Side::Left);
        let right = N::Augment::empty(item, Side::Right);
        let summary = N::Augment::join(item, Side::Left, &left, &right);
        self.nodes.set_half(new, Side::Left, left, INTERNAL);
        self.nodes.set_half(new, Side::Right, right, INTERNAL);
        self.nodes.set_child(new, Side::Left, None, INTERNAL);
        self.nodes.set_child(new, Side::Right, None, INTERNAL);
        self.nodes.set_ranks(new, Ranks::SHORT, INTERNAL);
        self.nodes.set_place(new, place, INTERNAL);
        self.head.len += 1;
        let Some((parent, side)) = place else {
            self.head.root = Some(new);
            self.counters.augmentation();
            return;
        };
        self.nodes.set_child(parent, side, Some(new), INTERNAL);
        self.head.is_interrupted = true;
        self.counters.augmentation();
        // A new node always counts as changed: its old halves may happen to equal a leaf's.
        self.grow(new, summary, !C::Propagation::AT_ROTATION);
        if C::Propagation::AT_ROTATION {
            self.climb(self.nodes.place(new), self.nodes.summary(new));
        }
        self.head.is_interrupted = false;
    }

    /// Rebalances from `new`, a fresh leaf, upwards. If `walks`, halves are updated with its
    /// `summary` on the way.
    #[inline(always)]
    fn grow(&mut self, new: N::Ref, mut summary: Summary<N::Augment>, mut walks: bool) {
        let mut at = new;
        // The highest node that this walk has recomputed.
        let mut reached = new;
        while let Some((parent, side)) = self.nodes.place(at) {
            let ranks = self.nodes.ranks(parent);
            if !ranks.is_long(side) && ranks.is_long(!side) {
                let before = self.nodes.summary(parent);
                let (top, after) = self.rotate_after_insert(parent, side, at, reached);
                if walks && C::Propagation::climb(after != before) {
                    self.climb(self.nodes.place(top), after);
                }
                return;
            }
            if walks {
                self.counters.augmentation();
                let differs;
                (summary, differs) = self.raise(parent, side, &summary);
                walks = C::Propagation::climb(differs);
                reached = parent;
            }
            at = parent;
            if ranks.is_long(side) {
                self.nodes.set_ranks(at, ranks.with(side, false), INTERNAL);
                break;
            }
            self.nodes.set_ranks(at, Ranks::on(!side, true), INTERNAL);
        }
        if walks {
            self.climb(self.nodes.place(at), summary);
        }
    }

    /// `child`, on `side` of `at`, has the rank of `at`, and the other child is two below. One
    /// rotation, single or double, restores the ranks. Returns the node that is then on top, and
    /// its summary. Nodes up to `reached` have been counted.
    #[inline(always)]
    fn rotate_after_insert(
        &mut self,
        at: N::Ref,
        side: Side,
        child: N::Ref,
        reached: N::Ref,
    ) -> (N::Ref, Summary<N::Augment>) {
        self.counters.augmentation();
        if self.nodes.ranks(child).is_long(!side) {
            self.count_unless(C::Propagation::AT_ROTATION || reached == child);
            self.nodes.set_ranks(at, Ranks::SHORT, INTERNAL);
            self.nodes.set_ranks(child, Ranks::SHORT, INTERNAL);
            return (child, self.rotate(at, side, child));
        }
        let top = self
            .nodes
            .child(child, !side)
            .expect("a missing child would be two below");
        self.count_unless(reached == child);
        self.count_unless(C::Propagation::AT_ROTATION || reached == child || reached == top);
        let ranks = self.nodes.ranks(top);
        self.nodes
            .set_ranks(child, Ranks::on(!side, ranks.is_long(side)), INTERNAL);
        self.nodes
            .set_ranks(at, Ranks::on(side, ranks.is_long(!side)), INTERNAL);
        self.nodes.set_ranks(top, Ranks::SHORT, INTERNAL);
        (top, self.rotate_twice(at, side, child, top))
    }

    /// Counts a recomputed node, unless `is_counted`.
    #[inline(always)]
    fn count_unless(&self, is_counted: bool) {
        if !is_counted {
            self.counters.augmentation();
        }
    }
}
