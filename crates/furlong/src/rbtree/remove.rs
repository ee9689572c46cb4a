//! Removal of a node that the caller names: no search.
#![forbid(unsafe_code)]

use super::walk::{Replaced, ReplacedOf, Rotation, RotationOf};
use super::work::Work;
use super::{Config, Counters, Nodes, NotLinked, Propagation, Ranks, Side};

impl<N: Nodes, C: Config> Work<'_, N, C> {
    /// Takes the node `old` out of the tree.
    #[inline(always)]
    pub(super) fn remove(&mut self, old: N::Ref) -> Result<(), NotLinked> {
        if !self.nodes.is_linked(old) {
            return Err(NotLinked);
        }
        let [left, right] = Side::BOTH.map(|side| self.nodes.child(old, side));
        match (left, right) {
            (Some(_), Some(right)) => self.remove_inner(old, right),
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
    fn remove_inner(&mut self, old: N::Ref, right: N::Ref) {
        let before = self.nodes.summary(old);
        let mut heir = right;
        while let Some(left) = self.nodes.child(heir, Side::Left) {
            self.counters.visit();
            heir = left;
        }
        let child = self.nodes.child(heir, Side::Right);
        let (parent, side) = if heir == right {
            (heir, Side::Right)
        } else {
            let (parent, _) = self
                .nodes
                .place(heir)
                .expect("it is below the node that goes");
            self.attach(parent, Side::Left, child);
            self.attach(heir, Side::Right, Some(right));
            (parent, Side::Left)
        };
        self.attach(heir, Side::Left, self.nodes.child(old, Side::Left));
        self.replace(old, Some(heir));
        self.nodes.set_ranks(heir, self.nodes.ranks(old));
        self.nodes
            .set_half(heir, Side::Left, self.nodes.fresh_half(heir, Side::Left));
        self.mend(parent, side, Some(Replaced { node: heir, before }));
    }

    /// Mends ranks and halves above the place on `side` of `parent` that has lost a rank.
    #[inline(always)]
    fn mend(&mut self, parent: N::Ref, side: Side, replaced: Option<ReplacedOf<N>>) {
        let before = self.nodes.summary(parent);
        let mut rotation = self.shrink(parent, side);
        if let (Some(rotation), Some(replaced)) = (&mut rotation, &replaced)
            && rotation.demoted.0 == replaced.node
        {
            // The rotation took the summary of the heir in a place that was not yet its own.
            rotation.before = replaced.before;
        }
        if !rotation.is_some_and(|rotation| rotation.moved(parent)) {
            self.counters.augmentation();
        }
        let summary = self.put_half(parent, side, self.nodes.fresh_half(parent, side));
        self.walk(parent, summary, summary != before, rotation, replaced);
    }

    /// Restores the rank rule above the place on `side` of `at`, whose rank has shrunk by one.
    #[inline(always)]
    fn shrink(&mut self, mut at: N::Ref, mut side: Side) -> Option<RotationOf<N>> {
        loop {
            let ranks = self.nodes.ranks(at);
            if !ranks.is_long(side) {
                if !ranks.is_long(!side) || !self.nodes.is_leaf(at) {
                    self.nodes.set_ranks(at, ranks.with(side, true));
                    return None;
                }
                // A leaf has rank 0.
                self.nodes.set_ranks(at, Ranks::SHORT);
            } else if ranks.is_long(!side) {
                self.nodes.set_ranks(at, Ranks::on(side, true));
            } else {
                let sibling = self
                    .nodes
                    .child(at, !side)
                    .expect("a missing child would be two below");
                if self.nodes.ranks(sibling) != Ranks::LONG {
                    return self.rotate_after_remove(at, side, sibling);
                }
                self.nodes.set_ranks(sibling, Ranks::SHORT);
            }
            let child = at;
            (at, side) = self.nodes.place(child)?;
        }
    }

    /// The child of `at` on `side` is three below, `sibling` on the other side is one below and has
    /// a child one below itself: one rotation, single or double, ends the removal.
    #[inline(always)]
    fn rotate_after_remove(
        &mut self,
        at: N::Ref,
        side: Side,
        sibling: N::Ref,
    ) -> Option<RotationOf<N>> {
        let before = self.nodes.summary(at);
        let ranks = self.nodes.ranks(sibling);
        let single = !ranks.is_long(!side);
        let rotation = if single {
            self.rotate(at, !side, sibling);
            let is_leaf = self.nodes.is_leaf(at);
            let low = Ranks::on(side, true).with(!side, ranks.is_long(side));
            self.nodes
                .set_ranks(at, if is_leaf { Ranks::SHORT } else { low });
            self.nodes
                .set_ranks(sibling, Ranks::on(!side, true).with(side, is_leaf));
            Rotation {
                top: sibling,
                demoted: (at, !side),
                twin: None,
                before,
            }
        } else {
            let top = self
                .nodes
                .child(sibling, side)
                .expect("a missing child would be two below");
            let ranks = self.nodes.ranks(top);
            self.rotate(sibling, side, top);
            self.rotate(at, !side, top);
            self.nodes
                .set_ranks(at, Ranks::on(!side, ranks.is_long(side)));
            self.nodes
                .set_ranks(sibling, Ranks::on(side, ranks.is_long(!side)));
            self.nodes.set_ranks(top, Ranks::LONG);
            Rotation {
                top,
                demoted: (at, !side),
                twin: Some((sibling, side)),
                before,
            }
        };
        (!C::Propagation::AT_ROTATION).then_some(rotation)
    }
}
