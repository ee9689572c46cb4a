//! Changes that replace nodes: copies, splits, mergers, and stores that span leaves.
//!
//! All of them follow one scheme. At most three new leaves take the rest of a leaf on the left, the
//! new pieces, and the rest of a leaf on the right. Left and right may be the same leaf. The new
//! leaves replace the children from the left one to the right one. The levels above repeat this
//! while the two paths differ, and then as long as more than one child changes. One store then
//! shows all of it to readers.

use super::build::{Inners, Items, Leaves, Shares};
use crate::maple::{
    Config, Counters, Cut, Event, Geometry, Helper, Inner, Item, Node, Nodes, Ptr, Spot, Write,
    least, wants,
};

/// The plan of a rebuild at the leaves, made before anything is changed.
pub(crate) struct Plan<'a, C: Config> {
    /// The number of entries that stay of the old leaves, plus the new ones.
    rest: usize,
    helper: Option<Helper<'a, C>>,
    shares: Shares,
    need: Nodes,
    way: Way,
}

/// The fate of the old leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// New leaves take over their rest.
    Anew,
    /// The leaf is full and stays; a new one behind it gets the new entry.
    Behind,
    /// The leaf is full and keeps its lower half.
    Halves,
}

impl<C: Config> Plan<'_, C> {
    pub(crate) fn need(&self) -> Nodes {
        self.need
    }

    /// True if the root, which is an inner node, may be split.
    ///
    /// If there are no more new leaves than old ones, no level gets more nodes than it had. The
    /// replacement then has at most as many children, in as few nodes as can hold them. Otherwise
    /// up to three nodes replace one in each node above, including the root.
    pub(crate) fn may_add_level(
        &self,
        left: &Spot<'_, C::Geometry>,
        right: &Spot<'_, C::Geometry>,
    ) -> bool {
        let there = 1 + usize::from(!left.leaf().is(right.leaf()));
        let gone = there + usize::from(self.helper.is_some());
        let adds_leaves = self.way != Way::Anew || self.shares.nodes() > gone;
        adds_leaves && left.step(0).node.len() + 2 > C::Geometry::INNER
    }
}

/// The children that the items of the level below replace: from one in the node on the left path to
/// one in the node on the right path.
#[derive(Clone, Copy)]
struct Stretch {
    first: usize,
    last: usize,
}

