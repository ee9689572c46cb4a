//! The search for a gap: one descent, and at most one more.
//!
//! It is written once, towards lower or higher addresses. Seen from the other side an address `x`
//! is `!x`, which turns the order round and leaves lengths as they are.
#![forbid(unsafe_code)]

use super::query::{Gap, Need};
use super::{Config, Measure, Reserved, Storage, Tree};
use crate::rbtree::{Counters, NodeId, Nodes, Side};

/// A gap, and where a node in it goes: on a side of a node, or before (left) or behind (right) of
/// where none is, which is last or first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) gap: Gap,
    pub(super) beside: (Option<NodeId>, Side),
}

/// Where a search goes on when the first descent has ended.
#[derive(Clone, Copy)]
enum Next {
    /// The gap beside this node on the near side, with its length.
    Near(NodeId, u64),
    /// The nearest gap that suffices on the far side of this node.
    Far(NodeId),
}

/// A node at which the first descent turned to the near side.
struct Turn {
    at: NodeId,
    /// The first gap behind its near subtree that suffices, the one beside the node included.
    next: Option<Next>,
    /// The same without the one beside the node.
    far: Option<Next>,
}

/// A tree seen from one side, the near one.
pub(super) struct View<'a, C: Config, S: Storage<C>> {
    pub(super) tree: &'a Tree<C, S>,
    pub(super) near: Side,
    /// First and last granule of the space.
    pub(super) bounds: Gap,
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
        self.tree.item(at)
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
        self.tree.nodes().child(at, side)
    }

    /// Far edge of the subtree of `at`.
    #[inline(always)]
    fn back_of_all(&self, at: NodeId) -> u64 {
        self.turn(self.tree.nodes().half(at, !self.near).edge)
    }

    #[inline(always)]
    fn front_of_all(&self, at: NodeId) -> u64 {
        self.turn(self.tree.nodes().half(at, self.near).edge)
    }

    /// Whether there may be a gap on `side` of `at` that suffices.
    #[inline(always)]
    fn may_hold(&self, at: NodeId, side: Side, need: &Need) -> bool {
        self.tree.nodes().half(at, side).gap.meets(need)
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

    /// The nearest gap that suffices and that goes on for `reach` granules behind `from`. Only one
    /// gap has `from` in it or ends it; whether that one is long enough from there on is tested, so
    /// `from` costs nothing.
    ///
    /// # Cost
    /// At most two ways from the root to a leaf, and one node.
    pub(super) fn first(&self, from: u64, need: &Need, reach: u64) -> Option<Found> {
        let least_last = from.checked_add(reach)?;
        let mut next = self.tree.root();
        let (mut before, mut turn, mut later) = (None, None::<Turn>, None);
        while let Some(at) = next {
            self.tree.counters().visit();
            if self.front(at) <= least_last {
                before = Some(at);
                next = self.child(at, !self.near);
                continue;
            }
            let (mut own, mut far) = (None, None);
            if self.may_hold(at, self.near, need) {
                let len = self.before(at);
                own = self
                    .suffices(self.front(at), len, need)
                    .then_some(Next::Near(at, len));
            }
            if self.may_hold(at, !self.near, need) {
                far = Some(Next::Far(at));
            }
            later = turn.and_then(|turn: Turn| turn.next).or(later);
            turn = Some(Turn {
                at,
                next: own.or(far),
                far,
            });
            next = self.child(at, self.near);
        }
        let straddling = self.between(before, turn.as_ref().map(|turn| turn.at));
        if let Some(found) = straddling
            && self.is_enough(&found, least_last, need)
        {
            return Some(found);
        }
        match turn.and_then(|turn| turn.far).or(later) {
            Some(Next::Near(at, len)) => Some(self.in_front_of(at, len)),
            Some(Next::Far(at)) => Some(self.descend(at, need)),
            None => self.behind_all(least_last, need),
        }
    }

    /// The gap between two neighbours, if there is one.
    #[inline(always)]
    fn between(&self, before: Option<NodeId>, behind: Option<NodeId>) -> Option<Found> {
        let first = match before {
            Some(at) => self.back(at).checked_add(1)?,
            None => self.turn_bound(self.near),
        };
        let last = match behind {
            Some(at) => self.front(at).checked_sub(1)?,
            None => self.turn_bound(!self.near),
        };
        let beside = match (before, behind) {
            // One of the two has no child on this side: beside it there is room.
            (_, Some(at)) if self.child(at, self.near).is_none() => (behind, self.near),
            (Some(_), _) => (before, !self.near),
            (None, _) => (None, self.near),
        };
        (first <= last).then(|| Found {
            gap: self.gap(first, last),
            beside,
        })
    }

    /// The first or last granule of the space, as it looks from the near side.
    #[inline(always)]
    fn turn_bound(&self, side: Side) -> u64 {
        self.turn(match side {
            Side::Left => self.bounds.first,
            Side::Right => self.bounds.last,
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
            beside: (Some(at), self.near),
        }
    }

    /// The gap behind the last node, which is in no half.
    fn behind_all(&self, least_last: u64, need: &Need) -> Option<Found> {
        let root = self.tree.root()?;
        let first = self.back_of_all(root).checked_add(1)?;
        let last = self.turn_bound(!self.near);
        let found = (first <= last).then(|| Found {
            gap: self.gap(first, last),
            beside: (None, self.near),
        })?;
        self.is_enough(&found, least_last, need).then_some(found)
    }

    /// The nearest gap that suffices on the far side of `at`, where there is one.
    fn descend(&self, mut at: NodeId, need: &Need) -> Found {
        loop {
            // Here the far side of `at` holds one, and nothing nearer does.
            let child = self
                .child(at, !self.near)
                .expect("a gap has a node behind it");
            self.tree.counters().visit();
            let back = self.back(at);
            let front = self.front_of_all(child);
            let len = front.wrapping_sub(back).wrapping_sub(1);
            if self.suffices(front, len, need) {
                return Found {
                    gap: self.gap(back + 1, front - 1),
                    beside: (Some(at), !self.near),
                };
            }
            at = child;
            while self.may_hold(at, self.near, need) {
                let below = self
                    .child(at, self.near)
                    .expect("a gap has a node before it");
                self.tree.counters().visit();
                let inside = Side::BOTH.map(|side| self.may_hold(below, side, need));
                if inside == [false; 2] {
                    return self.in_front_of(at, self.before(at));
                }
                at = below;
            }
        }
    }
}
