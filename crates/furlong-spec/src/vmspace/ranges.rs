//! The model's operations on a range: unmap, protect and advise.

use furlong::addr::VirtAddr;
use furlong::vmspace::{Advice, AdviseError, Flags, Prot, ProtectError, UnmapError, UpdateError};

use super::model::{Page, Run};
use super::{Gone, Model};

/// The reason that an area is not changed.
enum Stop {
    /// A page is not mapped.
    Hole,
    Refused,
    TooManyAreas,
}

impl Model {
    pub(super) fn unmap(&mut self, start: VirtAddr, len: u64) -> Result<Vec<Gone>, UnmapError> {
        if !self.is_aligned(start) {
            return Err(UnmapError::Unaligned);
        }
        let first = self.number_of(start);
        let end = first + self.count(len);
        if end > i128::from(self.world.last()) + 1 {
            return Err(UnmapError::Beyond);
        }
        if end == first {
            return Err(UnmapError::ZeroLen);
        }
        let run = self.run(first, end);
        if self.cuts_in_vain(&run) {
            return Err(UnmapError::TooManyAreas);
        }
        Ok(self.take_out(run))
    }

    /// Takes steps. A failure undoes them, unless the mode keeps the steps before it.
    pub(super) fn in_steps<T, E>(
        &mut self,
        steps: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        let before = self.clone();
        let result = steps(self);
        if result.is_err() && !self.keeps_part {
            *self = before;
        }
        result
    }

    pub(super) fn protect(
        &mut self,
        start: VirtAddr,
        len: u64,
        prot: Prot,
    ) -> Result<(), ProtectError> {
        let ways = prot.and(Prot::GROWS_DOWN | Prot::GROWS_UP);
        if ways == Prot::GROWS_DOWN | Prot::GROWS_UP {
            return Err(ProtectError::NotGrowing);
        }
        if !self.is_aligned(start) {
            return Err(ProtectError::Unaligned);
        }
        if len == 0 {
            return Ok(());
        }
        let end = self.end_of(start, len).ok_or(ProtectError::Overflow)?;
        if prot.without(ways | Prot::ALL | Prot::SEM) != Prot::NONE {
            return Err(ProtectError::UnknownProt);
        }
        let mut first = self.number_of(start);
        let next = self.next_area(first);
        let next = next.filter(|next| self.page_number(next.start) < end);
        let next = next.ok_or(ProtectError::Hole)?;
        let grows = self.page(next.start).flags.contains(Flags::GROWS_DOWN);
        if ways == Prot::GROWS_DOWN {
            if !grows {
                return Err(ProtectError::NotGrowing);
            }
            first = self.page_number(next.start);
        } else if self.page_number(next.start) > first {
            return Err(ProtectError::Hole);
        } else if ways == Prot::GROWS_UP {
            return Err(ProtectError::NotGrowing);
        }
        let known = prot.known();
        let new = |page: &mut Page| {
            page.prot = known;
            page.may.contains(known)
        };
        let changed = self.change_all(first, end, false, new);
        changed.map_err(|stop| match stop {
            Stop::Hole => ProtectError::Hole,
            Stop::Refused => ProtectError::Access,
            Stop::TooManyAreas => ProtectError::TooManyAreas,
        })
    }

    pub(super) fn advise(
        &mut self,
        start: VirtAddr,
        len: u64,
        advice: Advice,
    ) -> Result<(), AdviseError> {
        if !self.is_aligned(start) {
            return Err(AdviseError::Unaligned);
        }
        if len == 0 {
            return Ok(());
        }
        let end = self.end_of(start, len).ok_or(AdviseError::Beyond)?;
        let first = self.number_of(start);
        // Linux goes on behind a hole, and reports it in the end.
        let changed = self.change_all(first, end, true, |page| advised(page, advice));
        changed.map_err(|stop| match stop {
            Stop::Hole => AdviseError::Hole,
            Stop::Refused => AdviseError::Kind,
            Stop::TooManyAreas => AdviseError::TooManyAreas,
        })
    }

