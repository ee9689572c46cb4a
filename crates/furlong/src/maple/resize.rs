//! Giving an entry another extent.
#![forbid(unsafe_code)]

use super::config::Config;
use super::cut::Cut;
use super::leaf::Slot;
use super::write::{Refused, Write};

/// Why an entry was not given another extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotResized {
    Vacant,
    Occupied(Slot),
    NoMemory,
}

impl<C: Config, const READERS: bool> Write<'_, C, READERS> {
    /// Lets the entry that has `index` reach from `start` to `last`.
    pub(super) fn resize(&mut self, index: u64, start: u64, last: u64) -> Result<(), NotResized> {
        let mut spot = self.descend(index).ok_or(NotResized::Vacant)?;
        let mut at = spot.leaf().rank(index);
        let found = spot
            .leaf()
            .first_from(at)
            .filter(|(_, old)| old.start <= index);
        let Some((_, old)) = found else {
            return Err(NotResized::Vacant);
        };
        if index < start || last < index {
            return Err(NotResized::Occupied(old));
        }
        if (start, last) == (old.start, old.last) {
            return Ok(());
        }
        self.is_free(old, start, last)?;
        let new = Slot { start, last, ..old };
        let lowered = start < spot.min;
        if lowered {
            // What is between belongs to the leaf before, and has no entry.
            self.move_min(&spot, start);
            let moved = self.descend(index);
            let Some(moved) = moved else { return Ok(()) };
            spot = moved;
            at = spot.leaf().rank(index);
        }
        // Erased slots that the new extent would reach go with it.
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
        match self.apply(&spot, &spot, &mut cut, |_| None) {
            Ok(()) => Ok(()),
            Err(Refused::NoMemory | Refused::NoSplit) => {
                if lowered {
                    self.move_min(&spot, old.start);
                }
                Err(NotResized::NoMemory)
            }
        }
    }

    /// Whether there is no entry but `old` from `start` to `last`.
    fn is_free(&self, old: Slot, start: u64, last: u64) -> Result<(), NotResized> {
        if start < old.start {
            let found = self.tree.walk(old.start - 1, self.count);
            self.reaches(found, start, true)?;
        }
        if last > old.last {
            let found = self.tree.walk(old.last + 1, self.count);
            self.reaches(found, last, false)?;
        }
        Ok(())
    }

    /// Whether a gap beside an entry reaches as far as `index`.
    fn reaches(
        &self,
        found: super::tree::Found,
        index: u64,
        below: bool,
    ) -> Result<(), NotResized> {
        use super::tree::Found;
        let beyond = match found {
            Found::Entry(slot) => return Err(NotResized::Occupied(slot)),
            Found::Gap { start, .. } if below => (index < start).then(|| start - 1),
            Found::Gap { last, .. } => (index > last).then(|| last + 1),
        };
        let Some(beyond) = beyond else { return Ok(()) };
        match self.tree.walk(beyond, self.count) {
            Found::Entry(slot) => Err(NotResized::Occupied(slot)),
            Found::Gap { .. } => Ok(()),
        }
    }
}
