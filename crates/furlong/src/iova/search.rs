//! The search for a gap: one descent, and at most one more.
//!
//! It is written once, towards lower or higher addresses. Seen from the other side an address `x`
//! is `!x`, which turns the order round and leaves lengths as they are.
#![forbid(unsafe_code)]

use super::query::{Gap, Need};
use super::{Config, Measure, Reserved, Space, Storage};
use crate::rbtree::{Counters, NodeId, Nodes, Side};

/// A gap, and where a node in it goes: outermost on a side of a subtree; an empty tree has none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) gap: Gap,
    pub(super) edge: Option<(NodeId, Side)>,
}

/// Where a search goes on when the first descent has ended.
#[derive(Clone, Copy)]
enum Next {
    /// The gap in front of this node, with its length.
    Near(NodeId, u64),
    /// The nearest gap that suffices on the far side of this node.
    Far(NodeId),
}

/// A node at which the first descent turned to the near side.
#[derive(Clone, Copy)]
struct Turn {
    at: NodeId,
    /// The gap in front of it, if it suffices.
    own: Option<Next>,
    /// The gaps on its far side, if one suffices.
    far: Option<Next>,
}

/// A space seen from one side, the near one.
pub(super) struct View<'a, C: Config, S: Storage<C>> {
    pub(super) space: &'a Space<C, S>,
    pub(super) near: Side,
}

