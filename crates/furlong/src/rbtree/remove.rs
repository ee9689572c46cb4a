//! Removal of a node that the caller names: no search.
#![forbid(unsafe_code)]

use super::augment::Summary;
use super::work::Work;
use super::{Config, Counters, Nodes, NotLinked, Propagation, Ranks, Side};

/// A node that took another one's place, and the summary that this place had.
#[derive(Clone, Copy, Debug)]
struct Heir<R, S> {
    node: R,
    before: S,
}

type HeirOf<N> = Heir<<N as Nodes>::Ref, Summary<<N as Nodes>::Augment>>;

impl<N: Nodes, C: Config> Work<'_, N, C> {
    /// Takes the node `old` out of the tree.
    #[inline(always)]
    pub(super) fn remove(&mut self, old: N::Ref) -> Result<(), NotLinked> {
        if !self.nodes.is_linked(old) {
            return Err(NotLinked);
        }
        let [left, right] = Side::BOTH.map(|side| self.nodes.child(old, side));
        match (left, right) {
            (Some(left), Some(right)) => self.remove_inner(old, left, right),
            _ => self.splice(old, left.or(right)),
        }
        self.nodes.set_unlinked(old);
        Ok(())
    }

    /// Takes out `old`, which has at most the one `child`.
    #[inline(always)]
    fn splice(&mut self, old: N::Ref, child: Option<N::Ref>) {
        self.replace(old, child);
        if let Some((parent, side)) = self.nodes.place(old) {
            self.mend(parent, side, None);
        }
    }

    /// Takes out `old`, which has two children, by putting its successor into its place.
    #[inline(always)]
    fn remove_inner(&mut self, old: N::Ref, left: N::Ref, right: N::Ref) {
        let before = self.nodes.summary(old);
        let mut heir = right;
        while let Some(next) = self.nodes.child(heir, Side::Left) {
            self.counters.visit();
            heir = next;
        }
        let child = self.nodes.child(heir, Side::Right);
        let (parent, side) = if heir == right {
            (heir, Side::Right)
        } else {
            let (parent, side) = self
                .nodes
                .place(heir)
                .expect("it is below the node that goes");
            self.attach(parent, side, child);
            self.attach(heir, Side::Right, Some(right));
            (parent, side)
        };
        self.attach(heir, Side::Left, Some(left));
        self.replace(old, Some(heir));
        self.nodes.set_ranks(heir, self.nodes.ranks(old));
        self.nodes
            .set_half(heir, Side::Left, self.nodes.fresh_half(heir, Side::Left));
        self.mend(parent, side, Some(Heir { node: heir, before }));
    }

    /// Mends ranks and halves from `at`, whose subtree on `side` has changed and lost a rank.
    #[inline(always)]
    fn mend(&mut self, at: N::Ref, side: Side, heir: Option<HeirOf<N>>) {
        if C::Propagation::AT_ROTATION {
            self.shrink(at, side, heir, false);
            self.counters.augmentation();
            let summary = self.put_half(at, side, self.nodes.fresh_half(at, side));
            self.climb(at, summary);
        } else {
            self.shrink(at, side, heir, true);
        }
    }

    /// Walks up from `at`, whose subtree on `side` has lost a rank. Where `walks`, the halves on
    /// the way are out of date too, and must be mended up to the `heir` at least.
    #[inline(always)]
    fn shrink(
        &mut self,
        mut at: N::Ref,
        mut side: Side,
        mut heir: Option<HeirOf<N>>,
        mut walks: bool,
    ) {
        let mut half = self.nodes.fresh_half(at, side);
        let mut shrinks = true;
        loop {
            let mut before = self.nodes.summary(at);
            if let Some(other) = heir
                && other.node == at
            {
                before = other.before;
                heir = None;
            }
            let mut after = before;
            if walks {
                after = self.put_half(at, side, half);
                self.counters.augmentation();
            }
            if shrinks && let Some(sibling) = self.settle_ranks(at, side, &mut shrinks) {
                if !walks {
                    self.counters.augmentation();
                }
                (at, after) = self.rotate_after_remove(at, side, sibling);
                shrinks = false;
            }
            walks = walks && (C::Propagation::climb(after != before) || heir.is_some());
            if !walks && !shrinks {
                return;
            }
            let Some((parent, from)) = self.nodes.place(at) else {
                return;
            };
            if !shrinks && heir.is_none() {
                return self.climb(at, after);
            }
            half = self.half_of(parent, from, &after);
            (at, side) = (parent, from);
        }
    }

    /// Sets the ranks of `at`, whose child on `side` has lost one, and says in `shrinks` whether
    /// `at` itself loses one by that. Returns the other child where a rotation must do it: this one
    /// is then three below, the other one is one below and has a child one below itself.
    #[inline(always)]
    fn settle_ranks(&mut self, at: N::Ref, side: Side, shrinks: &mut bool) -> Option<N::Ref> {
        let ranks = self.nodes.ranks(at);
        if !ranks.is_long(side) {
            // A leaf has rank 0; any other node keeps its rank.
            *shrinks = ranks.is_long(!side) && self.nodes.is_leaf(at);
            let kept = ranks.with(side, true);
            self.nodes
                .set_ranks(at, if *shrinks { Ranks::SHORT } else { kept });
        } else if ranks.is_long(!side) {
            self.nodes.set_ranks(at, Ranks::on(side, true));
        } else {
            let sibling = self
                .nodes
                .child(at, !side)
                .expect("a missing child would be two below");
            if self.nodes.ranks(sibling) != Ranks::LONG {
                return Some(sibling);
            }
            self.nodes.set_ranks(sibling, Ranks::SHORT);
        }
        None
    }

    /// One rotation, single or double, ends what [`settle_ranks`](Self::settle_ranks) began.
    /// Returns the node that is then on top, and its summary.
    #[inline(always)]
    fn rotate_after_remove(
        &mut self,
        at: N::Ref,
        side: Side,
        sibling: N::Ref,
    ) -> (N::Ref, Summary<N::Augment>) {
        let ranks = self.nodes.ranks(sibling);
        if ranks.is_long(!side) {
            let top = self
                .nodes
                .child(sibling, side)
                .expect("a missing child would be two below");
            let ranks = self.nodes.ranks(top);
            self.nodes
                .set_ranks(at, Ranks::on(!side, ranks.is_long(side)));
            self.nodes
                .set_ranks(sibling, Ranks::on(side, ranks.is_long(!side)));
            self.nodes.set_ranks(top, Ranks::LONG);
            self.counters.augmentation();
            self.count_top();
            return (top, self.rotate_twice(at, !side, sibling, top));
        }
        self.count_top();
        let summary = self.rotate(at, !side, sibling);
        let is_leaf = self.nodes.is_leaf(at);
        let low = Ranks::on(side, true).with(!side, ranks.is_long(side));
        self.nodes
            .set_ranks(at, if is_leaf { Ranks::SHORT } else { low });
        self.nodes
            .set_ranks(sibling, Ranks::on(!side, true).with(side, is_leaf));
        (sibling, summary)
    }

    /// Counts the node that a rotation puts on top, unless a walk of its own comes by and counts
    /// it.
    #[inline(always)]
    fn count_top(&self) {
        if !C::Propagation::AT_ROTATION {
            self.counters.augmentation();
        }
    }
}
