//! The search for a gap: one descent, and at most a second one.
//!
//! It is written once for both directions. From the right side, an address `x` is seen as `!x`,
//! which reverses the order and preserves lengths.

use core::hint::select_unpredictable;

use super::query::{Gap, Need};
use crate::iova::{Config, Measure, Reserved, Space, Storage};
use crate::rbtree::{Counters, NodeId, Nodes, Side};

/// A gap and the insertion point of a node in it: the outermost place on a side of a subtree;
/// `None` in an empty tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub(crate) gap: Gap,
    pub(crate) edge: Option<(NodeId, Side)>,
}

/// A node at which the first descent turned to the near side, and two flags for gaps behind that
/// side, packed in one word. The direction of a search is unpredictable, so its state is updated
/// with conditional moves instead of branches.
#[derive(Clone, Copy)]
struct Turn(u64);

impl Turn {
    const NONE: Self = Self(u64::MAX << 2);
    /// The gap in front of the node suffices.
    const OWN: u64 = 2;
    /// A gap on its far side suffices.
    const FAR: u64 = 1;

    #[inline(always)]
    fn new(at: NodeId, far: bool) -> Self {
        Self((at.index() as u64) << 2 | u64::from(far))
    }

    #[inline(always)]
    fn select(condition: bool, one: Self, other: Self) -> Self {
        Self(select_unpredictable(condition, one.0, other.0))
    }

    #[inline(always)]
    fn at(self) -> Option<NodeId> {
        NodeId::from_index((self.0 >> 2) as usize)
    }

    #[inline(always)]
    fn has(self, what: u64) -> bool {
        self.0 & what != 0
    }
}

/// The way of the first descent.
struct Path {
    /// Its last node.
    at: NodeId,
    /// It would have gone on to the near side of that node.
    goes_near: bool,
    /// The last node from which it went to the far side.
    before: Turn,
    /// The last node at which it turned to the near side, and the last such node before it with a
    /// sufficient gap behind that side.
    turn: Turn,
    later: Turn,
}

/// A space seen from one of its sides, the near one.
pub(super) struct View<'a, C: Config, S: Storage<C>> {
    pub(crate) space: &'a Space<C, S>,
    pub(super) near: Side,
}

