//! The one walk after rebalancing: it brings halves up to date from the place of the change towards
//! the root.
//!
//! When the walk starts, the tree has its final shape, and wrong halves stand in three places at
//! most: on the path above the change; at the nodes that the one rotation of the operation moved;
//! at a node that took another one's place (the successor, in a removal), on the side of the path.
//! A walk that may stop where nothing changes ([`Checked`](super::Checked)) must not stop below a
//! node that took another's place; the rotated nodes it may jump to, because what lies between is
//! right.
#![forbid(unsafe_code)]

use super::augment::Summary;
use super::work::Work;
use super::{Augment, Config, Counters, Nodes, Propagation, Side};

/// What a rotation left to the walk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rotation<R, S> {
    /// The node that went up.
    pub(super) top: R,
    /// The node that went down, and its side that has a new subtree; it is on the other side of
    /// `top`.
    pub(super) demoted: (R, Side),
    /// In a double rotation the other child of `top`, likewise.
    pub(super) twin: Option<(R, Side)>,
    /// The summary of this place before the operation.
    pub(super) before: S,
}

/// A node that stands where another one stood, with the summary that this place had.
#[derive(Clone, Copy, Debug)]
pub(super) struct Replaced<R, S> {
    pub(super) node: R,
    pub(super) before: S,
}

pub(super) type RotationOf<N> = Rotation<<N as Nodes>::Ref, Summary<<N as Nodes>::Augment>>;
pub(super) type ReplacedOf<N> = Replaced<<N as Nodes>::Ref, Summary<<N as Nodes>::Augment>>;

impl<R: Copy + Eq, S> Rotation<R, S> {
    /// Whether `at` is one of the nodes that the rotation moved.
    #[inline(always)]
    pub(super) fn moved(&self, at: R) -> bool {
        self.top == at || self.demoted.0 == at || matches!(self.twin, Some((twin, _)) if twin == at)
    }
}

impl<N: Nodes, C: Config> Work<'_, N, C> {
    /// Walks up from `at`, whose halves are right as far as the path goes, and whose `summary` has
    /// `changed`.
    #[inline(always)]
    pub(super) fn walk(
        &mut self,
        mut at: N::Ref,
        mut summary: Summary<N::Augment>,
        mut changed: bool,
        mut rotation: Option<RotationOf<N>>,
        mut replaced: Option<ReplacedOf<N>>,
    ) {
        while rotation.is_some() || replaced.is_some() {
            if let Some(rotated) = rotation
                && rotated.moved(at)
            {
                at = rotated.top;
                summary = self.settle(&rotated);
                changed = summary != rotated.before;
                rotation = None;
                replaced = replaced.filter(|replaced| !rotated.moved(replaced.node));
                continue;
            }
            if let Some(other) = replaced
                && other.node == at
            {
                changed = summary != other.before;
                replaced = None;
                continue;
            }
            if !C::Propagation::climb(changed) && replaced.is_none() {
                if let Some(rotated) = rotation {
                    self.settle(&rotated);
                }
                return;
            }
            let Some((parent, side)) = self.nodes.place(at) else {
                return;
            };
            if !rotation.is_some_and(|rotated| rotated.moved(parent)) {
                self.counters.augmentation();
            }
            (summary, changed) = self.update(parent, side, &summary);
            at = parent;
        }
        if C::Propagation::climb(changed) {
            self.climb(at, summary);
        }
    }

    /// The walk where nothing but the path is left: from `at`, whose `summary` has changed.
    #[inline(always)]
    fn climb(&mut self, mut at: N::Ref, mut summary: Summary<N::Augment>) {
        while let Some((parent, side)) = self.nodes.place(at) {
            let changed;
            self.counters.augmentation();
            (summary, changed) = self.update(parent, side, &summary);
            if !C::Propagation::climb(changed) {
                return;
            }
            at = parent;
        }
    }

    /// Recomputes the half of `at` on `side`, where the subtree has the summary `below`; returns
    /// the summary of `at` and whether it has changed.
    #[inline(always)]
    fn update(
        &mut self,
        at: N::Ref,
        side: Side,
        below: &Summary<N::Augment>,
    ) -> (Summary<N::Augment>, bool) {
        let before = self.nodes.summary(at);
        let half = N::Augment::half(self.nodes.item(at), side, below);
        let after = self.put_half(at, side, half);
        (after, after != before)
    }

    /// Recomputes what a rotation left; returns the summary of its place.
    #[inline(always)]
    fn settle(&mut self, rotated: &RotationOf<N>) -> Summary<N::Augment> {
        let top = rotated.top;
        let (demoted, side) = rotated.demoted;
        let below = self.refit(demoted, side);
        let half = N::Augment::half(self.nodes.item(top), !side, &below);
        self.nodes.set_half(top, !side, half);
        if let Some((twin, side)) = rotated.twin {
            self.refit(twin, side);
        }
        self.refit(top, side)
    }
}
