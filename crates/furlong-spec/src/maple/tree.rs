//! The library's tree as a subject.
#![forbid(unsafe_code)]

use std::sync::Arc;

use furlong::addr::{Address, Extent, VirtAddr};
use furlong::check::Check;
use furlong::maple::{Config, InsertError, Maple, Place, ResizeError, Split, View};

use super::operation::{Operation, Outcome, Piece, Refusal};
use crate::Subject;

/// An entry that represents a number.
pub trait Value: Split {
    /// The entry for a number.
    fn of(number: u32) -> Self;
    /// The number of an entry.
    fn number(&self) -> u32;
    /// The number of a borrowed entry.
    fn lent(entry: Self::Ref<'_>) -> u32;
}

impl Value for u32 {
    fn of(number: u32) -> Self {
        number
    }

    fn number(&self) -> u32 {
        *self
    }

    fn lent(entry: Self) -> u32 {
        entry
    }
}

impl Value for Arc<u32> {
    fn of(number: u32) -> Self {
        Self::new(number)
    }

    fn number(&self) -> u32 {
        **self
    }

    fn lent(entry: Self::Ref<'_>) -> u32 {
        *entry
    }
}

/// A tree with one owner.
#[derive(Debug)]
pub struct Tree<E: Value, C: Config>(pub Maple<VirtAddr, E, C>);

impl<E: Value, C: Config> Tree<E, C> {
    /// An empty tree.
    #[must_use]
    pub fn new() -> Self {
        Self(Maple::with_config())
    }
}

impl<E: Value, C: Config> Default for Tree<E, C> {
    fn default() -> Self {
        Self::new()
    }
}

/// The extent from `start` to `last`, both included.
pub(super) fn extent(start: u64, last: u64) -> Extent<VirtAddr> {
    Extent::from_last(VirtAddr::new(start), VirtAddr::new(last)).expect("streams order them")
}

pub(super) fn ends(extent: Extent<VirtAddr>) -> (u64, u64) {
    (extent.start().raw(), extent.last().raw())
}

fn lent<E: Value>((at, entry): (Extent<VirtAddr>, E::Ref<'_>)) -> Piece {
    let (start, last) = ends(at);
    (start, last, E::lent(entry))
}

fn occupied(conflict: Extent<VirtAddr>) -> Outcome {
    let (start, last) = ends(conflict);
    Outcome::Refused(Refusal::Occupied(start, last))
}

const NO_MEMORY: Outcome = Outcome::Refused(Refusal::NoMemory);

/// The outcome of an insertion.
pub(super) fn inserted<E>(inserted: &Result<(), InsertError<VirtAddr, E>>) -> Outcome {
    match inserted {
        Ok(()) => Outcome::Pieces(vec![]),
        Err(InsertError::Occupied { conflict, .. }) => occupied(*conflict),
        Err(InsertError::NoMemory { .. }) => NO_MEMORY,
    }
}

/// The outcome of a change that displaces entries and is refused only for lack of memory.
pub(super) fn displaced<T, E>(
    displaced: Result<impl IntoIterator<Item = (Extent<VirtAddr>, T)>, E>,
    number: impl Fn(&T) -> u32,
) -> Outcome {
    let piece = |(at, entry)| {
        let (start, last) = ends(at);
        (start, last, number(&entry))
    };
    displaced.map_or(NO_MEMORY, |all| {
        Outcome::Pieces(all.into_iter().map(piece).collect())
    })
}

/// The outcome of a change of an entry's extent.
pub(super) fn resized(resized: Result<(), ResizeError<VirtAddr>>) -> Outcome {
    match resized {
        Ok(()) => Outcome::Pieces(vec![]),
        Err(ResizeError::Vacant) => Outcome::Refused(Refusal::Vacant),
        Err(ResizeError::Occupied(conflict)) => occupied(conflict),
        Err(ResizeError::NoMemory) => NO_MEMORY,
    }
}

/// The outcome of a look-up in a tree.
pub(super) fn answer<E: Value, C: Config>(
    view: View<'_, VirtAddr, E, C>,
    operation: &Operation,
) -> Outcome {
    let pieces = |found: Option<_>| Outcome::Pieces(found.into_iter().map(lent::<E>).collect());
    match *operation {
        Operation::Walk(index) => {
            let loaded = view.get(VirtAddr::new(index)).map(lent::<E>);
            match view.walk(VirtAddr::new(index)) {
                Place::Gap(at) => {
                    assert_eq!(loaded, None, "a walk found a gap");
                    Outcome::Gap(ends(at).0, ends(at).1)
                }
                Place::Entry(at, entry) => {
                    let piece = lent::<E>((at, entry));
                    assert_eq!(loaded, Some(piece), "a walk found another entry");
                    Outcome::Pieces(vec![piece])
                }
            }
        }
        Operation::Find(index) => pieces(view.find(VirtAddr::new(index))),
        Operation::FindBack(index) => pieces(view.find_back(VirtAddr::new(index))),
        Operation::Range(start, last) => {
            Outcome::Pieces(view.range(extent(start, last)).map(lent::<E>).collect())
        }
        Operation::RangeBack(start, last) => Outcome::Pieces(
            view.range_back(extent(start, last))
                .map(lent::<E>)
                .collect(),
        ),
        _ => Outcome::Room(None),
    }
}

impl<E: Value, C: Config> Subject for Tree<E, C> {
    type Operation = Operation;
    type Outcome = Outcome;

    fn apply(&mut self, operation: &Operation) -> Outcome {
        match *operation {
            Operation::Insert(start, last, value) => {
                inserted(&self.0.insert(extent(start, last), E::of(value)))
            }
            Operation::Store(start, last, value) => {
                let stored = self.0.store(extent(start, last), E::of(value));
                displaced(stored, E::number)
            }
            Operation::Erase(index) => displaced(self.0.erase(VirtAddr::new(index)), E::number),
            Operation::EraseRange(start, last) => {
                displaced(self.0.erase_range(extent(start, last)), E::number)
            }
            Operation::Resize(index, start, last) => {
                resized(self.0.resize(VirtAddr::new(index), extent(start, last)))
            }
            Operation::LowestGap(size, lo, hi) => {
                Outcome::Room(self.0.lowest_gap(size, extent(lo, hi)).map(ends))
            }
            Operation::HighestGap(size, lo, hi) => {
                Outcome::Room(self.0.highest_gap(size, extent(lo, hi)).map(ends))
            }
            Operation::LargestGap => Outcome::Length(self.0.largest_gap()),
            _ => answer(self.0.view(), operation),
        }
    }

    fn check(&self) -> Result<(), String> {
        self.0.check().map_err(|broken| broken.to_string())
    }
}
