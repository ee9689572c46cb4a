//! Removal of a node that the caller names: no search.
//!
//! The main cost of a removal is unpredictable branches: the number of children, the distance to
//! the heir, the nodes at which ranks and summaries stop changing. So values are selected where
//! possible. There are also two walks where one would do. Halves come first as far as they must
//! change in any case. Then come ranks, whose walk reads only ranks and places, then the halves
//! above. Each walk knows its path before the other has ended.

use core::hint::select_unpredictable;

use crate::rbtree::{
    Augment, Config, Counters, Half, INTERNAL, Nodes, NotLinked, Propagation, Ranks, Side, Summary,
    Work,
};

/// The place of a lost rank: the subtree of `at` on `side` has one rank less than before.
#[derive(Clone, Copy, Debug)]
struct Loss<R> {
    at: R,
    side: Side,
    /// True if `at` has become a leaf, provided that its other side is long.
    is_leaf: bool,
}

/// A pending rotation: the child of `at` on `side` is three below; `sibling`, the other child, is
/// one below and has a child one below itself.
#[derive(Clone, Copy, Debug)]
struct Turn<R> {
    at: R,
    side: Side,
    sibling: R,
}

impl<N: Nodes, C: Config> Work<'_, N, C> {
    /// Removes the node `old` from the tree.
    #[inline(always)]
    pub(crate) fn remove(&mut self, old: N::Ref) -> Result<(), NotLinked> {
        if !self.nodes.is_linked(old) {
            return Err(NotLinked);
        }
        self.head.is_interrupted = true;
        let left = self.nodes.child(old, Side::Left);
        let right = self.nodes.child(old, Side::Right);
        if let (Some(left), Some(right)) = (left, right) {
            if self.nodes.child(right, Side::Left).is_none() {
                self.replace_by_child(old, left, right);
            } else {
                self.replace_by_next(old, left, right);
            }
        } else {
            self.splice(old, self.nodes.only_child(old));
        }
        self.head.is_interrupted = false;
        Ok(())
    }

    /// Unlinks `old`, to which no link leads any more, and adjusts the length.
    #[inline(always)]
    fn leave(&mut self, old: N::Ref) {
        self.nodes.set_unlinked(old, INTERNAL);
        self.head.len -= 1;
    }

    /// Removes `old`, which has at most the one `child`.
    #[inline(always)]
    fn splice(&mut self, old: N::Ref, child: Option<N::Ref>) {
        let Some((at, side)) = self.nodes.place(old) else {
            self.head.root = child;
            if let Some(child) = child {
                self.nodes.set_place(child, None, INTERNAL);
            }
            return self.leave(old);
        };
        let loss = self.close(old, at, side, child);
        self.leave(old);
        let half = self.closed_half(old, at, side, child);
        if C::Propagation::AT_ROTATION {
            return self.mend_at_rotation(loss);
        }
        let (after, differs) = self.put_half(at, side, half);
        self.counters.augmentation();
        self.mend(loss, at, after, differs);
    }

    /// Removes `old`, which has two children, by putting `right`, which has no left child, into its
    /// place.
    #[inline(always)]
    fn replace_by_child(&mut self, old: N::Ref, left: N::Ref, right: N::Ref) {
        self.inherit(right, old, left);
        self.leave(old);
        let (after, _) = self.raise(right, Side::Left, &self.nodes.summary(left));
        let loss = Loss {
            at: right,
            side: Side::Right,
            is_leaf: false,
        };
        if C::Propagation::AT_ROTATION {
            return self.mend_at_rotation(loss);
        }
        self.counters.augmentation();
        self.mend(loss, right, after, self.nodes.summary(old) != after);
    }

    /// Removes `old`, which has two children, by putting the next node into its place: the leftmost
    /// one below `right`.
    #[inline(always)]
    fn replace_by_next(&mut self, old: N::Ref, left: N::Ref, right: N::Ref) {
        let (mut at, mut heir) = (old, right);
        while let Some(next) = self.nodes.child(heir, Side::Left) {
            self.counters.visit();
            (at, heir) = (heir, next);
        }
        let child = self.nodes.child(heir, Side::Right);
        let loss = self.close(heir, at, Side::Left, child);
        self.inherit(heir, old, left);
        self.attach(heir, Side::Right, Some(right));
        self.leave(old);
        let half = self.closed_half(heir, at, Side::Left, child);
        let left_half = self.half_of(heir, Side::Left, &self.nodes.summary(left));
        self.nodes.set_half(heir, Side::Left, left_half, INTERNAL);
        if C::Propagation::AT_ROTATION {
            return self.mend_at_rotation(loss);
        }
        let (mut below, _) = self.put_half(at, Side::Left, half);
        self.counters.augmentation();
        while at != right
            && let Some((parent, _)) = self.nodes.place(at)
        {
            at = parent;
            below = self.raise(at, Side::Left, &below).0;
            self.counters.augmentation();
        }
        let (after, _) = self.raise(heir, Side::Right, &below);
        self.counters.augmentation();
        self.mend(loss, heir, after, self.nodes.summary(old) != after);
    }

    /// Puts `heir` into the place of `old`, with its rank and its `left` child.
    #[inline(always)]
    fn inherit(&mut self, heir: N::Ref, old: N::Ref, left: N::Ref) {
        self.attach(heir, Side::Left, Some(left));
        self.replace(old, Some(heir));
        self.nodes.set_ranks(heir, self.nodes.ranks(old), INTERNAL);
    }

    /// Puts `child` into the place of `gone`, which is on `side` of `at`. It does not branch on
    /// whether there is a child.
    #[inline(always)]
    fn close(
        &mut self,
        gone: N::Ref,
        at: N::Ref,
        side: Side,
        child: Option<N::Ref>,
    ) -> Loss<N::Ref> {
        self.nodes.set_child(at, side, child, INTERNAL);
        let is_some = child.is_some();
        // `gone` stands in for a missing child: the caller sets its place later anyhow.
        let below = select_unpredictable(is_some, child.unwrap_or(gone), gone);
        self.nodes.set_place(below, Some((at, side)), INTERNAL);
        // A removed leaf had rank 0, and a node one above it has no child that is two below.
        let is_leaf = !is_some;
        Loss { at, side, is_leaf }
    }

    /// The correct half of `at` on `side`, after [`close`](Self::close) and with links intact.
    #[inline(always)]
    fn closed_half(
        &self,
        gone: N::Ref,
        at: N::Ref,
        side: Side,
        child: Option<N::Ref>,
    ) -> Half<N::Augment> {
        let is_some = child.is_some();
        // `gone` stands in for a missing child: the half computed from its item is not selected.
        let below = select_unpredictable(is_some, child.unwrap_or(gone), gone);
        // An only child is a leaf: the missing one has rank -1, so the other one has rank 0.
        let full = self.half_of(
            at,
            side,
            &N::Augment::leaf(self.nodes.item(below, INTERNAL)),
        );
        let empty = N::Augment::empty(self.nodes.item(at, INTERNAL), side);
        select_unpredictable(is_some, full, empty)
    }

    /// Restores ranks from `loss` on, and the halves above `reached`, whose summary is now `after`,
    /// which `differs` from before or not. Up to `reached`, halves are up to date.
    #[inline(always)]
    fn mend(
        &mut self,
        loss: Loss<N::Ref>,
        reached: N::Ref,
        after: Summary<N::Augment>,
        differs: bool,
    ) {
        let climbs = C::Propagation::climb(differs);
        if let Some(turn) = self.settle(loss) {
            let after = climbs.then_some(after);
            self.by_value().turn(turn, loss.at, reached, after);
        } else if climbs {
            self.climb(self.nodes.place(reached), after);
        }
    }

    /// Restores ranks from `loss` up. Returns the final rotation, if one is needed.
    #[inline(always)]
    fn settle(&mut self, loss: Loss<N::Ref>) -> Option<Turn<N::Ref>> {
        let Loss {
            mut at,
            mut side,
            mut is_leaf,
        } = loss;
        loop {
            let after = self.nodes.ranks(at).after_loss(side, is_leaf);
            self.nodes.set_ranks(at, after.ranks(), INTERNAL);
            if after.keeps() {
                return None;
            }
            if after.leans() {
                let sibling = self
                    .nodes
                    .child(at, !side)
                    .expect("a missing child would be two below");
                if self.nodes.ranks(sibling) != Ranks::LONG {
                    return Some(Turn { at, side, sibling });
                }
                self.nodes.set_ranks(sibling, Ranks::SHORT, INTERNAL);
            }
            is_leaf = false;
            (at, side) = self.nodes.place(at)?;
        }
    }

    /// Does `turn`, and updates the halves above `reached`, if its summary has changed to `after`.
    /// Halves below the turn must be up to date first; if they are not yet, the walk rotates in
    /// passing. `from` is the node of the original loss.
    #[inline(never)]
    fn turn(
        mut self,
        turn: Turn<N::Ref>,
        from: N::Ref,
        mut reached: N::Ref,
        mut after: Option<Summary<N::Augment>>,
    ) {
        let mut is_passed = self.is_between(turn.at, from, reached);
        while !is_passed
            && let Some(below) = &after
            && let Some((at, side)) = self.nodes.place(reached)
        {
            let (summary, differs) = self.raise(at, side, below);
            self.counters.augmentation();
            after = C::Propagation::climb(differs).then_some(summary);
            reached = at;
            is_passed = at == turn.at;
        }
        if !is_passed {
            self.counters.augmentation();
        }
        // A rotation does not change the summary of its place.
        let top = self.rotate_after_remove(turn);
        if let Some(after) = after {
            let at = if reached == turn.at { top } else { reached };
            self.climb(self.nodes.place(at), after);
        }
    }

    /// True if `node` is on the path from `from` up to `to`.
    #[inline(always)]
    fn is_between(&self, node: N::Ref, mut from: N::Ref, to: N::Ref) -> bool {
        while from != node {
            match self.nodes.place(from) {
                Some((parent, _)) if from != to => from = parent,
                _ => return false,
            }
        }
        true
    }

    /// Restores ranks from `loss` on, rotating on the way, and then halves.
    #[inline(always)]
    fn mend_at_rotation(&mut self, loss: Loss<N::Ref>) {
        if let Some(turn) = self.settle(loss) {
            self.counters.augmentation();
            self.rotate_after_remove(turn);
        }
        let Loss { at, side, .. } = loss;
        self.counters.augmentation();
        let (summary, _) = self.put_half(at, side, self.nodes.fresh_half(at, side));
        self.climb(self.nodes.place(at), summary);
    }

    /// The single or double rotation that completes [`settle`](Self::settle). Returns the node that
    /// is then on top.
    #[inline(always)]
    fn rotate_after_remove(&mut self, turn: Turn<N::Ref>) -> N::Ref {
        let Turn { at, side, sibling } = turn;
        let ranks = self.nodes.ranks(sibling);
        if ranks.is_long(!side) {
            let top = self
                .nodes
                .child(sibling, side)
                .expect("a missing child would be two below");
            let ranks = self.nodes.ranks(top);
            self.nodes
                .set_ranks(at, Ranks::on(!side, ranks.is_long(side)), INTERNAL);
            self.nodes
                .set_ranks(sibling, Ranks::on(side, ranks.is_long(!side)), INTERNAL);
            self.nodes.set_ranks(top, Ranks::LONG, INTERNAL);
            self.counters.augmentation();
            self.count_top();
            self.rotate_twice(at, !side, sibling, top);
            return top;
        }
        self.count_top();
        self.rotate(at, !side, sibling);
        let is_leaf = self.nodes.is_leaf(at);
        let low = Ranks::on(side, true).with(!side, ranks.is_long(side));
        self.nodes
            .set_ranks(at, if is_leaf { Ranks::SHORT } else { low }, INTERNAL);
        self.nodes.set_ranks(
            sibling,
            Ranks::on(!side, true).with(side, is_leaf),
            INTERNAL,
        );
        sibling
    }

    /// Counts the node that a rotation puts on top, unless a separate walk visits and counts it.
    #[inline(always)]
    fn count_top(&self) {
        if !C::Propagation::AT_ROTATION {
            self.counters.augmentation();
        }
    }
}
