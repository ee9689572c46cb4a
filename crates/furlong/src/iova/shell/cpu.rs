//! A CPU's part of a domain.
#![forbid(unsafe_code)]

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::class::{CLASSES, Class, Wanted};
use super::handful::Handful;
use super::magazine::{Entry, Shelf};
use super::traffic::{DomainCounters, Event};
use crate::iova::ring::{Ring, TokenSlot};

/// Keeps a value out of others' cache lines: two, since some processors fetch lines in pairs.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Padded<T>(pub(super) T);

/// Where freed extents go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sink {
    /// The magazines, for those of a class, and the tree for others.
    Magazines,
    /// The tree, where anybody can get them.
    Tree,
}

/// What a CPU has: magazines of each size class, and tokens that wait for a flush.
#[derive(Debug)]
pub(super) struct Part<K> {
    pub(super) shelves: [Shelf; CLASSES],
    pub(super) ring: Ring<Box<[TokenSlot]>>,
    /// Tokens that were issued here and redeemed here; only the sums over all CPUs say something.
    pub(super) issued: u64,
    pub(super) redeemed: u64,
    pub(super) counters: K,
}

impl<K: DomainCounters> Part<K> {
    /// An empty one whose quarantine holds so many tokens; `None` if there is no memory.
    pub(super) fn try_new(quarantine: usize, high_water: usize) -> Option<Self> {
        let mut slots = Vec::new();
        slots.try_reserve_exact(quarantine).ok()?;
        slots.resize(quarantine, TokenSlot::EMPTY);
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

    /// Takes tokens with numbers below `end` out of quarantine, as redeemed: those of a class into
    /// the magazines if they may, the others into `handful`, until that is full. Returns one that
    /// was to go into a magazine and found no place.
    pub(super) fn redeem_below(
        &mut self,
        end: u64,
        sink: Sink,
        handful: &mut Handful,
    ) -> Option<(Class, Entry)> {
        while !handful.is_full() {
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
                None => handful.add(token),
            }
        }
        None
    }
}
