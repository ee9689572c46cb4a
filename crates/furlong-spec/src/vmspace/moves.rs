//! The model's operations that move or grow areas: `mremap`, `brk` and stack growth.

use furlong::addr::{Address, VirtAddr};
use furlong::vmspace::{Access, BrkError, FaultError, Flags, Prot, Remap, RemapError, RemapFlags};

use super::model::Page;
use super::{Gone, Model, Seen};

impl Model {
    pub(super) fn remap(
        &mut self,
        remap: &Remap,
        gone: &mut Vec<Gone>,
    ) -> Result<VirtAddr, RemapError> {
        let result = self.in_steps(|model| model.remap_in_steps(remap, gone));
        if result.is_err() && !self.keeps_part {
            gone.clear();
        }
        Ok(VirtAddr::new(result? as u64 * self.world.page))
    }

    fn remap_in_steps(&mut self, remap: &Remap, gone: &mut Vec<Gone>) -> Result<i128, RemapError> {
        let has = |flag: RemapFlags| remap.flags.contains(flag);
        let moves = has(RemapFlags::MAY_MOVE);
        let keeps = has(RemapFlags::DONT_UNMAP);
        if remap.flags.bits() > 7
            || has(RemapFlags::FIXED) && !moves
            || keeps && (!moves || remap.old_len != remap.new_len)
        {
            return Err(RemapError::Options);
        }
        if !self.is_aligned(remap.start) {
            return Err(RemapError::Unaligned);
        }
        let round = |len: u64| {
            let pages = self.count(len);
            if pages * i128::from(self.world.page) == 1 << 64 {
                0
            } else {
                pages
            }
        };
        let (old, new) = (round(remap.old_len), round(remap.new_len));
        if new == 0 {
            return Err(RemapError::ZeroLen);
        }
        let first = self.number_of(remap.start);
        let area = self.area_at(first).ok_or(RemapError::NotMapped)?;
        if has(RemapFlags::FIXED) || keeps {
            return self.remap_to(remap, [first, old, new], gone);
        }
        if old >= new {
            if old > new {
                self.cut_tail(first + new, first + old, gone)?;
            }
            return Ok(first);
        }
        self.check_resize(remap, first, old, new)?;
        let end = self.page_number(area.end);
        let room = self.run(first + old, first + new);
        let is_room = room.len() as i128 == new - old && self.mapped(room.clone()) == 0;
        if first + old == end && old > 0 && is_room {
            let page = self.page(area.end - 1);
            let offset = page.offset.wrapping_add(1);
            self.lay(room.clone(), Page { offset, ..page });
            self.join(room.end);
            return Ok(first);
        }
        if !moves {
            return Err(RemapError::MayNotMove);
        }
        let to = self.anywhere(None, new, 1).ok_or(RemapError::NoGap)?;
        if self.areas().len() + 3 >= self.world.areas_max {
            return Err(RemapError::TooManyAreas);
        }
        Ok(self.carry([first, old, to, new], false, gone))
    }

    /// Moves to a given place, or moves and leaves the old range mapped.
    fn remap_to(
        &mut self,
        remap: &Remap,
        [first, mut old, new]: [i128; 3],
        gone: &mut Vec<Gone>,
    ) -> Result<i128, RemapError> {
        let is_fixed = remap.flags.contains(RemapFlags::FIXED);
        let keeps = remap.flags.contains(RemapFlags::DONT_UNMAP);
        let to = self.check_target(remap, first, old, new)?;
        if is_fixed {
            gone.extend(self.take_out(self.run(to, to + new)));
        }
        if old > new {
            self.cut_tail(first + new, first + old, gone)?;
            old = new;
        }
        self.check_resize(remap, first, old, new)?;
        let more = if keeps { old } else { 0 };
        if more > 0 && !self.fits(more, 0) {
            return Err(RemapError::TooManyPages);
        }
        let to = match is_fixed {
            true if to < i128::from(self.world.first) => return Err(RemapError::BelowLow),
            true => to,
            false if self.is_low_hint(to, new) => return Err(RemapError::BelowLow),
            false => {
                let place = self.anywhere(Some(remap.new_start), new, 1);
                place.ok_or(RemapError::NoGap)?
            }
        };
        Ok(self.carry([first, old, to, new], keeps, gone))
    }

    /// Checks the new place and returns its first page.
    fn check_target(
        &self,
        remap: &Remap,
        first: i128,
        old: i128,
        new: i128,
    ) -> Result<i128, RemapError> {
        if !self.is_aligned(remap.new_start) {
            return Err(RemapError::Unaligned);
        }
        let to = self.number_of(remap.new_start);
        if to + new > i128::from(self.world.last()) + 1 {
            return Err(RemapError::Beyond);
        }
        let beyond = (1 << 64) / i128::from(self.world.page);
        let end = match first + old {
            end if end > beyond => end - beyond,
            end => end,
        };
        if end > to && to + new > first {
            return Err(RemapError::Overlap);
        }
        if self.areas().len() + 5 >= self.world.areas_max {
            return Err(RemapError::TooManyAreas);
        }
        Ok(to)
    }

    fn cut_tail(&mut self, first: i128, end: i128, gone: &mut Vec<Gone>) -> Result<(), RemapError> {
        if end > i128::from(self.world.last()) + 1 {
            return Err(RemapError::OldBeyond);
        }
        let run = self.run(first, end);
        if self.cuts_in_vain(&run) {
            return Err(RemapError::TooManyAreas);
        }
        gone.extend(self.take_out(run));
        Ok(())
    }