impl<C: Config, S: Storage<C>> View<'_, C, S> {
    /// Converts an address to the near side's view, and back.
    #[inline(always)]
    pub(super) fn turn(&self, address: u64) -> u64 {
        match self.near {
            Side::Left => address,
            Side::Right => !address,
        }
    }

    /// A gap given by its ends in the near side's view.
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

    /// The end of the extent that is nearest to the near side.
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

    /// True if a gap on `side` of `at` may suffice.
    #[inline(always)]
    fn may_hold(&self, at: NodeId, side: Side, need: &Need) -> bool {
        self.space.tree.nodes().half(at, side).gap.meets(need)
    }

    /// True if the gap of `len` granules in front of `front` suffices.
    #[inline(always)]
    fn suffices(&self, front: u64, len: u64, need: &Need) -> bool {
        let start = match self.near {
            Side::Left => front.wrapping_sub(len),
            Side::Right => (!front).wrapping_add(1),
        };
        C::Measure::gap_meets(start, len, need)
    }

    /// The nearest sufficient gap that extends to at least `reach` granules behind `from`.
    ///
    /// At most one gap begins before `from` and is cut by it. If only the length matters, its rest
    /// suffices; with a boundary it may not.
    ///
    /// # Cost
    /// At most two paths from the root to a leaf, and one node.
    pub(crate) fn first(&self, from: u64, need: &Need, reach: u64) -> Option<Found> {
        let least_last = from.checked_add(reach)?;
        let is_enough = |found: &Found| self.is_enough(found, least_last, need);
        let Some(root) = self.space.tree.root() else {
            let (near, far) = (self.bound(self.near), self.bound(!self.near));
            return self.found(Some(near), Some(far), None).filter(is_enough);
        };
        // Compiled once for each side, so that the direction costs nothing at a level.
        let Path {
            at,
            goes_near,
            before,
            turn,
            later,
        } = match self.near {
            Side::Left => self.from(Side::Left).path(root, least_last, need),
            Side::Right => self.from(Side::Right).path(root, least_last, need),
        };
        // No gap below `at` suffices on the side of `from`; the one beside the subtree may.
        let straddling = if goes_near {
            let (first, edge) = match before.at() {
                Some(before) => (self.back(before).checked_add(1), Some((at, self.near))),
                None => (Some(self.bound(self.near)), self.end(self.near)),
            };
            self.found(first, self.front_of_all(at).checked_sub(1), edge)
        } else {
            let last = turn.at().and_then(|turn| self.front(turn).checked_sub(1));
            let first = self.back_of_all(at).checked_add(1);
            self.found(first, last, Some((at, !self.near)))
        };
        if let Some(found) = straddling.filter(is_enough) {
            return Some(found);
        }
        if let Some(at) = turn.at().filter(|_| turn.has(Turn::FAR)) {
            return Some(self.descend(at, need, &mut 0));
        }
        match later.at() {
            Some(at) if later.has(Turn::OWN) => Some(self.in_front_of(at)),
            Some(at) => Some(self.descend(at, need, &mut 0)),
            None => self.behind_all().filter(is_enough),
        }
    }

    /// The same space from a side that the compiler knows.
    #[inline(always)]
    fn from(&self, near: Side) -> Self {
        let space = self.space;
        Self { space, near }
    }

    /// The way down towards `least_last`, as far as gaps on its side may suffice.
    #[inline(always)]
    fn path(&self, root: NodeId, least_last: u64, need: &Need) -> Path {
        let mut at = root;
        let (mut before, mut turn, mut later) = (Turn::NONE, Turn::NONE, Turn::NONE);
        loop {
            self.space.tree.counters().visit();
            let front = self.front(at);
            let goes_near = front > least_last;
            let holds_near = self.may_hold(at, self.near, need);
            let holds_far = self.may_hold(at, !self.near, need);
            let has_more = turn.has(Turn::OWN | Turn::FAR);
            later = Turn::select(goes_near & has_more, turn, later);
            turn = Turn::select(goes_near, Turn::new(at, holds_far), turn);
            if !select_unpredictable(goes_near, holds_near, holds_far) {
                return Path {
                    at,
                    goes_near,
                    before,
                    turn,
                    later,
                };
            }
            before = Turn::select(goes_near, before, Turn::new(at, false));
            let child = self.child_if(at, goes_near);
            let len = front.wrapping_sub(self.back_of_all(child)).wrapping_sub(1);
            let own = goes_near & self.suffices(front, len, need);
            turn.0 |= u64::from(own) * Turn::OWN;
            at = child;
        }
    }

    /// The child on the near or on the far side, which exists because a gap lies there.
    #[inline(always)]
    fn child_if(&self, at: NodeId, near: bool) -> NodeId {
        let right = near == (self.near == Side::Right);
        let child = self.space.tree.nodes().child_if(at, right);
        child.expect("there is a node on the other side of a gap")
    }

    /// The child on `side`, which exists because a sufficient gap lies there.
    #[inline(always)]
    fn child_that_holds(&self, at: NodeId, side: Side) -> NodeId {
        self.child(at, side)
            .expect("there is a node on the other side of a gap")
    }

    /// The gap from `first` to `last`, if not empty, which is outermost at `edge`.
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

    /// The insertion point outside of the first or the last node.
    #[inline(always)]
    fn end(&self, side: Side) -> Option<(NodeId, Side)> {
        self.space
            .ends
            .as_ref()
            .map(|ends| (ends[side.index()], side))
    }

    /// The first or last granule of the space, in the near side's view.
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
        len >= need.span && last >= least_last && C::Measure::gap_meets(found.gap.first, len, need)
    }

    /// The gap in front of `at`, which has a child on its near side.
    #[inline(always)]
    fn in_front_of(&self, at: NodeId) -> Found {
        let below = self.child_that_holds(at, self.near);
        Found {
            gap: self.gap(self.back_of_all(below) + 1, self.front(at) - 1),
            edge: Some((below, !self.near)),
        }
    }

    /// The gap behind the last node, which no half covers.
    fn behind_all(&self) -> Option<Found> {
        let (at, side) = self.end(!self.near)?;
        let first = self.back(at).checked_add(1);
        self.found(first, Some(self.bound(side)), Some((at, side)))
    }

    /// The nearest sufficient gap behind `found`; adds the visited nodes to `steps`.
    ///
    /// # Cost
    /// O(log n); O(n) for all gaps of a space one after the other.
    pub(crate) fn next(&self, found: &Found, need: &Need, steps: &mut u64) -> Option<Found> {
        let (mut at, side) = found.edge?;
        let mut is_passed = side != self.near;
        if !is_passed && Side::BOTH.iter().any(|side| self.may_hold(at, *side, need)) {
            return Some(match self.in_near_half(at, need, steps) {
                Ok(found) => found,
                Err(at) => self.descend(at, need, steps),
            });
        }
        // Nothing in the subtree of `at` suffices; the gap behind it may have been `found`.
        while let Some((parent, side)) = self.space.tree.nodes().place(at) {
            self.visit(steps);
            if side == self.near {
                let front = self.front(parent);
                let len = front.wrapping_sub(self.back_of_all(at)).wrapping_sub(1);
                if !is_passed && self.suffices(front, len, need) {
                    return Some(self.in_front_of(parent));
                }
                is_passed = false;
                if self.may_hold(parent, !self.near, need) {
                    return Some(self.descend(parent, need, steps));
                }
            }
            at = parent;
        }
        let behind = self.behind_all().filter(|_| !is_passed);
        behind.filter(|found| self.is_enough(found, 0, need))
    }

    #[inline(always)]
    fn visit(&self, steps: &mut u64) {
        self.space.tree.counters().visit();
        *steps += 1;
    }

    /// The nearest sufficient gap on the far side of `at`; one must exist.
    fn descend(&self, mut at: NodeId, need: &Need, steps: &mut u64) -> Found {
        loop {
            // Here the far side of `at` holds a sufficient gap, and nothing nearer does.
            let child = self.child_that_holds(at, !self.near);
            self.visit(steps);
            let (back, front) = (self.back(at), self.front_of_all(child));
            let len = front.wrapping_sub(back).wrapping_sub(1);
            if self.suffices(front, len, need) {
                return Found {
                    gap: self.gap(back + 1, front - 1),
                    edge: Some((child, self.near)),
                };
            }
            match self.in_near_half(child, need, steps) {
                Ok(found) => return found,
                Err(below) => at = below,
            }
        }
    }

    /// The nearest sufficient gap on the near side of `at`. Otherwise the node, `at` or one below
    /// it, whose far side holds the nearest one, if the subtree holds one at all.
    #[inline(always)]
    fn in_near_half(&self, mut at: NodeId, need: &Need, steps: &mut u64) -> Result<Found, NodeId> {
        while self.may_hold(at, self.near, need) {
            let below = self.child_that_holds(at, self.near);
            self.visit(steps);
            let in_left = self.may_hold(below, Side::Left, need);
            let in_right = self.may_hold(below, Side::Right, need);
            if !in_left && !in_right {
                return Ok(self.in_front_of(at));
            }
            at = below;
        }
        Err(at)
    }
}