impl<C: Config, S: Storage<C>> View<'_, C, S> {
    /// The address as it looks from the near side, and back.
    #[inline(always)]
    pub(super) fn turn(&self, address: u64) -> u64 {
        match self.near {
            Side::Left => address,
            Side::Right => !address,
        }
    }

    /// A gap by its ends as they look from the near side.
    #[inline(always)]
    fn gap(&self, first: u64, last: u64) -> Gap {
        match self.near {
            Side::Left => Gap { first, last },
            Side::Right => Gap {
                first: !last,
                last: !first,
            },
        }
    }

    #[inline(always)]
    fn item(&self, at: NodeId) -> &Reserved {
        self.space.tree.item(at)
    }

    /// The end of the extent that comes first from the near side.
    #[inline(always)]
    fn front(&self, at: NodeId) -> u64 {
        match self.near {
            Side::Left => self.item(at).start,
            Side::Right => !self.item(at).last,
        }
    }

    #[inline(always)]
    fn back(&self, at: NodeId) -> u64 {
        match self.near {
            Side::Left => self.item(at).last,
            Side::Right => !self.item(at).start,
        }
    }

    #[inline(always)]
    fn child(&self, at: NodeId, side: Side) -> Option<NodeId> {
        self.space.tree.nodes().child(at, side)
    }

    /// Far edge of the subtree of `at`.
    #[inline(always)]
    fn back_of_all(&self, at: NodeId) -> u64 {
        self.turn(self.space.tree.nodes().half(at, !self.near).edge)
    }

    #[inline(always)]
    fn front_of_all(&self, at: NodeId) -> u64 {
        self.turn(self.space.tree.nodes().half(at, self.near).edge)
    }

    /// Whether there may be a gap on `side` of `at` that suffices.
    #[inline(always)]
    fn may_hold(&self, at: NodeId, side: Side, need: &Need) -> bool {
        self.space.tree.nodes().half(at, side).gap.meets(need)
    }

    /// Whether the gap of `len` granules in front of `front` suffices.
    #[inline(always)]
    fn suffices(&self, front: u64, len: u64, need: &Need) -> bool {
        let start = match self.near {
            Side::Left => front.wrapping_sub(len),
            Side::Right => (!front).wrapping_add(1),
        };
        C::Measure::of(start, len).meets(need)
    }

    /// The length of the gap in front of `at`, where a subtree ends it on the near side.
    #[inline(always)]
    fn before(&self, at: NodeId) -> u64 {
        let below = self.child(at, self.near);
        below.map_or(0, |below| {
            self.front(at)
                .wrapping_sub(self.back_of_all(below))
                .wrapping_sub(1)
        })
    }

    /// The nearest gap that suffices and that goes on for `reach` granules behind `from`.
    ///
    /// At most one gap begins before `from` and is cut by it: for the largest gap as a measure what
    /// is left of it suffices, for others it may not.
    ///
    /// # Cost
    /// At most two ways from the root to a leaf, and one node.
    pub(super) fn first(&self, from: u64, need: &Need, reach: u64) -> Option<Found> {
        let least_last = from.checked_add(reach)?;
        let is_enough = |found: &Found| self.is_enough(found, least_last, need);
        let Some(mut at) = self.space.tree.root() else {
            let edges = [self.near, !self.near].map(|side| self.bound(side));
            return self
                .found(Some(edges[0]), Some(edges[1]), None)
                .filter(is_enough);
        };
        let (mut before, mut turn, mut later) = (None, None::<Turn>, None);
        // The one gap that may be cut, and where to go on if it is too short then.
        let (straddling, next) = loop {
            self.space.tree.counters().visit();
            if self.front(at) <= least_last {
                if self.may_hold(at, !self.near, need) {
                    before = Some(at);
                    at = self.child_that_holds(at, !self.near);
                    continue;
                }
                let last = turn.and_then(|turn| self.front(turn.at).checked_sub(1));
                let first = self.back_of_all(at).checked_add(1);
                let found = self.found(first, last, Some((at, !self.near)));
                break (found, turn.and_then(|turn| turn.far).or(later));
            }
            later = turn.and_then(|turn| turn.own.or(turn.far)).or(later);
            let holds_far = self.may_hold(at, !self.near, need);
            let far = holds_far.then_some(Next::Far(at));
            if !self.may_hold(at, self.near, need) {
                let (first, edge) = match before {
                    Some(before) => (self.back(before).checked_add(1), Some((at, self.near))),
                    None => (Some(self.bound(self.near)), self.end(self.near)),
                };
                let last = self.front_of_all(at).checked_sub(1);
                let found = self.found(first, last, edge);
                break (found, far.or(later));
            }
            let own = self.own(at, need);
            turn = Some(Turn { at, own, far });
            at = self.child_that_holds(at, self.near);
        };
        straddling.filter(is_enough).or_else(|| match next {
            Some(Next::Near(at, len)) => Some(self.in_front_of(at, len)),
            Some(Next::Far(at)) => Some(self.descend(at, need)),
            None => self.behind_all().filter(is_enough),
        })
    }

    /// The child on `side`, where a gap that suffices is.
    #[inline(always)]
    fn child_that_holds(&self, at: NodeId, side: Side) -> NodeId {
        self.child(at, side)
            .expect("there is a node on the other side of a gap")
    }

    /// The gap in front of `at`, if it suffices.
    #[inline(always)]
    fn own(&self, at: NodeId, need: &Need) -> Option<Next> {
        let len = self.before(at);
        self.suffices(self.front(at), len, need)
            .then_some(Next::Near(at, len))
    }

    /// The gap from `first` to `last`, if it is one, which is outermost at `edge`.
    #[inline(always)]
    fn found(
        &self,
        first: Option<u64>,
        last: Option<u64>,
        edge: Option<(NodeId, Side)>,
    ) -> Option<Found> {
        let (first, last) = (first?, last?);
        (first <= last).then(|| Found {
            gap: self.gap(first, last),
            edge,
        })
    }

    /// Outside of the first or of the last node.
    #[inline(always)]
    fn end(&self, side: Side) -> Option<(NodeId, Side)> {
        self.space
            .ends
            .as_ref()
            .map(|ends| (ends[side.index()], side))
    }

    /// The first or last granule of the space, as it looks from the near side.
    #[inline(always)]
    fn bound(&self, side: Side) -> u64 {
        self.turn(match side {
            Side::Left => self.space.bounds.first,
            Side::Right => self.space.bounds.last,
        })
    }

    #[inline(always)]
    fn is_enough(&self, found: &Found, least_last: u64, need: &Need) -> bool {
        let len = found.gap.len();
        let last = match self.near {
            Side::Left => found.gap.last,
            Side::Right => !found.gap.first,
        };
        len >= need.span && last >= least_last && C::Measure::of(found.gap.first, len).meets(need)
    }

    /// The gap of `len` granules in front of `at`.
    #[inline(always)]
    fn in_front_of(&self, at: NodeId, len: u64) -> Found {
        let front = self.front(at);
        Found {
            gap: self.gap(front - len, front - 1),
            edge: Some((self.child_that_holds(at, self.near), !self.near)),
        }
    }

    /// The gap behind the last node, which is in no half.
    fn behind_all(&self) -> Option<Found> {
        let (at, side) = self.end(!self.near)?;
        let first = self.back(at).checked_add(1);
        self.found(first, Some(self.bound(side)), Some((at, side)))
    }

    /// The nearest gap that suffices on the far side of `at`, where there is one.
    fn descend(&self, mut at: NodeId, need: &Need) -> Found {
        loop {
            // Here the far side of `at` holds one, and nothing nearer does.
            let child = self.child_that_holds(at, !self.near);
            self.space.tree.counters().visit();
            let (back, front) = (self.back(at), self.front_of_all(child));
            let len = front.wrapping_sub(back).wrapping_sub(1);
            if self.suffices(front, len, need) {
                return Found {
                    gap: self.gap(back + 1, front - 1),
                    edge: Some((child, self.near)),
                };
            }
            at = child;
            while self.may_hold(at, self.near, need) {
                let below = self.child_that_holds(at, self.near);
                self.space.tree.counters().visit();
                let inside = Side::BOTH.map(|side| self.may_hold(below, side, need));
                if inside == [false; 2] {
                    return self.in_front_of(at, self.before(at));
                }
                at = below;
            }
        }
    }
}