    /// Refuses if the area may not be resized or moved in this way.
    fn check_resize(
        &self,
        remap: &Remap,
        first: i128,
        old: i128,
        new: i128,
    ) -> Result<(), RemapError> {
        let area = self.area_at(first).ok_or(RemapError::NotMapped)?;
        let page = self.page(self.run(first, first + 1).start);
        if old == 0 && !page.flags.contains(Flags::SHARED) {
            return Err(RemapError::NotShared);
        }
        let is_fixed = page.flags.contains(Flags::DONT_EXPAND);
        if remap.flags.contains(RemapFlags::DONT_UNMAP) && is_fixed {
            return Err(RemapError::NotMovable);
        }
        if first + old > self.page_number(area.end) {
            return Err(RemapError::AcrossAreas);
        }
        if new == old {
            return Ok(());
        }
        let end = i128::from(page.offset) + new;
        let is_object = page.flags.contains(Flags::OBJECT);
        if is_object && end * i128::from(self.world.page) > 1 << 64 {
            return Err(RemapError::OffsetOverflow);
        }
        if is_fixed {
            return Err(RemapError::NotExpandable);
        }
        if !self.fits(new - old, 0) {
            return Err(RemapError::TooManyPages);
        }
        Ok(())
    }

    /// Moves to a place that is free.
    fn carry(&mut self, way: [i128; 4], keeps: bool, gone: &mut Vec<Gone>) -> i128 {
        let [first, old, to, new] = way;
        let page = self.page(self.run(first, first + 1).start);
        self.put(self.run(to, to + new), page);
        if !keeps {
            gone.extend(self.take_out(self.run(first, first + old)));
        }
        to
    }

    pub(super) fn brk(&mut self, end: VirtAddr) -> Result<Vec<Gone>, BrkError> {
        let end = end.raw();
        if end < self.heap.0 {
            return Err(BrkError::BelowStart);
        }
        let (old, new) = (self.count(self.heap.1), self.count(end));
        let last = (1 << 64) / i128::from(self.world.page);
        if old == last || new == last {
            return Err(BrkError::Beyond);
        }
        let mut gone = Vec::new();
        if new < old {
            let run = self.run(new, old);
            if self.mapped(run.clone()) == 0 {
                return Err(BrkError::NotMapped);
            }
            if self.cuts_in_vain(&run) {
                return Err(BrkError::TooManyAreas);
            }
            gone = self.take_out(run);
        } else if new > old {
            self.enlarge(old, new)?;
        }
        self.heap.1 = end;
        Ok(gone)
    }

    fn enlarge(&mut self, old: i128, new: i128) -> Result<(), BrkError> {
        if new > i128::from(self.world.last()) + 1 {
            return Err(BrkError::Beyond);
        }
        if old < i128::from(self.world.first) {
            return Err(BrkError::BelowLow);
        }
        let next = self.next_area(old);
        let limit =
            next.map(|next| (self.page_number(next.start) - self.guard_below(&next)).max(0));
        if limit.is_some_and(|limit| new + 1 > limit) {
            return Err(BrkError::Occupied);
        }
        if !self.fits(new - old, 0) {
            return Err(BrkError::TooManyPages);
        }
        if self.areas().len() > self.world.areas_max {
            return Err(BrkError::TooManyAreas);
        }
        let run = self.run(old, new);
        let page = Page {
            area: self.fresh(),
            prot: Prot::READ | Prot::WRITE,
            may: Prot::ALL,
            flags: Flags::NONE,
            offset: old as u64,
            object: 0,
        };
        self.lay(run.clone(), page);
        if old > i128::from(self.heap.0 / self.world.page) {
            self.join(run.start);
        }
        Ok(())
    }

    pub(super) fn fault(&mut self, address: VirtAddr, access: Access) -> Result<Seen, FaultError> {
        let number = self.number_of(address);
        let next = self.next_area(number).ok_or(FaultError::NotMapped)?;
        if number < self.page_number(next.start) {
            self.grow(number, next.start)?;
        }
        let area = self.area_at(number).ok_or(FaultError::NotMapped)?;
        let prot = self.page(area.start).prot;
        let is_allowed = match access {
            Access::Read => prot != Prot::NONE,
            Access::Write => prot.contains(Prot::WRITE),
            Access::Execute => prot.contains(Prot::EXEC),
        };
        if !is_allowed {
            return Err(FaultError::Access);
        }
        Ok(self.seen(&area))
    }

    /// Grows the area whose first page is at `start` down to page `number`.
    fn grow(&mut self, number: i128, start: usize) -> Result<(), FaultError> {
        let stack = self.page(start);
        if !stack.flags.contains(Flags::GROWS_DOWN) {
            return Err(FaultError::NotMapped);
        }
        if number < i128::from(self.world.first) {
            return Err(FaultError::BelowLow);
        }
        let run = self.run(number, self.page_number(start));
        let below = self.pages[..run.start].iter().rposition(Option::is_some);
        if let Some(below) = below {
            let page = self.page(below);
            let between = run.start - below - 1;
            let is_used = page.prot != Prot::NONE && !page.flags.contains(Flags::GROWS_DOWN);
            if is_used && (between as u64) < self.world.guard {
                return Err(FaultError::Guard);
            }
        }
        let area = self.area_at(self.page_number(start));
        let end = area.expect("it is mapped").end;
        let is_too_large = (end - run.start) as u64 > self.world.stack_max();
        if is_too_large || run.len() as u64 > stack.offset {
            return Err(FaultError::TooLarge);
        }
        if !self.fits(run.len() as i128, 0) {
            return Err(FaultError::TooManyPages);
        }
        let offset = stack.offset.wrapping_sub(run.len() as u64);
        self.lay(run, Page { offset, ..stack });
        Ok(())
    }
}
