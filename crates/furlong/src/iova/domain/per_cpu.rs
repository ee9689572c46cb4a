//! A CPU's data in a domain, and batches of tokens that leave it for the tree.

use super::class::{CLASSES, Class, Wanted};
use super::magazine::{Entry, Shelf};
use super::traffic::{DomainCounters, Event};
use crate::error::reserved;
use crate::iova::quarantine::ring::Ring;
use crate::iova::quarantine::token::{Parked, Token};

/// Keeps a value in cache lines of its own: two lines, since some processors fetch them in pairs.
#[repr(align(128))]
pub(super) struct Padded<T>(pub(super) T);

/// Destination of freed extents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sink {
    /// The magazines for extents of a class, and the tree for others.
    Magazines,
    /// The tree, from which every CPU can reserve.
    Tree,
}

/// A CPU's share: magazines of each size class, and tokens that wait for a flush.
pub(super) struct PerCpu<K> {
    pub(super) shelves: [Shelf; CLASSES],
    pub(super) ring: Ring,
    /// Tokens issued and redeemed on this CPU; only the sums over all CPUs are meaningful.
    pub(super) issued: u64,
    pub(super) redeemed: u64,
    pub(super) counters: K,
}

impl<K: DomainCounters> PerCpu<K> {
    /// The data of a CPU with a quarantine of this many tokens; `None` if out of memory.
    pub(super) fn try_new(quarantine: usize, high_water: usize) -> Option<Self> {
        let mut slots = reserved(quarantine).ok()?;
        slots.resize(quarantine, Parked::EMPTY);
        Some(Self {
            shelves: [const { Shelf::EMPTY }; CLASSES],
            ring: Ring::new(slots.into_boxed_slice(), high_water),
            issued: 0,
            redeemed: 0,
            counters: K::default(),
        })
    }

    #[inline]
    pub(super) fn take(&mut self, wanted: &Wanted) -> Option<Entry> {
        let found = self.shelves[wanted.class.order()].take(wanted);
        if found.is_some() {
            self.counters.count(Event::Hit, 1);
        }
        found
    }

    #[inline]
    pub(super) fn put(&mut self, class: Class, entry: Entry) -> Result<(), Entry> {
        self.shelves[class.order()].put(entry)
    }

    /// Removes tokens with numbers below `end` from quarantine, as redeemed, until `batch` is
    /// full. Tokens of a class go into the magazines if `sink` permits, the others into `batch`.
    /// Returns the first one for which the magazines had no room.
    pub(super) fn redeem_below(
        &mut self,
        end: u64,
        sink: Sink,
        batch: &mut Batch,
    ) -> Option<(Class, Entry)> {
        while !batch.is_full() {
            let token = self.ring.take_below(end)?;
            self.redeemed += 1;
            let class = token.parked().tag.class();
            match class.filter(|_| sink == Sink::Magazines) {
                Some(class) => {
                    let put = self.put(class, Entry::of(token.parked()));
                    if let Err(entry) = put {
                        return Some((class, entry));
                    }
                }
                None => batch.add(token),
            }
        }
        None
    }
}

/// Upper limit on the extents freed under one hold of the tree's lock, apart from a magazine.
const BATCH: usize = 32;

/// A few tokens on the stack, on their way from a CPU's lock to the tree's lock.
pub(super) struct Batch {
    tokens: [Parked; BATCH],
    len: usize,
}

impl Batch {
    pub(super) const fn new() -> Self {
        Self {
            tokens: [Parked::EMPTY; BATCH],
            len: 0,
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.len == BATCH
    }

    /// Adds a token; there must be room.
    pub(super) fn add(&mut self, token: Token) {
        self.tokens[self.len] = token.into_parked();
        self.len += 1;
    }

    pub(super) fn parked(&self) -> impl Iterator<Item = &Parked> {
        self.tokens[..self.len].iter()
    }
}
