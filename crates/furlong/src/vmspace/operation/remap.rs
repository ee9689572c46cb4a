//! Moves and size changes of mappings.

use super::place::Need;
use crate::addr::VirtAddr;
use crate::vmspace::{
    Attr, Config, Flags, Freed, Hold, Index, Mode, Pages, RemapError, RemapFlags, Space, Value,
};

/// The largest number of index changes that [`Space::remap`] makes; see [`Space::prepare`].
pub const REMAP_CHANGES: usize = 4;

/// The message if a prepared change fails.
const PREPARED: &str = "the changes were prepared";

/// The arguments of `mremap`. Lengths are in bytes and are rounded up to whole pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Remap {
    /// The old start.
    pub start: VirtAddr,
    /// The old length. 0 requests a second mapping of shared memory.
    pub old_len: u64,
    /// The new length.
    pub new_len: u64,
    /// The options: permission to move, and the kind of move.
    pub flags: RemapFlags,
    /// The new start, if [`FIXED`](RemapFlags::FIXED) is set; a hint, if only
    /// [`DONT_UNMAP`](RemapFlags::DONT_UNMAP) is.
    pub new_start: VirtAddr,
}

/// A remap in pages.
#[derive(Clone, Copy)]
struct Move {
    first: u64,
    old_len: u64,
    new_len: u64,
}

impl Move {
    fn old(&self) -> Option<Pages> {
        Pages::of_len(self.first, self.old_len)
    }

    /// The pages behind the new length.
    fn tail(&self) -> Option<Pages> {
        Pages::of_len(
            self.first.checked_add(self.new_len)?,
            self.old_len.saturating_sub(self.new_len),
        )
    }
}

impl<A: Value, C: Config, H: Hold> Space<A, C, H> {
    /// Moves or resizes a part of an area, and returns its new start. Replaced and abandoned ranges
    /// are passed to `freed`, and so is the moved part, with its old address.
    ///
    /// Moved memory keeps its offsets, anonymous memory too.
    ///
    /// # Errors
    /// See [`RemapError`]. Nothing has changed; in the mode [`Linux`](crate::vmspace::Linux), the
    /// range to be replaced and the part to be cut off may be unmapped.
    ///
    /// # Cost
    /// A search for a gap and at most [`REMAP_CHANGES`] index changes.
    pub fn remap(
        &mut self,
        remap: &Remap,
        freed: impl FnMut(Freed<A>),
    ) -> Result<VirtAddr, RemapError> {
        let plan = self.plan_remap(remap)?;
        self.changing(|space| space.carry_out_remap(remap, plan, freed))
    }

    fn carry_out_remap(
        &mut self,
        remap: &Remap,
        plan: Move,
        freed: impl FnMut(Freed<A>),
    ) -> Result<VirtAddr, RemapError> {
        if remap.flags.and(RemapFlags::FIXED | RemapFlags::DONT_UNMAP) != RemapFlags::NONE {
            return self.remap_to(remap, plan, freed);
        }
        if plan.new_len <= plan.old_len {
            self.shorten(plan, freed)?;
            return Ok(remap.start);
        }
        let attr = self.resizable(plan, RemapFlags::NONE)?;
        if !self.fits(plan.new_len - plan.old_len, 0) {
            return Err(RemapError::TooManyPages);
        }
        if let Some(more) = self.room_behind(plan) {
            self.lengthen(plan.first, more, attr, freed)?;
            return Ok(remap.start);
        }
        if !remap.flags.contains(RemapFlags::MAY_MOVE) {
            return Err(RemapError::MayNotMove);
        }
        let need = Need {
            len: plan.new_len,
            align: 1,
        };
        let place = self.vacant(need).ok_or(RemapError::NoGap)?;
        if self.len() + 3 >= self.state.layout.areas_max {
            return Err(RemapError::TooManyAreas);
        }
        self.prepare(REMAP_CHANGES)
            .map_err(|_| RemapError::NoMemory)?;
        Ok(self.carry(plan, place, plan.old(), freed))
    }

    /// Makes the checks that do not depend on the new place.
    fn plan_remap(&self, remap: &Remap) -> Result<Move, RemapError> {
        let flags = remap.flags;
        let known = RemapFlags::MAY_MOVE | RemapFlags::FIXED | RemapFlags::DONT_UNMAP;
        let moves = flags.contains(RemapFlags::MAY_MOVE);
        let keeps = flags.contains(RemapFlags::DONT_UNMAP);
        let is_refused = flags.without(known) != RemapFlags::NONE
            || flags.contains(RemapFlags::FIXED) && !moves
            || keeps && (!moves || remap.old_len != remap.new_len);
        if is_refused {
            return Err(RemapError::Options);
        }
        if !self.state.grid.is_aligned(remap.start) {
            return Err(RemapError::Unaligned);
        }
        // A length that overflows 64 bits when it is rounded up becomes 0, as in Linux.
        let rounded = |len: u64| {
            let end = len.checked_add(self.state.layout.page - 1);
            end.map_or(0, |end| end >> self.state.grid.shift)
        };
        let plan = Move {
            first: self.state.grid.page(remap.start),
            old_len: rounded(remap.old_len),
            new_len: rounded(remap.new_len),
        };
        if plan.new_len == 0 {
            return Err(RemapError::ZeroLen);
        }
        let owner = self.index.at_or_after(plan.first);
        owner
            .filter(|owner| owner.pages.first <= plan.first)
            .ok_or(RemapError::NotMapped)?;
        Ok(plan)
    }

