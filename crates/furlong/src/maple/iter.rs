//! Going through entries in order.
#![forbid(unsafe_code)]

use core::fmt;

use super::config::Config;
use super::entry::Entry;
use super::geometry::Geometry;
use super::leaf::Slot;
use super::tree::{Spot, Tree};
use super::typed::{Typed, Words};
use crate::addr::{Address, Extent};

/// The slots from one index to another, in order.
pub(super) struct Scan<'a, C: Config> {
    count: &'a C::Counters,
    spot: Option<Spot<'a, C::Geometry>>,
    /// The next slot of the leaf.
    at: usize,
    /// Slots of the leaf in use.
    len: usize,
    /// What was returned ends before `from`; nothing that starts behind `last` is.
    from: u64,
    last: u64,
}

impl<'a, C: Config> Scan<'a, C> {
    pub(super) fn new(
        tree: &'a Tree<C::Geometry>,
        count: &'a C::Counters,
        from: u64,
        last: u64,
    ) -> Self {
        let spot = tree.descend(from, count);
        let (at, len) = spot
            .as_ref()
            .map_or((0, 0), |spot| (spot.leaf().rank(from), spot.leaf().len()));
        Self {
            count,
            spot,
            at,
            len,
            from,
            last,
        }
    }
}

impl<C: Config> Iterator for Scan<'_, C> {
    type Item = Slot;

    #[inline]
    fn next(&mut self) -> Option<Slot> {
        let spot = self.spot.as_mut()?;
        loop {
            while self.at < self.len {
                let slot = spot.leaf().read(self.at);
                self.at += 1;
                let Some(slot) = slot else { continue };
                if slot.start > self.last {
                    self.spot = None;
                    return None;
                }
                // Beside a writer a leaf may show what was true before the leaf ahead of it.
                if slot.last < self.from {
                    continue;
                }
                match slot.last.checked_add(1) {
                    Some(next) => self.from = next,
                    None => self.spot = None,
                }
                return Some(slot);
            }
            if !spot.next_leaf(self.count) {
                self.spot = None;
                return None;
            }
            self.at = 0;
            self.len = spot.leaf().len().min(C::Geometry::LEAF);
        }
    }
}

/// The slots from one index back to another, from the last on.
pub(super) struct ScanBack<'a, C: Config> {
    count: &'a C::Counters,
    spot: Option<Spot<'a, C::Geometry>>,
    /// Slots of the leaf before this one are still to come.
    at: usize,
    start: u64,
    upto: u64,
}

impl<'a, C: Config> ScanBack<'a, C> {
    /// Entries that start at `upto` or before, and do not end before `start`.
    pub(super) fn new(
        tree: &'a Tree<C::Geometry>,
        count: &'a C::Counters,
        start: u64,
        upto: u64,
    ) -> Self {
        let spot = tree.descend(upto, count);
        let at = spot.as_ref().map_or(0, |spot| {
            let at = spot.leaf().rank(upto);
            spot.leaf().len().min(at + 1)
        });
        Self {
            count,
            spot,
            at,
            start,
            upto,
        }
    }
}

impl<C: Config> Iterator for ScanBack<'_, C> {
    type Item = Slot;

    fn next(&mut self) -> Option<Slot> {
        let spot = self.spot.as_mut()?;
        loop {
            while self.at > 0 {
                self.at -= 1;
                let Some(slot) = spot.leaf().read(self.at) else {
                    continue;
                };
                if slot.start > self.upto {
                    continue;
                }
                if slot.last < self.start {
                    self.spot = None;
                    return None;
                }
                match slot.start.checked_sub(1) {
                    Some(before) => self.upto = before,
                    None => self.spot = None,
                }
                return Some(slot);
            }
            if !spot.previous_leaf(self.count) {
                self.spot = None;
                return None;
            }
            self.at = spot.leaf().len();
        }
    }
}

/// Entries with their extents, in order.
pub struct Iter<'a, A: Address, E: Entry, C: Config> {
    pub(super) scan: Scan<'a, C>,
    pub(super) typed: Typed<A, E>,
}

impl<'a, A: Address, E: Entry + 'a, C: Config> Iterator for Iter<'a, A, E, C> {
    type Item = (Extent<A>, E::Ref<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.scan.next().map(Words::<A, E>::lend)
    }
}

impl<A: Address, E: Entry, C: Config> fmt::Debug for Iter<'_, A, E, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Iter").finish_non_exhaustive()
    }
}

/// Entries with their extents, from the last on.
pub struct IterBack<'a, A: Address, E: Entry, C: Config> {
    pub(super) scan: ScanBack<'a, C>,
    pub(super) typed: Typed<A, E>,
}

impl<'a, A: Address, E: Entry + 'a, C: Config> Iterator for IterBack<'a, A, E, C> {
    type Item = (Extent<A>, E::Ref<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        self.scan.next().map(Words::<A, E>::lend)
    }
}

impl<A: Address, E: Entry, C: Config> fmt::Debug for IterBack<'_, A, E, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IterBack").finish_non_exhaustive()
    }
}
