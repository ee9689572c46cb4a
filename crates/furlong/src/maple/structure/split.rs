//! Splits of full leaves that stay: a new leaf is put behind.

use super::build::{Items, Shares};
use crate::maple::{
    Config, Counters, Cut, Event, Geometry, Item, Leaf, Node, Ptr, Slot, Spot, Write,
};

impl<'a, C: Config, const READERS: bool> Write<'a, C, READERS> {
    /// Keeps a full leaf as it is, and puts the new entry into a leaf behind it.
    pub(super) fn leaf_behind(
        &mut self,
        spot: &Spot<'a, C::Geometry>,
        cut: &Cut,
    ) -> Items<'a, C::Geometry> {
        let upper = self.pool.leaf(self.tree);
        cut.pieces().for_each(|new| upper.put(0, new));
        upper.close(1);
        self.count.count(Event::NodeStore);
        self.one_behind(spot, upper)
    }

    /// Keeps the lower half in the full leaf, in place, and moves the upper half to a leaf behind
    /// it. The new entry goes to either. Not beside readers.
    pub(super) fn halves(
        &mut self,
        spot: &Spot<'a, C::Geometry>,
        cut: &Cut,
    ) -> Items<'a, C::Geometry> {
        let (lower, upper) = (spot.leaf(), self.pool.leaf(self.tree));
        cut.pieces()
            .for_each(|new| halve(lower.get(), upper.get(), cut.from, new));
        self.count.count(Event::NodeStore);
        self.count.count(Event::NodeStore);
        self.one_behind(spot, upper)
    }

    /// A leaf that stays, and one behind it.
    fn one_behind(
        &self,
        spot: &Spot<'a, C::Geometry>,
        upper: Ptr<'a, Leaf<C::Geometry>>,
    ) -> Items<'a, C::Geometry> {
        let (lower, max) = (spot.leaf(), upper.start(0) - 1);
        let mut items = Items::new();
        items.push(Item {
            node: Node::Leaf(lower),
            pivot: max,
            gap: lower.largest_gap(max),
        });
        items.push(Item {
            node: Node::Leaf(upper),
            pivot: spot.max,
            gap: upper.largest_gap(spot.max),
        });
        items
    }
}

/// Distributes the entries of a full leaf, and `new` at slot `at`, over it and a leaf to be filled.
fn halve<G: Geometry>(lower: &Leaf<G>, upper: &Leaf<G>, at: usize, new: Slot) {
    let keep = Shares::even(G::LEAF + 1, G::LEAF).of(0);
    if at < keep {
        let len = G::LEAF + 1 - keep;
        upper.copy(0, lower, keep - 1, len);
        upper.close(len);
        lower.truncate(keep - 1);
        lower.shift(at, at + 1);
        lower.put(at, new);
    } else {
        upper.copy(0, lower, keep, at - keep);
        upper.put(at - keep, new);
        upper.copy(at - keep + 1, lower, at, G::LEAF - at);
        upper.close(G::LEAF + 1 - keep);
        lower.truncate(keep);
    }
}
