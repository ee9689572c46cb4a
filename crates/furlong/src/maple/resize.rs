//! Changes of an entry's extent.
#![forbid(unsafe_code)]

use super::config::Config;
use super::cut::Cut;
use super::leaf::Slot;
use super::tree::Spot;
use super::write::Write;

/// The reason why an entry was not resized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotResized {
    Vacant,
    Occupied(Slot),
    NoMemory,
}

impl<'a, C: Config, const READERS: bool> Write<'a, C, READERS> {
    /// Makes the entry that contains `index` reach from `start` to `last`.
    pub(super) fn resize(&mut self, index: u64, start: u64, last: u64) -> Result<(), NotResized> {
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
