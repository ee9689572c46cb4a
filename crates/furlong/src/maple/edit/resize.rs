//! Changes of an entry's extent, and moves of one end of it in place.

use crate::maple::node::leaf::Kind;
use crate::maple::{Config, Counters, Cut, Event, Slot, Spot, Write};

/// The reason why an entry was not resized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotResized {
    Vacant,
    Occupied(Slot),
    NoMemory,
}

impl<'a, C: Config, const READERS: bool> Write<'a, C, READERS> {
    /// Makes the entry that contains `index` reach from `start` to `last`.
    pub(crate) fn resize(&mut self, index: u64, start: u64, last: u64) -> Result<(), NotResized> {
        let mut spot = Spot::new();
        if !self.tree.descend_to(index, &mut spot, self.count) {
            return Err(NotResized::Vacant);
        }
        let mut at = spot.leaf().rank(index);
        let found = spot
            .leaf()
            .entry_from(at)
            .filter(|(_, old)| old.start <= index);
        let Some((own, old)) = found else {
            return Err(NotResized::Vacant);
        };
        if index < start || last < index {
            return Err(NotResized::Occupied(old));
        }
        if (start, last) == (old.start, old.last) {
            return Ok(());
        }
        let is_moved = if start == old.start {
            self.move_last(&spot, own, last)
        } else {
            last == old.last && self.move_start(&spot, own, start)
        };
        if is_moved {
            return Ok(());
        }
        self.is_free(&spot, (own, old), start, last)?;
        let new = Slot { start, last, ..old };
        let lowered = start < spot.min;
        if lowered {
            // The indices between belong to the leaf before, and have no entry.
            self.move_min(&spot, start);
            let moved = self.descend(index);
            let Some(moved) = moved else { return Ok(()) };
            spot = moved;
            at = spot.leaf().rank(index);
        }
        // Erased slots that the new extent would reach are removed with it.
        let (mut from, mut to) = (at, at + 1);
        while from > 0
            && spot.leaf().word(from - 1).is_none()
            && spot.leaf().last(from - 1) >= start
        {
            from -= 1;
        }
        while to < spot.leaf().len()
            && spot.leaf().word(to).is_none()
            && spot.leaf().start(to) <= last
        {
            to += 1;
        }
        let mut cut = Cut::resizing(from, to, new);
        let mut lowering = Lowering {
            write: self,
            back: lowered.then_some((&spot, old.start)),
        };
        let applied = lowering.write.apply(&spot, &spot, &mut cut, |_| None);
        if applied.is_ok() {
            lowering.back = None;
        }
        applied.map_err(|_| NotResized::NoMemory)
    }

    /// Checks that there is no entry except `old`, in slot `at`, from `start` to `last`.
    fn is_free(
        &self,
        spot: &Spot<'_, C::Geometry>,
        (at, old): (usize, Slot),
        start: u64,
        last: u64,
    ) -> Result<(), NotResized> {
        if start < old.start {
            let before = spot.leaf().entry_before(at).map(|(_, slot)| slot);
            // The next entry down is in the leaf before, unless this leaf is the first.
            let before = before.or_else(|| self.tree.upto(spot.min.checked_sub(1)?, self.count));
            let in_the_way = before.filter(|before| start <= before.last);
            in_the_way.map_or(Ok(()), |slot| Err(NotResized::Occupied(slot)))?;
        }
        if last > old.last {
            let next = match spot.leaf().entry_from(at + 1) {
                // A leaf that is not the first begins with an entry (I5).
                None if spot.max < last => self.tree.load(spot.max + 1, self.count),
                next => next.map(|(_, slot)| slot),
            };
            let in_the_way = next.filter(|next| next.start <= last);
            in_the_way.map_or(Ok(()), |slot| Err(NotResized::Occupied(slot)))?;
        }
        Ok(())
    }
}

/// A leaf whose start is lowered, for an entry that is to begin there. If this is dropped before
/// the entry is resized, also by a panic of the source, the start is restored.
struct Lowering<'w, 's, 'a, C: Config, const READERS: bool> {
    write: &'w mut Write<'a, C, READERS>,
    back: Option<(&'s Spot<'a, C::Geometry>, u64)>,
}

impl<C: Config, const READERS: bool> Drop for Lowering<'_, '_, '_, C, READERS> {
    fn drop(&mut self) {
        if let Some((spot, start)) = self.back {
            self.write.move_min(spot, start);
        }
    }
}

/// Moves of one end of an entry in place, over indices that are free or become free. Heaps, stacks,
/// and mappings that extend a neighbour mostly need this. The result equals that of a [`Cut`] of
/// one slot.
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
            self.update_gaps(spot);
        }
    }
}
