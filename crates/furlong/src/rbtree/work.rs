//! A tree during one change.
#![forbid(unsafe_code)]

use super::augment::{Half, Summary};
use super::{Augment, Config, Counters, Nodes, Propagation, Side};

/// A tree during one change: a view of its nodes, and its root.
pub(super) struct Work<'c, N: Nodes, C: Config> {
    pub(super) nodes: N,
    pub(super) root: Option<N::Ref>,
    pub(super) counters: &'c C::Counters,
}

impl<N: Nodes, C: Config> Work<'_, N, C> {
    /// Puts `child` on `side` of `parent`, both ways.
    #[inline(always)]
    pub(super) fn attach(&mut self, parent: N::Ref, side: Side, child: Option<N::Ref>) {
        self.nodes.set_child(parent, side, child);
        if let Some(child) = child {
            self.nodes.set_place(child, Some((parent, side)));
        }
    }

    /// Puts `new` where `old` is.
    #[inline(always)]
    pub(super) fn replace(&mut self, old: N::Ref, new: Option<N::Ref>) {
        let place = self.nodes.place(old);
        match place {
            Some((parent, side)) => self.nodes.set_child(parent, side, new),
            None => self.root = new,
        }
        if let Some(new) = new {
            self.nodes.set_place(new, place);
        }
    }

    /// Puts `child`, which is on `side` of `at`, into the place of `at`, and `at` below it. Rank
    /// differences are the caller's to set.
    #[inline(always)]
    pub(super) fn rotate(&mut self, at: N::Ref, side: Side, child: N::Ref) {
        let inner = self.nodes.child(child, !side);
        self.replace(at, Some(child));
        self.attach(at, side, inner);
        self.attach(child, !side, Some(at));
        self.counters.rotation();
        if C::Propagation::AT_ROTATION {
            self.refit(at, side);
            self.nodes
                .set_half(child, !side, self.nodes.fresh_half(child, !side));
        }
    }

    /// Recomputes the half of `at` on `side` from the child there; returns the summary of `at`.
    #[inline(always)]
    pub(super) fn refit(&mut self, at: N::Ref, side: Side) -> Summary<N::Augment> {
        self.counters.augmentation();
        self.put_half(at, side, self.nodes.fresh_half(at, side))
    }

    /// Sets the half of `at` on `side`; returns the summary of `at`, which then costs no load.
    #[inline(always)]
    pub(super) fn put_half(
        &mut self,
        at: N::Ref,
        side: Side,
        half: Half<N::Augment>,
    ) -> Summary<N::Augment> {
        let other = self.nodes.half(at, !side);
        self.nodes.set_half(at, side, half);
        let is_left = side == Side::Left;
        let (left, right) = if is_left {
            (half, other)
        } else {
            (other, half)
        };
        N::Augment::join(self.nodes.item(at), &left, &right)
    }

    /// Recomputes both halves of `at`, whose item has changed, and walks up.
    pub(super) fn refresh(&mut self, at: N::Ref) {
        for side in Side::BOTH {
            self.nodes
                .set_half(at, side, self.nodes.fresh_half(at, side));
        }
        self.counters.augmentation();
        self.walk(at, self.nodes.summary(at), true, None, None);
    }
}
