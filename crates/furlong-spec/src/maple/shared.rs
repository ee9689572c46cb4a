//! The library's tree with readers, as a subject. Every look-up runs under a guard.
#![forbid(unsafe_code)]

use furlong::addr::VirtAddr;
use furlong::check::Check;
use furlong::maple::{
    Config, EraseError, InsertError, RcuMaple, ResizeError, Retire, StoreError, View,
};
use furlong::rcu::{Domain, Rcu, RcuBox};
use furlong::sync::SpinLock;

use super::operation::{Operation, Outcome, Refusal};
use super::tree::{Value, answer, ends, extent, occupied};
use crate::Subject;

impl Value for RcuBox<u32> {
    fn of(number: u32) -> Self {
        Self::new(number)
    }

    fn number(&self) -> u32 {
        **self
    }

    fn lent(entry: &u32) -> u32 {
        *entry
    }
}

/// A tree with readers, in a domain that is polled occasionally.
#[derive(Debug)]
pub struct SharedTree<E: Value + Retire, C: Config> {
    /// The tree.
    pub map: RcuMaple<VirtAddr, E, &'static Domain, SpinLock, C>,
    changes: usize,
}

/// The domain of all these trees.
pub static RCU: Domain = Domain::new();

impl<E: Value + Retire, C: Config> SharedTree<E, C> {
    /// An empty tree.
    #[must_use]
    pub fn new() -> Self {
        Self {
            map: RcuMaple::with_config(&RCU, SpinLock::new()),
            changes: 0,
        }
    }

    /// Carries out an operation that takes the lock; `None` for other operations.
    pub fn change(&mut self, operation: &Operation) -> Option<Outcome> {
        const NO_MEMORY: Outcome = Outcome::Refused(Refusal::NoMemory);
        let mut session = self.map.lock();
        Some(match *operation {
            Operation::Insert(start, last, value) => {
                match session.insert(extent(start, last), E::of(value)) {
                    Ok(()) => Outcome::Pieces(vec![]),
                    Err(InsertError::Occupied { conflict, .. }) => occupied(conflict),
                    Err(InsertError::NoMemory { .. }) => NO_MEMORY,
                }
            }
            Operation::Store(start, last, value) => {
                match session.store(extent(start, last), E::of(value)) {
                    Ok(removed) => pieces(removed.map(|(at, entry)| (ends(at), entry.number()))),
                    Err(StoreError::NoMemory { .. } | StoreError::NoSplit { .. }) => NO_MEMORY,
                }
            }
            Operation::Erase(index) => match session.erase(VirtAddr::new(index)) {
                Ok(found) => pieces(
                    found
                        .into_iter()
                        .map(|(at, entry)| (ends(at), entry.number())),
                ),
                Err(_) => NO_MEMORY,
            },
            Operation::EraseRange(start, last) => match session.erase_range(extent(start, last)) {
                Ok(removed) => pieces(removed.map(|(at, entry)| (ends(at), entry.number()))),
                Err(EraseError::NoMemory | EraseError::NoSplit) => NO_MEMORY,
            },
            Operation::Resize(index, start, last) => {
                match session.resize(VirtAddr::new(index), extent(start, last)) {
                    Ok(()) => Outcome::Pieces(vec![]),
                    Err(ResizeError::Vacant) => Outcome::Refused(Refusal::Vacant),
                    Err(ResizeError::Occupied(conflict)) => occupied(conflict),
                    Err(ResizeError::NoMemory) => NO_MEMORY,
                }
            }
            Operation::LowestGap(size, lo, hi) => {
                Outcome::Room(session.lowest_gap(size, extent(lo, hi)).map(ends))
            }
            Operation::HighestGap(size, lo, hi) => {
                Outcome::Room(session.highest_gap(size, extent(lo, hi)).map(ends))
            }
            Operation::LargestGap => Outcome::Length(session.largest_gap()),
            _ => return None,
        })
    }
}

fn pieces(removed: impl Iterator<Item = ((u64, u64), u32)>) -> Outcome {
    Outcome::Pieces(
        removed
            .map(|((start, last), value)| (start, last, value))
            .collect(),
    )
}

impl<E: Value + Retire, C: Config> Default for SharedTree<E, C> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E: Value + Retire, C: Config> Subject for SharedTree<E, C> {
    type Operation = Operation;
    type Outcome = Outcome;

    fn apply(&mut self, operation: &Operation) -> Outcome {
        self.changes += 1;
        if self.changes.is_multiple_of(16) {
            RCU.poll(usize::MAX);
        }
        if let Some(outcome) = self.change(operation) {
            return outcome;
        }
        let reader = RCU.register().expect("a test has few threads");
        let guard = reader.enter();
        let view: View<'_, _, E, C> = self.map.read(&guard);
        answer(view, operation)
    }

    fn check(&self) -> Result<(), String> {
        self.map.check().map_err(|broken| broken.to_string())
    }
}