    /// Unmaps the pages behind the new length.
    fn shorten(&mut self, plan: Move, freed: impl FnMut(Freed<A>)) -> Result<(), RemapError> {
        if plan.new_len == plan.old_len {
            return Ok(());
        }
        let tail = self.tail(plan)?;
        if self.cuts_in_vain(tail) {
            return Err(RemapError::TooManyAreas);
        }
        self.cut(tail, freed).map_err(|_| RemapError::NoMemory)
    }

    /// The pages behind the new length, which is the shorter one.
    fn tail(&self, plan: Move) -> Result<Pages, RemapError> {
        let tail = plan.tail().filter(|tail| tail.last <= self.state.grid.last);
        tail.ok_or(RemapError::OldBeyond)
    }

    /// Returns the attributes of the area, if it may be resized or moved in this way.
    fn resizable(&self, plan: Move, flags: RemapFlags) -> Result<Attr, RemapError> {
        let owner = self.index.at_or_after(plan.first);
        let owner = owner.filter(|owner| owner.pages.first <= plan.first);
        let owner = owner.ok_or(RemapError::NotMapped)?;
        let attr = owner.attr;
        if plan.old_len == 0 && !attr.flags().contains(Flags::SHARED) {
            return Err(RemapError::NotShared);
        }
        let is_fixed = attr.flags().contains(Flags::DONT_EXPAND);
        if flags.contains(RemapFlags::DONT_UNMAP) && is_fixed {
            return Err(RemapError::NotMovable);
        }
        if plan.old_len > 0 && plan.old_len - 1 > owner.pages.last - plan.first {
            return Err(RemapError::AcrossAreas);
        }
        if plan.new_len == plan.old_len {
            return Ok(attr);
        }
        let offset = plan.first.wrapping_add(attr.origin);
        let objects_end = (u64::MAX >> self.state.grid.shift) + 1;
        let end = offset.checked_add(plan.new_len);
        let is_beyond = end.is_none_or(|end| end > objects_end);
        if attr.flags().contains(Flags::OBJECT) && is_beyond {
            return Err(RemapError::OffsetOverflow);
        }
        if is_fixed {
            return Err(RemapError::NotExpandable);
        }
        Ok(attr)
    }

    /// The pages by which it would grow in place, if they are free.
    fn room_behind(&self, plan: Move) -> Option<Pages> {
        let old = plan.old()?;
        let owner = self.index.at_or_after(plan.first)?;
        if owner.pages.last != old.last {
            return None;
        }
        let whole = self.state.grid.within(plan.first, plan.new_len)?;
        let more = Pages::new(old.last.checked_add(1)?, whole.last)?;
        self.is_vacant(more).then_some(more)
    }

    /// Extends the area of `first` over `more`, right behind it. One index change.
    fn lengthen(
        &mut self,
        first: u64,
        more: Pages,
        attr: Attr,
        mut freed: impl FnMut(Freed<A>),
    ) -> Result<(), RemapError> {
        let Some(owner) = self.index.at_or_after(first) else {
            return Err(RemapError::NotMapped);
        };
        let behind = more.last.checked_add(1);
        let right = behind.and_then(|behind| self.index.at_or_after(behind));
        let right = right.filter(|right| {
            more.abuts(right.pages) && right.attr == attr && owner.value.merges(right.value)
        });
        let last = right.map_or(more.last, |right| right.pages.last);
        let whole = Pages {
            last,
            ..owner.pages
        };
        let extended = if right.is_some() {
            let merged = |value| freed(Freed::Merged(value));
            self.index.extend(first, whole, merged)
        } else {
            self.index.grow(first, whole)
        };
        extended.map_err(|_| RemapError::NoMemory)?;
        self.state.count_in(more.len(), attr);
        Ok(())
    }