#[cfg(all(test, feature = "alloc"))]
mod tests {
    use super::View;
    use crate::addr::{Address, Extent, Iova};
    use crate::iova::search::query::Query;
    use crate::iova::{Request, VecSpace};
    use crate::rbtree::Side;

    fn extent(start: u64, len: u64) -> Extent<Iova> {
        Extent::from_len(Iova::new(start), len).unwrap()
    }

    #[test]
    fn gaps_that_are_large_enough_are_found_in_their_order_and_no_others() {
        let mut space = VecSpace::new(extent(0, 400), 1, Vec::new()).unwrap();
        let (mut gaps, mut at) = (Vec::new(), 0);
        for step in 0..50 {
            let free = step * 7 % 9;
            if free > 0 {
                gaps.push((at, at + free - 1));
            }
            let taken = space.reserve_at(extent(at + free, 1 + step % 3)).unwrap();
            at = taken.extent().last().raw() + 1;
        }
        gaps.push((at, 399));
        for (near, size) in Side::BOTH
            .iter()
            .flat_map(|near| (1..12).map(move |size| (*near, size)))
        {
            let need = Query::new(&Request::new(size), 0).unwrap().need;
            let view = View {
                space: &space,
                near,
            };
            let first = view.first(view.bound(near), &need, size - 1);
            let all = core::iter::successors(first, |found| view.next(found, &need, &mut 0));
            let found: Vec<_> = all.map(|found| (found.gap.first, found.gap.last)).collect();
            let is_enough = |(first, last): &(u64, u64)| last - first + 1 >= size;
            let mut enough: Vec<_> = gaps.iter().copied().filter(is_enough).collect();
            if near == Side::Right {
                enough.reverse();
            }
            assert_eq!(found, enough, "{size} from the {near:?}");
        }
    }
}
