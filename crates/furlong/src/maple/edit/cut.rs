//! The slots that a change replaces, and their replacement.

use crate::maple::{EraseError, Geometry, Slot, Spot, Word};

/// The replacement of the slots `from..to`. `from` is a slot of the left leaf and `to` one of the
/// right leaf; both may be the same leaf.
pub(crate) struct Cut {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) pieces: [Option<Slot>; 3],
    /// The number of entries wholly inside the stored extent.
    pub(super) covered: usize,
    /// True if two of the pieces are the ends of one entry, and the last still needs an entry of
    /// its own.
    pub(crate) splits: bool,
}

impl Cut {
    /// Removes the slots `from..to`, of which `covered` have entries.
    pub(super) fn erasing(from: usize, to: usize, covered: usize) -> Self {
        Self {
            from,
            to,
            pieces: [None; 3],
            covered,
            splits: false,
        }
    }

    /// Replaces the slots `from..to`, one of which has the entry of `new`, by `new`.
    pub(super) fn resizing(from: usize, to: usize, new: Slot) -> Self {
        Self {
            pieces: [None, Some(new), None],
            ..Self::erasing(from, to, 0)
        }
    }

    #[inline(always)]
    pub(crate) fn pieces(&self) -> impl Iterator<Item = Slot> {
        self.pieces.into_iter().flatten()
    }

    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.pieces
            .iter()
            .map(|piece| usize::from(piece.is_some()))
            .sum()
    }

    /// Makes a separate entry for the upper part of an entry that is cut in two.
    ///
    /// # Errors
    /// `split` returned no entry; nothing has changed.
    pub(crate) fn split(
        &mut self,
        split: impl FnOnce(Word) -> Option<Word>,
    ) -> Result<(), EraseError> {
        let upper = self.pieces[2].as_mut().ok_or(EraseError::NoSplit)?;
        upper.word = split(upper.word).ok_or(EraseError::NoSplit)?;
        self.splits = false;
        Ok(())
    }

    /// True if nothing is left of this entry, which lies in the cut.
    pub(crate) fn covers(&self, slot: &Slot) -> bool {
        let [lower, _, upper] = self.pieces;
        lower.is_none_or(|lower| lower.start != slot.start)
            && upper.is_none_or(|upper| upper.last != slot.last)
    }

    /// True if leaves that are given up contain displaced entries.
    pub(crate) fn displaces(&self) -> bool {
        self.covered > 0
    }

    /// The cut of a store inside one leaf, which starts in slot `from` or in the gap before it.
    #[inline(always)]
    pub(crate) fn inside<G: Geometry>(
        spot: &Spot<'_, G>,
        from: usize,
        (start, last): (u64, u64),
        new: Option<Slot>,
    ) -> Self {
        let leaf = spot.leaf();
        let len = leaf.len();
        let mut cut = Self::erasing(from, from, 0);
        cut.pieces[1] = new;
        while cut.to < len && leaf.start(cut.to) <= last {
            if let Some(old) = leaf.read(cut.to) {
                let (lower, upper) = parts(old, start, last);
                cut.covered += usize::from(lower.is_none() && upper.is_none());
                cut.splits = lower.is_some() && upper.is_some();
                cut.pieces[0] = cut.pieces[0].or(lower);
                cut.pieces[2] = upper;
            }
            cut.to += 1;
        }
        cut
    }

    /// The cut of a store that spans leaves, from the left one to the right one.
    pub(crate) fn between<G: Geometry>(
        left: &Spot<'_, G>,
        right: &Spot<'_, G>,
        start: u64,
        last: u64,
        new: Option<Slot>,
    ) -> Self {
        let from = left.leaf().rank(start);
        let mut to = right.leaf().rank(last);
        if to < right.leaf().len() && right.leaf().start(to) <= last {
            to += 1;
        }
        let first = if from < left.leaf().len() {
            left.leaf().read(from)
        } else {
            None
        };
        let end = to.checked_sub(1).and_then(|at| right.leaf().read(at));
        let mut cut = Self::erasing(from, to, usize::MAX);
        cut.pieces = [
            first.and_then(|old| parts(old, start, last).0),
            new,
            end.and_then(|old| parts(old, start, last).1),
        ];
        cut
    }
}

/// The parts of `old` below and above a store from `start` to `last`.
fn parts(old: Slot, start: u64, last: u64) -> (Option<Slot>, Option<Slot>) {
    let lower = (old.start < start).then(|| Slot {
        last: start - 1,
        ..old
    });
    let upper = (old.last > last).then(|| Slot {
        start: last + 1,
        ..old
    });
    (lower, upper)
}
