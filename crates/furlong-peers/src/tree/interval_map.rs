//! iset: a red-black tree in a vector, each node with the ends of its subtree. It is the only one
//! of these trees that recomputes something on the path to the root.

use std::ops::Range;

use furlong_experiments_devices::ordered::{Ordered, node_of};
use furlong_lab::model::Failure;
use furlong_spec::tree::page;
use iset::IntervalMap;

/// A map of half-open intervals.
#[derive(Clone, Default)]
pub struct Overlaps(IntervalMap<u64, ()>);

#[inline(always)]
fn interval(node: u32) -> Range<u64> {
    let page = page(node);
    page.start..page.last + 1
}

impl Ordered for Overlaps {
    fn new(nodes: usize) -> Self {
        Self(IntervalMap::with_capacity(nodes))
    }

    #[inline(always)]
    fn insert(&mut self, node: u32) {
        self.0.insert(interval(node), ());
    }

    #[inline(always)]
    fn remove(&mut self, node: u32) {
        self.0.remove(interval(node)).expect("the key is there");
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    fn copy(&self) -> Self {
        self.clone()
    }

    fn copy_from(&mut self, other: &Self) {
        self.0.clone_from(&other.0);
    }

    fn nodes(&self) -> Result<Vec<u32>, Failure> {
        let all = self.0.intervals(..);
        all.map(|interval| node_of(interval.start, interval.end - 1))
            .collect()
    }
}
