//! The augmentation of the tree of areas: the largest gap between neighbours below a node. The
//! search for a gap is written once, for both directions.
//!
//! Seen from the high end, a page `x` becomes `!x`. This reverses the order and keeps lengths.

use core::hint::select_unpredictable;
use core::marker::PhantomData;

use super::tree::Tree;
use crate::rbtree::{Augment, Counters, NodeId, Nodes, Side};
use crate::vmspace::{Node, Pages};

/// Orders areas by their last page.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gaps<A>(PhantomData<fn() -> A>);

/// The summary of one side of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Half {
    /// The far edge of that side: on the left the first page of the subtree, on the right the last.
    pub(super) edge: u64,
    /// The length in pages of the largest gap on that side, including the one next to the node.
    pub(crate) gap: u64,
}

/// The summary of a subtree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    first: u64,
    last: u64,
    gap: u64,
}

impl<A> Augment for Gaps<A> {
    type Item = Node<A>;
    type Key = u64;
    type Halves = [Half; 2];
    type Summary = Summary;

    #[inline(always)]
    fn key(item: &Node<A>) -> u64 {
        item.pages.last
    }

    #[inline(always)]
    fn empty(item: &Node<A>, side: Side) -> Half {
        let edge = match side {
            Side::Left => item.pages.first,
            Side::Right => item.pages.last,
        };
        Half { edge, gap: 0 }
    }

    #[inline(always)]
    fn half(item: &Node<A>, side: Side, below: &Summary) -> Half {
        let (edge, before, behind) = match side {
            Side::Left => (below.first, below.last, item.pages.first),
            Side::Right => (below.last, item.pages.last, below.first),
        };
        // Wrapping: a tree that is out of order is for `check` to report, and must not panic here.
        let gap = behind.wrapping_sub(before).wrapping_sub(1).max(below.gap);
        Half { edge, gap }
    }

    #[inline(always)]
    fn join(_: &Node<A>, side: Side, half: &Half, other: &Half) -> Summary {
        let is_left = matches!(side, Side::Left);
        Summary {
            first: select_unpredictable(is_left, half.edge, other.edge),
            last: select_unpredictable(is_left, other.edge, half.edge),
            gap: half.gap.max(other.gap),
        }
    }
}

/// A tree of areas seen from the near side.
pub(crate) struct View<'a, A, K: Counters> {
    pub(crate) tree: &'a Tree<A, K>,
    pub(super) near: Side,
}