impl<'a, C: Config, const READERS: bool> Write<'a, C, READERS> {
    /// Plans the replacement of the leaves.
    pub(crate) fn plan(
        &self,
        left: &Spot<'a, C::Geometry>,
        right: &Spot<'a, C::Geometry>,
        cut: &Cut,
    ) -> Plan<'a, C> {
        let capacity = C::Geometry::LEAF;
        let before = left.leaf().live_in(0, cut.from);
        let after = right.leaf().live_in(cut.to, right.leaf().len());
        let rest = before + cut.len() + after;
        let ascending = cut.to >= right.leaf().len() && rest > capacity;
        let helper = if ascending {
            None
        } else {
            self.find_helper(left, right, rest)
        };
        let total = rest
            + match &helper {
                Some(Helper::Before(Node::Leaf(leaf)) | Helper::After(Node::Leaf(leaf))) => {
                    leaf.live()
                }
                _ => 0,
            };
        let shares = if ascending {
            Shares::ascending(total, capacity)
        } else {
            Shares::even(total, capacity)
        };
        let one = left.leaf().is(right.leaf());
        let way = self.way(left, cut, one && helper.is_none());
        if way != Way::Anew {
            return Plan {
                rest,
                helper: None,
                shares: Shares::even(1, capacity),
                need: Nodes {
                    leaves: 1,
                    inners: self.inners_needed(left, right),
                },
                way,
            };
        }
        let alone = one && helper.is_none() && shares.nodes() == 1;
        let none = left.height == 0 && shares.nodes() == 0;
        let inners = if alone || none {
            0
        } else {
            self.inners_needed(left, right)
        };
        Plan {
            rest,
            helper,
            shares,
            need: Nodes {
                leaves: shares.nodes(),
                inners,
            },
            way,
        }
    }

    /// The way to treat the leaf. `alone` says that no sibling helps.
    fn way(&self, spot: &Spot<'a, C::Geometry>, cut: &Cut, alone: bool) -> Way {
        let capacity = C::Geometry::LEAF;
        let inserts = cut.from == cut.to && cut.len() == 1;
        if !alone || !inserts || spot.leaf().live() < capacity {
            Way::Anew
        } else if cut.from == capacity && spot.max == u64::MAX {
            Way::Behind
        } else if READERS || cut.from == capacity {
            // Elsewhere a new leaf of one entry would be merged at once, and needed again for the
            // next one.
            Way::Anew
        } else {
            Way::Halves
        }
    }

    /// A bound on the inner nodes needed by a change that adds or removes leaves.
    fn inners_needed(&self, left: &Spot<'a, C::Geometry>, right: &Spot<'a, C::Geometry>) -> usize {
        let mut need = 0;
        for depth in (0..left.height).rev() {
            let (first, last) = (left.step(depth), right.step(depth));
            let len = first.node.len();
            // Up to three children replace one, or a helper is replaced along with them.
            let most = len + 2 <= C::Geometry::INNER;
            let fewest = len >= least(C::Geometry::INNER) + 2 + last.at.saturating_sub(first.at);
            if first.node.is(last.node) && most && fewest {
                return need + usize::from(READERS);
            }
            need += 3;
        }
        need + 1
    }

    /// Carries the plan out.
    pub(crate) fn rebuild(
        &mut self,
        left: &Spot<'a, C::Geometry>,
        right: &Spot<'a, C::Geometry>,
        cut: &Cut,
        plan: &Plan<'a, C>,
    ) {
        let items = match plan.way {
            Way::Behind => self.leaf_behind(left, cut),
            Way::Halves => self.halves(left, cut),
            Way::Anew => {
                let items = self.new_leaves(left, right, cut, plan);
                let given_up = self.give_up_between(left, right, cut.displaces());
                if !left.leaf().is(right.leaf()) {
                    self.tree.change_len(plan.rest, given_up);
                }
                items
            }
        };
        let starts = left.leaf().live_in(0, cut.from) == 0;
        let mut stretch = None;
        if let Some(depth) = left.height.checked_sub(1) {
            stretch = Some(self.stretch(left, right, depth, plan.helper.as_ref()));
        }
        self.replace(left, right, stretch, items);
        if starts {
            self.settle(left.min);
        }
        if left.is_first() || right.max == u64::MAX {
            self.tree.note_outer();
        }
    }

    /// Builds the leaves that replace those from left to right, and a helper.
    fn new_leaves(
        &mut self,
        left: &Spot<'a, C::Geometry>,
        right: &Spot<'a, C::Geometry>,
        cut: &Cut,
        plan: &Plan<'a, C>,
    ) -> Items<'a, C::Geometry> {
        let depth = left.height.wrapping_sub(1);
        let (tree, pool) = (self.tree, &mut *self.pool);
        let mut leaves = Leaves::new(plan.shares);
        if let Some(Helper::Before(Node::Leaf(leaf))) = plan.helper {
            leaves.extend(leaf, 0, leaf.len(), tree, pool);
        }
        leaves.extend(left.leaf(), 0, cut.from, tree, pool);
        cut.pieces()
            .for_each(|piece| leaves.push(piece, tree, pool));
        leaves.extend(right.leaf(), cut.to, right.leaf().len(), tree, pool);
        let mut max = right.max;
        if let Some(Helper::After(Node::Leaf(leaf))) = plan.helper {
            leaves.extend(leaf, 0, leaf.len(), tree, pool);
            max = right.end_of(depth, right.step(depth).at + 1);
        }
        let items = leaves.finish(max);
        (0..items.len()).for_each(|_| self.count.count(Event::NodeStore));
        items
    }

    /// The children at `depth` that are replaced. A helper is one of them, and is given up.
    fn stretch(
        &mut self,
        left: &Spot<'a, C::Geometry>,
        right: &Spot<'a, C::Geometry>,
        depth: usize,
        helper: Option<&Helper<'a, C>>,
    ) -> Stretch {
        let mut stretch = Stretch {
            first: left.step(depth).at,
            last: right.step(depth).at,
        };
        if helper.is_some() {
            self.count.count(Event::Rebalance);
        }
        match helper {
            Some(Helper::Before(node)) => {
                stretch.first -= 1;
                self.pool.give_up(*node);
            }
            Some(Helper::After(node)) => {
                stretch.last += 1;
                self.pool.give_up(*node);
            }
            None => {}
        }
        stretch
    }

    /// Puts `items` in place of a stretch of children, level by level.
    fn replace(
        &mut self,
        left: &Spot<'a, C::Geometry>,
        right: &Spot<'a, C::Geometry>,
        stretch: Option<Stretch>,
        items: Items<'a, C::Geometry>,
    ) {
        let mut items = items;
        let mut stretch = stretch;
        for depth in (0..left.height).rev() {
            let Some(children) = stretch else { break };
            let node = left.step(depth).node;
            let one = node.is(right.step(depth).node);
            if one && self.splice(left, depth, children, &items) {
                return;
            }
            if items.len() > children.last.saturating_sub(children.first) + 1 {
                self.count.count(Event::Split);
            }
            let above = depth.checked_sub(1);
            let rest =
                children.first + items.len() + right.step(depth).node.len() - 1 - children.last;
            let helper = above.and_then(|above| self.inner_helper(left, right, above, rest));
            items = self.new_inners(left, right, depth, children, &items, &helper);
            if one {
                self.pool.give_up(Node::Inner(node));
            }
            stretch = above.map(|above| self.stretch(left, right, above, helper.as_ref()));
        }
        self.plant_items(&items);
    }

    fn inner_helper(
        &self,
        left: &Spot<'a, C::Geometry>,
        right: &Spot<'a, C::Geometry>,
        above: usize,
        rest: usize,
    ) -> Option<Helper<'a, C>> {
        self.helper(left, right, above, |sibling| match sibling {
            Node::Inner(inner) => wants(rest, inner.len(), C::Geometry::INNER),
            Node::Leaf(_) => false,
        })
    }

    /// Changes the children of a node in place, if possible.
    fn splice(
        &mut self,
        spot: &Spot<'a, C::Geometry>,
        depth: usize,
        children: Stretch,
        items: &Items<'a, C::Geometry>,
    ) -> bool {
        let node = spot.step(depth).node;
        let Stretch { first, last } = children;
        if first == last && items.len() == 1 {
            for item in items.iter() {
                node.get().link(first).publish(item.node);
                if node.set_gap(first, item.gap) {
                    self.climb(spot, depth, node.largest_gap());
                }
            }
            return true;
        }
        let len = node.len() + items.len() - (last + 1 - first);
        let enough = if depth == 0 {
            2
        } else {
            least(C::Geometry::INNER)
        };
        if READERS || len > C::Geometry::INNER || len < enough {
            return false;
        }
        if items.len() > last + 1 - first {
            self.count.count(Event::Split);
        }
        self.count.count(Event::NodeStore);
        if items.len() == 0 && first > 0 {
            node.set_pivot(first - 1, node.pivot(last));
        }
        node.shift(last + 1, first + items.len());
        for (at, item) in (first..).zip(items.iter()) {
            node.put(at, item);
        }
        let old = node.largest_gap();
        node.finish();
        if node.largest_gap() != old {
            self.climb(spot, depth, node.largest_gap());
        }
        true
    }

    /// Builds the nodes that replace those at `depth` from left to right, and a helper.
    fn new_inners(
        &mut self,
        left: &Spot<'a, C::Geometry>,
        right: &Spot<'a, C::Geometry>,
        depth: usize,
        children: Stretch,
        items: &Items<'a, C::Geometry>,
        helper: &Option<Helper<'a, C>>,
    ) -> Items<'a, C::Geometry> {
        let (tree, pool) = (self.tree, &mut *self.pool);
        let (first, last) = (left.step(depth).node, right.step(depth).node);
        let mut total = children.first + items.len() + last.len() - 1 - children.last;
        if let Some(Helper::Before(Node::Inner(inner)) | Helper::After(Node::Inner(inner))) = helper
        {
            total += inner.len();
        }
        if helper.is_none() && first.is(last) && (1..=C::Geometry::INNER).contains(&total) {
            let max = right.end_of(depth, last.len() - 1);
            return self.copy_inner(first, children, items, max);
        }
        let at_end = helper.is_none() && children.last + 1 == last.len();
        let mut inners = Inners::new(if at_end {
            Shares::ascending(total, C::Geometry::INNER)
        } else {
            Shares::even(total, C::Geometry::INNER)
        });
        if let Some(Helper::Before(Node::Inner(inner))) = helper {
            inners.extend(*inner, 0, inner.len(), tree, pool);
            let above = left.step(depth - 1);
            inners.end_at(above.node.pivot(above.at - 1));
        }
        inners.extend(first, 0, children.first, tree, pool);
        items.iter().for_each(|item| inners.push(item, tree, pool));
        // The range of removed children now belongs to the item before it, if there are no new
        // items.
        inners.end_at(right.end_of(depth, children.last));
        inners.extend(last, children.last + 1, last.len(), tree, pool);
        let mut max = right.end_of(depth, last.len() - 1);
        if let Some(Helper::After(Node::Inner(inner))) = helper {
            inners.end_at(max);
            inners.extend(*inner, 0, inner.len(), tree, pool);
            let above = right.step(depth - 1);
            max = right.end_of(depth - 1, above.at + 1);
        }
        let items = inners.finish(max, tree, pool);
        (0..items.len()).for_each(|_| self.count.count(Event::NodeStore));
        items
    }

    /// Makes a copy of a node, which ends at `max`, with `items` in place of some children.
    fn copy_inner(
        &mut self,
        old: Ptr<'a, Inner<C::Geometry>>,
        children: Stretch,
        items: &Items<'a, C::Geometry>,
        max: u64,
    ) -> Items<'a, C::Geometry> {
        let new = self.pool.inner(self.tree);
        new.append(old.get(), 0, children.first);
        items.iter().for_each(|item| new.push(item));
        if let Some(before) = new.len().checked_sub(1) {
            // The range of removed children now belongs to the child before it, if there are no new
            // items.
            new.set_pivot(before, old.pivot(children.last));
        }
        new.append(old.get(), children.last + 1, old.len() - children.last - 1);
        new.close();
        self.count.count(Event::NodeStore);
        let mut copied = Items::new();
        copied.push(Item {
            node: Node::Inner(new),
            pivot: max,
            gap: new.largest_gap(),
        });
        copied
    }

    /// Makes the remaining node the root.
    fn plant_items(&mut self, items: &Items<'a, C::Geometry>) {
        let mut items_left = items.iter();
        let Some(only) = items_left.next() else {
            self.tree.root.clear();
            self.tree.set_largest_gap(0);
            return;
        };
        let mut root = only;
        if items_left.next().is_some() {
            self.count.count(Event::NodeStore);
            let inner = self.pool.inner(self.tree);
            items.iter().for_each(|item| inner.push(item));
            inner.close();
            root = Item {
                node: Node::Inner(inner),
                pivot: u64::MAX,
                gap: inner.largest_gap(),
            };
        }
        while let Node::Inner(inner) = root.node {
            let child = inner.get().link(0).load();
            let Some(child) = child.filter(|_| inner.len() == 1) else {
                break;
            };
            self.pool.give_up(root.node);
            root.node = child;
        }
        self.tree.root.publish(root.node);
        self.tree.set_largest_gap(root.gap);
    }
}
