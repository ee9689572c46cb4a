//! The library's tree with readers, as a subject. Every look-up runs under a guard.
#![forbid(unsafe_code)]

use furlong::addr::VirtAddr;
use furlong::check::Check;
use furlong::maple::{Config, RcuMaple, Retire, View};
use furlong::rcu::{Domain, Rcu, RcuBox};
use furlong::sync::SpinLock;

use super::operation::{Operation, Outcome};
use super::tree::{Value, answer, displaced, ends, extent, inserted, resized};
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
        let mut session = self.map.lock();
        Some(match *operation {
            Operation::Insert(start, last, value) => {
                inserted(&session.insert(extent(start, last), E::of(value)))
            }
            Operation::Store(start, last, value) => {
                let stored = session.store(extent(start, last), E::of(value));
                displaced(stored, |entry| entry.number())
            }
            Operation::Erase(index) => {
                displaced(session.erase(VirtAddr::new(index)), |entry| entry.number())
            }
            Operation::EraseRange(start, last) => {
                let erased = session.erase_range(extent(start, last));
                displaced(erased, |entry| entry.number())
            }
            Operation::Resize(index, start, last) => {
                resized(session.resize(VirtAddr::new(index), extent(start, last)))
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
