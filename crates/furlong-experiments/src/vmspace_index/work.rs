//! Work of an index, in the units of the experiment.

use std::ops::{Add, AddAssign, Sub};

use furlong::maple::{self, Event};
use furlong::rbtree;

/// Work of an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Nodes visited.
    pub visits: u64,
    /// Nodes written anew; in a red-black tree, nodes whose summary was recomputed.
    pub node_stores: u64,
    /// Words stored in place.
    pub slot_stores: u64,
    /// Nodes split into two or three.
    pub splits: u64,
    /// Stores that span more than one leaf.
    pub spanning_stores: u64,
}

impl Work {
    /// The counts per operation, by name of the metric.
    pub(super) fn metrics(self, operations: u64) -> [(&'static str, f64); 5] {
        let per_op = |count: u64| count as f64 / operations as f64;
        [
            ("nodes_visited_per_op", per_op(self.visits)),
            ("node_stores", per_op(self.node_stores)),
            ("slot_stores", per_op(self.slot_stores)),
            ("splits", per_op(self.splits)),
            ("spanning_stores", per_op(self.spanning_stores)),
        ]
    }

    /// Applies `op` to each pair of counts: their sum or difference.
    fn each(self, other: Self, op: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            visits: op(self.visits, other.visits),
            node_stores: op(self.node_stores, other.node_stores),
            slot_stores: op(self.slot_stores, other.slot_stores),
            splits: op(self.splits, other.splits),
            spanning_stores: op(self.spanning_stores, other.spanning_stores),
        }
    }
}

impl Add for Work {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        self.each(other, |one, other| one + other)
    }
}

impl Sub for Work {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self.each(other, |one, other| one - other)
    }
}

impl AddAssign for Work {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// Counters that can be converted to work.
pub(super) trait Counted {
    /// Counts so far.
    fn work(&self) -> Work;
}

impl Counted for rbtree::Off {
    fn work(&self) -> Work {
        Work::default()
    }
}

impl Counted for rbtree::Tally {
    fn work(&self) -> Work {
        Work {
            visits: self.visits(),
            node_stores: self.augmentations(),
            ..Work::default()
        }
    }
}

impl Counted for maple::Off {
    fn work(&self) -> Work {
        Work::default()
    }
}

impl Counted for maple::Tally {
    fn work(&self) -> Work {
        Work {
            visits: self.of(Event::Visit),
            node_stores: self.of(Event::NodeStore),
            slot_stores: self.of(Event::SlotStore),
            splits: self.of(Event::Split),
            spanning_stores: self.of(Event::SpanningStore),
        }
    }
}