impl<A, K: Counters> View<'_, A, K> {
    /// The nearest `len` or more free pages in `window`: the whole part of the gap that is in it.
    pub(crate) fn search(&self, window: Pages, len: u64) -> Option<Pages> {
        let found = self.search_turned(self.turned(window), len)?;
        Some(self.turned(found))
    }

    /// The same, with all pages turned to the near side.
    fn search_turned(&self, window: Pages, len: u64) -> Option<Pages> {
        let Some(all) = self.tree.summary() else {
            return enough(window.first, Some(window.last), len);
        };
        if all.gap < len {
            return self.outside(all, window, len);
        }
        let Some(at) = self.first_behind(window.first) else {
            return enough(window.first, Some(window.last), len);
        };
        // The gap in which the window begins; both ends of the window may cut it.
        let front = self.front(at).checked_sub(1);
        let straddling = enough(window.first, front.map(|last| last.min(window.last)), len);
        if straddling.is_some() || self.front(at) > window.last {
            return straddling;
        }
        let found = self.behind(at, len).or_else(|| self.behind_all(all));
        inside(found?, window, len)
    }

    /// The same if no gap between two nodes has `len` pages.
    fn outside(&self, all: Summary, window: Pages, len: u64) -> Option<Pages> {
        let last = self.whole(all).first.checked_sub(1);
        let before = last.map(|last| Pages { first: 0, last });
        [before, self.behind_all(all)]
            .into_iter()
            .flatten()
            .find_map(|gap| inside(gap, window, len))
    }

    /// The pages from the first of all nodes to the last.
    fn whole(&self, all: Summary) -> Pages {
        self.turned(Pages {
            first: all.first,
            last: all.last,
        })
    }

    fn turn(&self, page: u64) -> u64 {
        match self.near {
            Side::Left => page,
            Side::Right => !page,
        }
    }

    fn turned(&self, pages: Pages) -> Pages {
        match self.near {
            Side::Left => pages,
            Side::Right => Pages {
                first: !pages.last,
                last: !pages.first,
            },
        }
    }

    /// The near end of an area.
    fn front(&self, at: NodeId) -> u64 {
        self.turned(self.tree.item(at).pages).first
    }

    fn back(&self, at: NodeId) -> u64 {
        self.turned(self.tree.item(at).pages).last
    }

    fn half(&self, at: NodeId, side: Side) -> Half {
        self.tree.nodes().half(at, side)
    }

    /// The child on `side`. A gap is noted there, so there is a node beyond it.
    fn child(&self, at: NodeId, side: Side) -> NodeId {
        self.tree.counters().visit();
        let child = self.tree.nodes().child(at, side);
        child.expect("there is a node on the other side of a gap")
    }

    /// The nearest node that ends at `page` or behind it.
    fn first_behind(&self, page: u64) -> Option<NodeId> {
        let page = self.turn(page);
        let above = self.tree.lower_bound(page);
        match self.near {
            Side::Left => above,
            Side::Right if above.is_some_and(|at| self.tree.item(at).pages.first <= page) => above,
            Side::Right => above.map_or_else(|| self.tree.last(), |at| self.tree.prev(at)),
        }
    }

    /// The nearest gap of `len` pages between two nodes, the nearer of which is `at` or behind it.
    fn behind(&self, mut at: NodeId, len: u64) -> Option<Pages> {
        loop {
            if self.half(at, !self.near).gap >= len {
                return Some(self.descend(at, len));
            }
            let below = loop {
                let (parent, side) = self.tree.nodes().place(at)?;
                self.tree.counters().visit();
                let below = at;
                at = parent;
                if side == self.near {
                    break below;
                }
            };
            let gap = self.in_front_of(at, below);
            if gap.is_some_and(|gap| gap.len() >= len) {
                return gap;
            }
        }
    }

    /// The nearest gap of `len` pages on the far side of `at`, where one exists.
    fn descend(&self, mut at: NodeId, len: u64) -> Pages {
        loop {
            let child = self.child(at, !self.near);
            let first = self.back(at).wrapping_add(1);
            let last = self.turn(self.half(child, self.near).edge).wrapping_sub(1);
            if let Some(gap) = Pages::new(first, last).filter(|gap| gap.len() >= len) {
                return gap;
            }
            at = child;
            while self.half(at, self.near).gap >= len {
                let below = self.child(at, self.near);
                if Side::BOTH
                    .iter()
                    .all(|side| self.half(below, *side).gap < len)
                {
                    return self
                        .in_front_of(at, below)
                        .expect("the largest gap is here");
                }
                at = below;
            }
        }
    }

    /// The gap between `at` and `below`, its child on the near side.
    fn in_front_of(&self, at: NodeId, below: NodeId) -> Option<Pages> {
        let first = self
            .turn(self.half(below, !self.near).edge)
            .checked_add(1)?;
        Pages::new(first, self.front(at).checked_sub(1)?)
    }

    /// The free pages behind the last node.
    fn behind_all(&self, all: Summary) -> Option<Pages> {
        let first = self.whole(all).last.checked_add(1)?;
        Pages::new(first, u64::MAX)
    }
}

/// The part of a gap in the window, if it has `len` pages or more.
fn inside(gap: Pages, window: Pages, len: u64) -> Option<Pages> {
    gap.and(window).filter(|inside| inside.len() >= len)
}

/// The pages from `first` to `last`, if there are `len` or more.
fn enough(first: u64, last: Option<u64>, len: u64) -> Option<Pages> {
    Pages::new(first, last?).filter(|gap| gap.len() >= len)
}
