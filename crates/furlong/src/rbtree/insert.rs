//! Insertion: by key, or beside a node that the caller has found.
#![forbid(unsafe_code)]

use core::hint::select_unpredictable;

use super::tree::Key;
use super::walk::{Rotation, RotationOf};
use super::work::Work;
use super::{Augment, Config, Counters, InsertError, Nodes, Place, Propagation, Ranks, Side};

impl<N: Nodes, C: Config> Work<'_, N, C> {
    /// Links `new` at the place of its key.
    #[inline(always)]
    pub(super) fn insert(&mut self, new: N::Ref) -> Result<(), InsertError<N::Ref>> {
        if self.nodes.is_linked(new) {
            return Err(InsertError::Linked);
        }
        let place = self.find_place(self.nodes.key(new))?;
        self.link(place, new);
        Ok(())
    }

    /// The node below which `key` belongs, and on which side; `None` in an empty tree.
    #[inline(always)]
    fn find_place(&self, key: Key<N>) -> Result<Place<N::Ref>, InsertError<N::Ref>> {
        let Some(mut at) = self.root else {
            return Ok(None);
        };
        // The last node at which the search went left: the only one that can have an equal key.
        let mut next = None;
        let side = loop {
            self.counters.visit();
            let right = self.nodes.key(at) < key;
            next = select_unpredictable(right, next, Some(at));
            match self.nodes.child_if(at, right) {
                Some(child) => at = child,
                None => break Side::right_if(right),
            }
        };
        match next {
            Some(next) if self.nodes.key(next) == key => Err(InsertError::Occupied(next)),
            _ => Ok(Some((at, side))),
        }
    }

    /// Links `new` as a leaf at a place where there is none.
    #[inline(always)]
    pub(super) fn link(&mut self, place: Place<N::Ref>, new: N::Ref) {
        let item = self.nodes.item(new);
        let [left, right] = Side::BOTH.map(|side| N::Augment::empty(item, side));
        let summary = N::Augment::join(item, &left, &right);
        self.nodes.set_half(new, Side::Left, left);
        self.nodes.set_half(new, Side::Right, right);
        self.nodes.set_child(new, Side::Left, None);
        self.nodes.set_child(new, Side::Right, None);
        self.nodes.set_ranks(new, Ranks::SHORT);
        self.nodes.set_place(new, place);
        let Some((parent, side)) = place else {
            self.counters.augmentation();
            self.root = Some(new);
            return;
        };
        self.nodes.set_child(parent, side, Some(new));
        let rotation = self.grow(parent, side, new);
        if !rotation.is_some_and(|rotation| rotation.moved(new)) {
            self.counters.augmentation();
        }
        // A rotation that recomputes at once may have given the new node children.
        let summary = if C::Propagation::AT_ROTATION {
            self.nodes.summary(new)
        } else {
            summary
        };
        // A new node always counts as changed: what it kept from an earlier life may equal a
        // leaf's.
        self.walk(new, summary, true, rotation, None);
    }

    /// Restores the rank rule above `child`, whose rank has grown by one, on `side` of `at`.
    #[inline(always)]
    fn grow(&mut self, mut at: N::Ref, mut side: Side, mut child: N::Ref) -> Option<RotationOf<N>> {
        loop {
            let ranks = self.nodes.ranks(at);
            if ranks.is_long(side) {
                self.nodes.set_ranks(at, ranks.with(side, false));
                return None;
            }
            if ranks.is_long(!side) {
                return self.rotate_after_insert(at, side, child);
            }
            self.nodes.set_ranks(at, Ranks::on(!side, true));
            child = at;
            (at, side) = self.nodes.place(child)?;
        }
    }

    /// `child`, on `side` of `at`, has the rank of `at`, and the other child is two below: one
    /// rotation, single or double, ends the insertion.
    #[inline(always)]
    fn rotate_after_insert(
        &mut self,
        at: N::Ref,
        side: Side,
        child: N::Ref,
    ) -> Option<RotationOf<N>> {
        let before = self.nodes.summary(at);
        let single = self.nodes.ranks(child).is_long(!side);
        let rotation = if single {
            self.rotate(at, side, child);
            self.nodes.set_ranks(at, Ranks::SHORT);
            self.nodes.set_ranks(child, Ranks::SHORT);
            Rotation {
                top: child,
                demoted: (at, side),
                twin: None,
                before,
            }
        } else {
            let top = self
                .nodes
                .child(child, !side)
                .expect("a missing child would be two below");
            let ranks = self.nodes.ranks(top);
            self.rotate(child, !side, top);
            self.rotate(at, side, top);
            self.nodes
                .set_ranks(child, Ranks::on(!side, ranks.is_long(side)));
            self.nodes
                .set_ranks(at, Ranks::on(side, ranks.is_long(!side)));
            self.nodes.set_ranks(top, Ranks::SHORT);
            Rotation {
                top,
                demoted: (at, side),
                twin: Some((child, !side)),
                before,
            }
        };
        (!C::Propagation::AT_ROTATION).then_some(rotation)
    }
}