    /// Moves to a given place, or leaves the old place mapped.
    fn remap_to(
        &mut self,
        remap: &Remap,
        plan: Move,
        mut freed: impl FnMut(Freed<A>),
    ) -> Result<VirtAddr, RemapError> {
        let to = self.target(remap, plan)?;
        let is_fixed = remap.flags.contains(RemapFlags::FIXED);
        let replaced = to.filter(|_| is_fixed);
        let mut tail = None;
        let place = match self.tail_of_longer(plan) {
            Ok(cut) => {
                tail = cut;
                self.plan_move(remap, plan, replaced, tail)
            }
            Err(error) => Err(error),
        };
        let place = place.and_then(|place| {
            let room = self.prepare(REMAP_CHANGES);
            room.map(|()| place).map_err(|_| RemapError::NoMemory)
        });
        let is_begun = place.is_ok() || C::Mode::keeps_part() && self.prepare(2).is_ok();
        for pages in [replaced, tail].into_iter().flatten().filter(|_| is_begun) {
            self.cut(pages, &mut freed).expect(PREPARED);
        }
        let keeps = remap.flags.contains(RemapFlags::DONT_UNMAP);
        let plan = Move {
            old_len: plan.old_len.min(plan.new_len),
            ..plan
        };
        let old = plan.old().filter(|_| !keeps);
        Ok(self.carry(plan, place?, old, freed))
    }

    /// The new place, which must be valid even if it is only a hint.
    fn target(&self, remap: &Remap, plan: Move) -> Result<Option<Pages>, RemapError> {
        if !self.state.grid.is_aligned(remap.new_start) {
            return Err(RemapError::Unaligned);
        }
        let to = self
            .state
            .grid
            .within(self.state.grid.page(remap.new_start), plan.new_len);
        let to = to.ok_or(RemapError::Beyond)?;
        // As in Linux: the end of an empty range counts, and an end beyond 64 bits wraps. But an
        // end of exactly 2^64 does not wrap to 0: no space of Linux reaches that far.
        let beyond = (u64::MAX >> self.state.grid.shift) + 1;
        let old_end = plan.first + plan.old_len;
        let old_end = if old_end > beyond {
            old_end - beyond
        } else {
            old_end
        };
        if old_end > to.first && to.last >= plan.first {
            return Err(RemapError::Overlap);
        }
        if self.len() + 5 >= self.state.layout.areas_max {
            return Err(RemapError::TooManyAreas);
        }
        Ok(Some(to))
    }

    fn tail_of_longer(&self, plan: Move) -> Result<Option<Pages>, RemapError> {
        if plan.old_len <= plan.new_len {
            return Ok(None);
        }
        self.tail(plan).map(Some)
    }

    /// Chooses the new place, as if `replaced` and `tail` were already unmapped.
    fn plan_move(
        &self,
        remap: &Remap,
        plan: Move,
        replaced: Option<Pages>,
        tail: Option<Pages>,
    ) -> Result<u64, RemapError> {
        if replaced.is_some_and(|replaced| replaced.contains(plan.first)) {
            return Err(RemapError::NotMapped);
        }
        let plan = Move {
            old_len: plan.old_len.min(plan.new_len),
            ..plan
        };
        self.resizable(plan, remap.flags)?;
        let gone = [replaced, tail].into_iter().flatten();
        let gone = gone.map(|pages| self.mapped_in(pages)).sum();
        let keeps = remap.flags.contains(RemapFlags::DONT_UNMAP);
        let more = if keeps {
            plan.new_len
        } else {
            plan.new_len - plan.old_len
        };
        // A move of as many pages is allowed above the limit, too.
        if more > 0 && !self.fits(more, gone) {
            return Err(RemapError::TooManyPages);
        }
        let need = Need {
            len: plan.new_len,
            align: 1,
        };
        // Unlike the hint of a mapping, Linux does not raise this one to the lowest address.
        let place = match replaced {
            Some(replaced) => replaced.first,
            None => self
                .anywhere(self.hint(remap.new_start), need)
                .ok_or(RemapError::NoGap)?,
        };
        if place < self.state.grid.low {
            return Err(RemapError::BelowLow);
        }
        Ok(place)
    }

    /// Maps the memory of the old place at the new one, which is free, and removes `old`. Two index
    /// changes.
    fn carry(
        &mut self,
        plan: Move,
        place: u64,
        old: Option<Pages>,
        mut freed: impl FnMut(Freed<A>),
    ) -> VirtAddr {
        let owner = self.index.at_or_after(plan.first);
        let owner = owner.expect("the old place is mapped");
        let origin = plan.first.wrapping_add(owner.attr.origin);
        let attr = owner.attr.with_origin(origin.wrapping_sub(place));
        let value = owner.value.clone();
        let pages = Pages::of_len(place, plan.new_len).expect("the place is in the space");
        let plan = self.plan_put(pages, attr, &value);
        let put = self.put(plan, value, &mut freed);
        put.ok().expect(PREPARED);
        if let Some(old) = old {
            self.cut(old, freed).expect(PREPARED);
        }
        self.state.grid.address(place)
    }
}
