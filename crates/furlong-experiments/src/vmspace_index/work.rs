//! Work of an index, in the units of the experiment.

use std::array;
use std::ops::{Add, AddAssign, Sub};

use furlong::maple::{self, Event};
use furlong::rbtree;

/// The exact metrics: nodes visited, nodes written anew (in a red-black tree, those with a new
/// summary), words stored in place, nodes split into two or three, and stores that span more than
/// one leaf.
const METRICS: [&str; 5] = [
    "nodes_visited_per_op",
    "node_stores",
    "slot_stores",
    "splits",
    "spanning_stores",
];

/// Work of an index: a count for each of the metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work([u64; METRICS.len()]);

impl Work {
    /// The counts per operation, by name of the metric.
    pub(super) fn metrics(self, operations: u64) -> Vec<(&'static str, f64)> {
        let per_op = self.0.map(|count| count as f64 / operations as f64);
        METRICS.into_iter().zip(per_op).collect()
    }
}

impl Add for Work {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(array::from_fn(|at| self.0[at] + other.0[at]))
    }
}

impl Sub for Work {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(array::from_fn(|at| self.0[at] - other.0[at]))
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
        Work([self.visits(), self.augmentations(), 0, 0, 0])
    }
}

impl Counted for maple::Off {
    fn work(&self) -> Work {
        Work::default()
    }
}

impl Counted for maple::Tally {
    fn work(&self) -> Work {
        let events = [
            Event::Visit,
            Event::NodeStore,
            Event::SlotStore,
            Event::Split,
            Event::SpanningStore,
        ];
        Work(events.map(|event| self.of(event)))
    }
}
