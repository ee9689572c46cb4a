//! The naive model: a sorted list, examined as a whole for every answer.
#![forbid(unsafe_code)]

use furlong::iova::{GapSummary, Largest, Reserved};

use super::{Operation, Outcome};
use crate::Subject;

/// A sorted list of nodes.
#[derive(Clone, Debug)]
pub struct Model {
    items: Vec<Reserved>,
    linked: Vec<usize>,
}

impl Model {
    /// An empty list, with two nodes for each of `extents`.
    #[must_use]
    pub fn new(extents: &[Reserved]) -> Self {
        Self {
            items: [extents, extents].concat(),
            linked: Vec::new(),
        }
    }

    /// The number of nodes, linked or not.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.items.len()
    }

    /// The extents of the linked nodes, in order.
    pub fn extents(&self) -> impl Iterator<Item = Reserved> + '_ {
        self.linked.iter().map(|node| self.items[*node])
    }

    fn position(&self, node: usize) -> Option<usize> {
        self.linked.iter().position(|linked| *linked == node)
    }

    fn first_where(&self, holds: impl Fn(u64) -> bool) -> Option<usize> {
        self.linked
            .iter()
            .copied()
            .find(|node| holds(self.items[*node].last))
    }

    fn insert(&mut self, node: usize) -> Outcome {
        if self.position(node).is_some() {
            return Outcome::Linked;
        }
        let key = self.items[node].last;
        if let Some(twin) = self.first_where(|last| last == key) {
            return Outcome::Occupied(twin);
        }
        self.linked.push(node);
        self.linked.sort_by_key(|node| self.items[*node].last);
        Outcome::Done
    }

    fn remove(&mut self, node: usize) -> Outcome {
        match self.position(node) {
            None => Outcome::NotLinked,
            Some(position) => {
                self.linked.remove(position);
                Outcome::Done
            }
        }
    }

    fn remove_from(&mut self, key: u64, count: usize) -> Outcome {
        let is_there = |node: &usize| self.items[*node].last >= key;
        let start = self
            .linked
            .iter()
            .position(is_there)
            .unwrap_or(self.linked.len());
        let end = self.linked.len().min(start + count);
        Outcome::Nodes(self.linked.drain(start..end).collect())
    }

    fn beside(&self, node: usize, step: isize) -> Outcome {
        let neighbour = |position: usize| self.linked.get(position.checked_add_signed(step)?);
        Outcome::Node(self.position(node).and_then(neighbour).copied())
    }

    fn summary(&self) -> Option<GapSummary> {
        let extents: Vec<Reserved> = self.extents().collect();
        let gaps = extents.windows(2).map(|pair| gap(pair[0], pair[1]));
        Some(GapSummary {
            first: extents.first()?.start,
            last: extents.last()?.last,
            gap: measure(gaps),
        })
    }
}

/// The start and the length of the gap between two neighbours.
pub(super) fn gap(low: Reserved, high: Reserved) -> (u64, u64) {
    (low.last + 1, high.start - low.last - 1)
}

/// The library's measure of gaps, by its definition: the longest one, and the number of powers of
/// two of which one of them holds an aligned block.
pub(super) fn measure(gaps: impl Iterator<Item = (u64, u64)>) -> Largest {
    let mut largest = Largest { len: 0, orders: 0 };
    for (start, len) in gaps {
        let (start, end) = (u128::from(start), u128::from(start) + u128::from(len));
        let holds = |order: &u32| start.next_multiple_of(1 << order) + (1 << order) <= end;
        let orders = (0..64).take_while(holds).count() as u32;
        largest.len = largest.len.max(len);
        largest.orders = largest.orders.max(orders);
    }
    largest
}

impl Subject for Model {
    type Operation = Operation;
    type Outcome = Outcome;

    fn apply(&mut self, operation: &Operation) -> Outcome {
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
                self.linked.clear();
                Outcome::Done
            }
            Operation::Find(key) => Outcome::Node(self.first_where(|last| last == key)),
            Operation::LowerBound(key) => Outcome::Node(self.first_where(|last| last >= key)),
            Operation::UpperBound(key) => Outcome::Node(self.first_where(|last| last > key)),
            Operation::First => Outcome::Node(self.linked.first().copied()),
            Operation::Last => Outcome::Node(self.linked.last().copied()),
            Operation::Next(node) => self.beside(node, 1),
            Operation::Prev(node) => self.beside(node, -1),
            Operation::Forward => Outcome::Nodes(self.linked.clone()),
            Operation::Backward => Outcome::Nodes(self.linked.iter().rev().copied().collect()),
            Operation::Summary => Outcome::Summary(self.summary()),
        }
    }

    fn check(&self) -> Result<(), String> {
        let sorted = self.extents().is_sorted_by(|a, b| a.last < b.start);
        if sorted {
            Ok(())
        } else {
            Err("the extents overlap".into())
        }
    }
}
