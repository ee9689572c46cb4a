//! Moves of one end of an entry in place, over indices that are free or become free. Heaps, stacks,
//! and mappings that extend a neighbour mostly need this.
//!
//! The result equals that of a [`Cut`](super::cut::Cut) of one slot.
#![forbid(unsafe_code)]

use super::config::Config;
use super::counters::{Counters, Event};
use super::leaf::Kind;
#[cfg(feature = "alloc")]
use super::leaf::Slot;
use super::tree::Spot;
use super::write::Write;

impl<'a, C: Config, const READERS: bool> Write<'a, C, READERS> {
    /// Makes the entry in slot `at` end at `last`. Returns false if more than this one store is
    /// needed: the new part is not free, or readers could see more than one word change.
    #[inline(always)]
    pub(super) fn move_last(&mut self, spot: &Spot<'a, C::Geometry>, at: usize, last: u64) -> bool {
        let leaf = spot.leaf();
        let len = leaf.len();
        if !leaf.is_whole() || last < leaf.start(at) {
            return false;
        }
        let above = if at + 1 == len {
            spot.max
        } else {
            leaf.start(at + 1) - 1
        };
        if last > above || READERS && !leaf.may_store(at, Kind::Last) {
            return false;
        }
        let before = above - leaf.last(at);
        leaf.set_last(at, last);
        self.count.count(Event::SlotStore);
        if above == u64::MAX {
            self.tree.note_last(last);
        } else {
            self.moved(spot, before, above - last);
        }
        true
    }

    /// Makes the entry in slot `at`, which is not the first of its leaf, start at `start`.
    /// Otherwise as `move_last`.
    #[inline(always)]
    pub(super) fn move_start(
        &mut self,
        spot: &Spot<'a, C::Geometry>,
        at: usize,
        start: u64,
    ) -> bool {
        let leaf = spot.leaf();
        if at == 0 || !leaf.is_whole() || start > leaf.last(at) {
            return false;
        }
        let below = leaf.last(at - 1);
        if start <= below || READERS && !leaf.may_store(at, Kind::Start) {
            return false;
        }
        let before = leaf.start(at) - below - 1;
        leaf.set_start(at, start);
        self.count.count(Event::SlotStore);
        self.moved(spot, before, start - below - 1);
        true
    }

    /// Removes the indices from `start` to `last`, if they are the upper end of one entry and free
    /// indices behind it. Returns the entry as it was.
    ///
    /// # Errors
    /// The first entry that contains `start` or lies behind it, if it is in the same leaf. Nothing
    /// has changed.
    #[cfg(feature = "alloc")]
    #[inline]
    pub(super) fn cut_end(&mut self, start: u64, last: u64) -> Result<Slot, Option<Slot>> {
        let mut spot = Spot::new();
        if !self.tree.descend_to(start, &mut spot, self.count) {
            return Err(None);
        }
        let leaf = spot.leaf();
        let (at, old) = leaf.entry_from(leaf.rank(start)).ok_or(None)?;
        let is_end = old.start < start && old.last <= last && last <= spot.max;
        let is_alone = is_end && (at + 1 == leaf.len() || last < leaf.start(at + 1));
        if is_alone && self.move_last(&spot, at, start - 1) {
            return Ok(old);
        }
        Err(Some(old))
    }

    /// Notes that a gap has grown or shrunk.
    #[inline(always)]
    fn moved(&mut self, spot: &Spot<'a, C::Geometry>, before: u64, now: u64) {
        if now > before {
            self.widen(spot, now);
        } else if before >= self.gap_of(spot) {
            self.regap(spot);
        }
    }
}
