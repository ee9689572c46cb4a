//! A tree during one change, and the steps that insertion and removal share.

use crate::rbtree::{Augment, Config, Counters, Half, INTERNAL, Nodes, Side, Summary};

/// The state of a tree apart from its nodes.
#[derive(Clone, Copy)]
pub(crate) struct Head<R> {
    pub(crate) root: Option<R>,
    pub(crate) len: usize,
    /// True from the start to the end of a change; if it stays true, user code panicked in it. Then
    /// links are intact, but ranks and halves are not.
    pub(crate) is_interrupted: bool,
    /// True if the change is probably at an end of the tree, where a walk mostly copies edges.
    pub(crate) is_at_end: bool,
}

impl<R> Head<R> {
    pub(crate) const EMPTY: Self = Self {
        root: None,
        len: 0,
        is_interrupted: false,
        is_at_end: false,
    };
}

/// A tree during one change: a view of its nodes, and its head.
///
/// Whenever user code (an [`Augment`], [`Counters`]) runs during a change, links are intact. Every
/// linked node is reached from the root once, has the right place, and is counted; the removed node
/// is not linked. So a panic there leaves a tree that can be walked, and
/// [`recover`](crate::rbtree::RbTree::recover) recomputes the rest.
pub(crate) struct Work<'c, N: Nodes, C: Config> {
    pub(crate) nodes: N,
    pub(crate) head: &'c mut Head<N::Ref>,
    pub(crate) counters: &'c C::Counters,
}

impl<N: Nodes, C: Config> Work<'_, N, C> {
    /// The same change with a view of its own, to be passed by value to a function that is not
    /// inlined: see [`Nodes::view`].
    #[inline(always)]
    pub(super) fn by_value(&mut self) -> Work<'_, N::View<'_>, C> {
        Work {
            nodes: self.nodes.view(INTERNAL),
            head: self.head,
            counters: self.counters,
        }
    }

    /// Links `child` on `side` of `parent`, in both directions.
    #[inline(always)]
    pub(super) fn attach(&mut self, parent: N::Ref, side: Side, child: Option<N::Ref>) {
        self.nodes.set_child(parent, side, child, INTERNAL);
        if let Some(child) = child {
            self.nodes.set_place(child, Some((parent, side)), INTERNAL);
        }
    }

    /// Puts `new` into the place of `old`.
    #[inline(always)]
    pub(crate) fn replace(&mut self, old: N::Ref, new: Option<N::Ref>) {
        let place = self.nodes.place(old);
        match place {
            Some((parent, side)) => self.nodes.set_child(parent, side, new, INTERNAL),
            None => self.head.root = new,
        }
        if let Some(new) = new {
            self.nodes.set_place(new, place, INTERNAL);
        }
    }

    /// A single rotation: puts `child`, which is on `side` of `at`, into the place of `at`, and
    /// `at` below it. The caller sets rank differences and counts the recomputation. Returns the
    /// summary of the place; the half of `at` on the other side must be up to date.
    #[inline(always)]
    pub(super) fn rotate(&mut self, at: N::Ref, side: Side, child: N::Ref) -> Summary<N::Augment> {
        let inner = self.nodes.child(child, !side);
        self.replace(at, Some(child));
        self.attach(at, side, inner);
        self.attach(child, !side, Some(at));
        self.counters.rotation();
        let (below, _) = self.put_half(at, side, self.nodes.fresh_half(at, side));
        self.raise(child, !side, &below).0
    }

    /// A double rotation. `child` is on `side` of `at`, and `top` is the child of `child` on the
    /// other side; puts `top` above both of them. Returns the summary of the place.
    #[inline(always)]
    pub(super) fn rotate_twice(
        &mut self,
        at: N::Ref,
        side: Side,
        child: N::Ref,
        top: N::Ref,
    ) -> Summary<N::Augment> {
        let [near, off] = [self.nodes.child(top, side), self.nodes.child(top, !side)];
        self.replace(at, Some(top));
        self.attach(child, !side, near);
        self.attach(at, side, off);
        self.attach(top, side, Some(child));
        self.attach(top, !side, Some(at));
        self.counters.rotation();
        self.counters.rotation();
        let (near, _) = self.put_half(child, !side, self.nodes.fresh_half(child, !side));
        let (off, _) = self.put_half(at, side, self.nodes.fresh_half(at, side));
        self.nodes
            .set_half(top, side, self.half_of(top, side, &near), INTERNAL);
        self.raise(top, !side, &off).0
    }

    /// The half of `at` on `side`, where the subtree has the summary `below`.
    #[inline(always)]
    pub(super) fn half_of(
        &self,
        at: N::Ref,
        side: Side,
        below: &Summary<N::Augment>,
    ) -> Half<N::Augment> {
        N::Augment::half(self.nodes.item(at, INTERNAL), side, below)
    }

    /// Sets the half of `at` on `side`. Returns the summary of `at`, and true if that differs from
    /// before.
    #[inline(always)]
    pub(super) fn put_half(
        &mut self,
        at: N::Ref,
        side: Side,
        half: Half<N::Augment>,
    ) -> (Summary<N::Augment>, bool) {
        let item = self.nodes.item(at, INTERNAL);
        let (old, other) = (self.nodes.half(at, side), self.nodes.half(at, !side));
        let summary = N::Augment::join(item, side, &half, &other);
        let differs = N::Augment::differs(item, side, [&old, &half], &other, &summary);
        self.nodes.set_half(at, side, half, INTERNAL);
        (summary, differs)
    }

    /// Updates the half of `at` on `side`, where the subtree has the summary `below`. Returns the
    /// summary of `at`, and true if that differs from before.
    #[inline(always)]
    pub(super) fn raise(
        &mut self,
        at: N::Ref,
        side: Side,
        below: &Summary<N::Augment>,
    ) -> (Summary<N::Augment>, bool) {
        self.put_half(at, side, self.half_of(at, side, below))
    }
}
