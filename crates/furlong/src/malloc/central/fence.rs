//! Fences, under `GUARD`: the last page of each span and of each object above the size classes is
//! inaccessible. So an access that runs over the end of a span faults before it meets a block of
//! another class, and one that runs over the end of an object before it meets anything.
//!
//! A unit keeps its fence while it is free: most often the next span has it at the same place.
//! Large pages would take too much of a unit, so there are no fences then. There are none either
//! if the system refuses the first.
#![forbid(unsafe_code)]

use crate::malloc::{Arena, Central, Config, Hardening, PageSource, System, UNIT, unit_of};

use super::super::runs::run;
use super::span::FENCE_GRAIN;

/// Values of the pool's `fences`: the system has made one, or refused the first.
const SOME: u8 = 1;
const NONE: u8 = 2;

impl<C: Config> Central<C> {
    /// The length of a fence; 0 if pages are too large for one, or smaller than its unit.
    fn fence_page(&self) -> usize {
        if !C::Hardening::GUARD {
            return 0;
        }
        let page = self.source.page_size();
        let fits = (FENCE_GRAIN..=UNIT / 4).contains(&page);
        if fits { page } else { 0 }
    }

    /// The room to reserve for a fence; 0 once the system has refused the first.
    pub(crate) fn fence_len(&self) -> usize {
        match self.pool.fences.get() {
            NONE => 0,
            _ => self.fence_page(),
        }
    }

    /// The units of an object of this size, with its fence.
    pub(crate) fn units_for(&self, size: usize) -> usize {
        size.saturating_add(self.fence_len()).div_ceil(UNIT).max(1)
    }

    /// The length of the fence at the end of a run of units, in 4 KiB; 0 if it has none.
    pub(crate) fn fence_of(&'static self, base: usize, len: usize) -> u8 {
        if !C::Hardening::GUARD {
            return 0;
        }
        let last = unit_of(base) % 64 + len as u32 - 1;
        let arena = self.map.arena(unit_of(base));
        let has = arena.is_some_and(|arena| arena.fenced.get() & run(last, 1) != 0);
        if has { self.fence_in_grains() } else { 0 }
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "at most a quarter of a unit"
    )]
    fn fence_in_grains(&self) -> u8 {
        (self.fence_page() / FENCE_GRAIN) as u8
    }

    /// Removes the fences of units that were just taken, but for one at their end if that is
    /// wanted. `false` if the system cannot.
    pub(super) fn move_fence(
        &'static self,
        arena: &'static Arena,
        units: u64,
        wanted: bool,
    ) -> bool {
        let page = self.fence_page();
        let end = |at: u32| arena.unit_base(at) + UNIT - page;
        let last = 63 - units.leading_zeros();
        let wanted = wanted && self.fence_len() > 0;
        let stays = if wanted { run(last, 1) } else { 0 };
        let before = arena.fenced.get() & units;
        let mut after = before;
        for at in (0..64).filter(|at| before & !stays & run(*at, 1) != 0) {
            if self.source.unguard_page_at(end(at)) {
                after &= !run(at, 1);
                if self.policy.prefaults() {
                    self.source.populate_at(end(at), page);
                }
            }
        }
        if stays & !before != 0 && self.make_fence(end(last)) {
            after |= stays;
        }
        if after != before {
            self.with_pool(|_| arena.fenced.set(arena.fenced.get() & !units | after));
        }
        after & !stays == 0
    }

    /// Makes a page inaccessible. `false` if the system cannot. If it cannot make the first, no
    /// other is tried.
    fn make_fence(&'static self, page: usize) -> bool {
        let made = self.source.guard_page_at(page);
        let fences = &self.pool.fences;
        if fences.get() == 0 {
            let first = if made { SOME } else { NONE };
            // Two threads may be first at once; then one of them decides.
            self.with_pool(|_| {
                if fences.get() == 0 {
                    fences.set(first);
                }
            });
        }
        made
    }

    /// Makes a fence at the end of a new mapping. Returns its length in 4 KiB, or 0.
    pub(super) fn fence_mapping(&'static self, base: usize, len: usize) -> u8 {
        let page = self.fence_len();
        let has = page > 0 && self.make_fence(base + len - page);
        if has { self.fence_in_grains() } else { 0 }
    }
}