    pub(super) fn update(
        &mut self,
        start: VirtAddr,
        len: u64,
        [set, clear]: [Flags; 2],
    ) -> Result<(), UpdateError> {
        if !self.is_aligned(start) {
            return Err(UpdateError::Unaligned);
        }
        if len == 0 {
            return Ok(());
        }
        let end = self.end_of(start, len).ok_or(UpdateError::Beyond)?;
        let new = |page: &mut Page| {
            let old = page.flags.without(Flags::CALLER);
            page.flags = page.flags.without(clear) | set;
            page.flags.without(Flags::CALLER) == old
        };
        let changed = self.change_all(self.number_of(start), end, false, new);
        changed.map_err(|stop| match stop {
            Stop::Hole => UpdateError::Hole,
            Stop::Refused => UpdateError::Flags,
            Stop::TooManyAreas => UpdateError::TooManyAreas,
        })
    }

    /// The page after a range; `None` if it would be beyond the last address, unless the space ends
    /// there.
    fn end_of(&self, start: VirtAddr, len: u64) -> Option<i128> {
        let end = self.number_of(start) + self.count(len);
        let bytes = end * i128::from(self.world.page);
        let is_last = end == i128::from(self.world.last()) + 1;
        (bytes < 1 << 64 || bytes == 1 << 64 && is_last).then_some(end)
    }

    /// The pieces of all areas in a range.
    fn pieces(&self, first: i128, end: i128) -> Vec<Run> {
        let run = self.run(first, end);
        let areas = self.areas().into_iter();
        let pieces = areas.map(|area| area.start.max(run.start)..area.end.min(run.end));
        pieces.filter(|piece| !piece.is_empty()).collect()
    }

    /// Changes the pages `first..end`, area by area. A hole stops it, unless it `skips` holes and
    /// reports them in the end.
    fn change_all(
        &mut self,
        mut first: i128,
        end: i128,
        skips: bool,
        new: impl Fn(&mut Page) -> bool,
    ) -> Result<(), Stop> {
        let mut has_hole = false;
        for piece in self.pieces(first, end) {
            has_hole |= self.page_number(piece.start) != first;
            if has_hole && !skips {
                return Err(Stop::Hole);
            }
            first = self.page_number(piece.end);
            self.change(piece, &new)?;
        }
        if has_hole || first < end {
            return Err(Stop::Hole);
        }
        Ok(())
    }

    /// Changes a piece of one area by `new`, which returns false if that is not allowed.
    fn change(&mut self, piece: Run, new: impl Fn(&mut Page) -> bool) -> Result<(), Stop> {
        let mut changed = self.page(piece.start);
        if !new(&mut changed) {
            return Err(Stop::Refused);
        }
        if changed == self.page(piece.start) {
            return Ok(());
        }
        let area = self.area_at(self.page_number(piece.start));
        let area = area.expect("the piece is mapped");
        let mut after = self.clone();
        for page in after.pages[piece.clone()].iter_mut().flatten() {
            new(page);
        }
        let [head, tail] = [area.start < piece.start, piece.end < area.end];
        let joins = !head && after.would_join(piece.start) || !tail && after.would_join(piece.end);
        let cuts = usize::from(head) + usize::from(tail);
        if !joins && cuts > 0 && self.areas().len() + cuts > self.world.areas_max {
            return Err(Stop::TooManyAreas);
        }
        after.renumber(piece.clone());
        after.renumber(piece.end..area.end);
        after.join(piece.end);
        after.join(piece.start);
        *self = after;
        Ok(())
    }
}

/// Applies an advice; false if it is not allowed for such a page.
fn advised(page: &mut Page, advice: Advice) -> bool {
    let is_own = page.flags.and(Flags::OBJECT | Flags::SHARED) == Flags::NONE;
    page.flags = match advice {
        Advice::DontFork => page.flags | Flags::DONT_COPY,
        Advice::DoFork => page.flags.without(Flags::DONT_COPY),
        Advice::WipeOnFork => page.flags | Flags::WIPE_ON_FORK,
        Advice::KeepOnFork => page.flags.without(Flags::WIPE_ON_FORK),
    };
    match advice {
        Advice::WipeOnFork => is_own,
        Advice::KeepOnFork => !page.flags.contains(Flags::DROPPABLE),
        Advice::DontFork | Advice::DoFork => true,
    }
}
