//! The standard library's `BTreeMap`, as a peer for comparison.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::ops::Bound;

use furlong::iova::{GapSummary, Reserved};

use super::model::{gap, measure};
use super::{Operation, Outcome};
use crate::Subject;

/// A map from last addresses to nodes. It keeps no summary; that is computed on request.
#[derive(Clone, Debug)]
pub struct MapTree {
    items: Vec<Reserved>,
    map: BTreeMap<u64, usize>,
}

impl MapTree {
    /// An empty map, with two nodes for each of `extents`.
    #[must_use]
    pub fn new(extents: &[Reserved]) -> Self {
        Self {
            items: [extents, extents].concat(),
            map: BTreeMap::new(),
        }
    }

    fn is_linked(&self, node: usize) -> bool {
        self.map.get(&self.items[node].last) == Some(&node)
    }

    fn insert(&mut self, node: usize) -> Outcome {
        let key = self.items[node].last;
        match self.map.get(&key) {
            Some(linked) if *linked == node => Outcome::Linked,
            Some(twin) => Outcome::Occupied(*twin),
            None => {
                self.map.insert(key, node);
                Outcome::Done
            }
        }
    }

    fn remove(&mut self, node: usize) -> Outcome {
        if !self.is_linked(node) {
            return Outcome::NotLinked;
        }
        self.map.remove(&self.items[node].last);
        Outcome::Done
    }

    fn next(&self, node: usize) -> Option<usize> {
        let behind = (Bound::Excluded(self.items[node].last), Bound::Unbounded);
        let next = || self.map.range(behind).next().map(|(_, next)| *next);
        self.is_linked(node).then(next).flatten()
    }

    fn prev(&self, node: usize) -> Option<usize> {
        let previous = || {
            self.map
                .range(..self.items[node].last)
                .next_back()
                .map(|(_, node)| *node)
        };
        self.is_linked(node).then(previous).flatten()
    }

    fn remove_from(&mut self, key: u64, count: usize) -> Outcome {
        let keys: Vec<u64> = self
            .map
            .range(key..)
            .take(count)
            .map(|(key, _)| *key)
            .collect();
        Outcome::Nodes(keys.iter().filter_map(|key| self.map.remove(key)).collect())
    }

    fn summary(&self) -> Option<GapSummary> {
        let extents = || self.map.values().map(|node| self.items[*node]);
        let neighbours = extents().zip(extents().skip(1));
        let gaps = neighbours.map(|(low, high)| gap(low, high));
        Some(GapSummary {
            first: extents().next()?.start,
            last: extents().next_back()?.last,
            gap: measure(gaps),
        })
    }
}

impl Subject for MapTree {
    type Operation = Operation;
    type Outcome = Outcome;

    fn apply(&mut self, operation: &Operation) -> Outcome {
        let map = &self.map;
        let first = |mut range: std::collections::btree_map::Range<'_, u64, usize>| {
            Outcome::Node(range.next().map(|(_, node)| *node))
        };
        match *operation {
            Operation::Insert(node)
            | Operation::InsertBefore(node)
            | Operation::InsertAfter(node) => self.insert(node),
            Operation::Remove(node) => self.remove(node),
            Operation::RemoveFrom(key, count) => self.remove_from(key, count),
            Operation::Update(node, start) => {
                self.items[node].start = start;
                Outcome::Done
            }
            Operation::Clear => {
                self.map.clear();
                Outcome::Done
            }
            Operation::Find(key) => Outcome::Node(map.get(&key).copied()),
            Operation::LowerBound(key) => first(map.range(key..)),
            Operation::UpperBound(key) => {
                first(map.range((Bound::Excluded(key), Bound::Unbounded)))
            }
            Operation::First => Outcome::Node(map.first_key_value().map(|(_, node)| *node)),
            Operation::Last => Outcome::Node(map.last_key_value().map(|(_, node)| *node)),
            Operation::Next(node) => Outcome::Node(self.next(node)),
            Operation::Prev(node) => Outcome::Node(self.prev(node)),
            Operation::Forward => Outcome::Nodes(map.values().copied().collect()),
            Operation::Backward => Outcome::Nodes(map.values().rev().copied().collect()),
            Operation::Summary => Outcome::Summary(self.summary()),
        }
    }

    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}
