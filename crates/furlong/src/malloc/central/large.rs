//! Objects above the size classes: large ones in units of an arena, huge ones with mappings of
//! their own.
#![forbid(unsafe_code)]

use crate::malloc::{
    class::{GRAIN, UNIT},
    config::{Config, Hardening},
    front::malloc::Malloc,
    os::{source::PageSource, system::System},
};

use super::{
    arena::{RUN_MAX, UNITS},
    span::{Span, Use, unit_of},
};

/// The largest size of an object in an arena.
pub(crate) const LARGE_MAX: usize = RUN_MAX * UNIT;

/// The largest size of any object.
pub(crate) const SIZE_MAX: usize = isize::MAX as usize - 4 * LARGE_MAX;

impl<C: Config> Malloc<C> {
    /// Allocates an object of its own units, aligned to `align` units. Returns its address, and
    /// `true` if it is all zeros. Address 0 if out of memory.
    pub(crate) fn allocate_units(&'static self, size: usize, align: usize) -> (usize, bool) {
        if size > SIZE_MAX || align > SIZE_MAX / UNIT {
            return (self.refuse_memory(), false);
        }
        let sealed = Self::with_seal(size);
        let units = sealed.div_ceil(UNIT).max(1);
        let taken = if Self::has_room(units, align) {
            self.claim_units(units, align, |base| self.note_large(base, units))
        } else {
            self.map_huge(sealed.max(1), align * UNIT)
        };
        if let (true, Some((base, zero))) = (C::Hardening::SCRUB, taken) {
            self.sealed_units(base, zero, size);
            return (base, true);
        }
        taken.unwrap_or_else(|| (self.refuse_memory(), false))
    }

    /// True if an empty arena has room for such a run. With inaccessible ends an arena has no room
    /// for an object aligned to half of it that fills its second half.
    fn has_room(units: usize, align: usize) -> bool {
        let fits = units <= RUN_MAX && align <= RUN_MAX;
        fits && (!C::Hardening::GUARD || align + units < UNITS)
    }

    fn note_large(&'static self, base: usize, units: usize) {
        let span = self.map.span_at(base);
        span.unit.set(unit_of(base));
        span.owner.set(None);
        span.summary.set((units * UNIT) as u64);
        self.mark_rest(base, units);
        span.use_for(Use::Large);
    }

    fn map_huge(&'static self, size: usize, align: usize) -> Option<(usize, bool)> {
        let len = size.next_multiple_of(self.source.page_size());
        let align = align.max(UNIT);
        let kept = if align == UNIT {
            self.reuse_mapping(len)
        } else {
            None
        };
        let zero = kept.is_none();
        let (base, len) = kept.or_else(|| {
            let mapped = self.source.map_at(len, align).or_else(|| {
                // Memory that arenas keep may be the memory that is missing.
                self.trim();
                self.source.map_at(len, align)
            });
            Some((mapped?, len))
        })?;
        if self.prepare(base).is_none() {
            self.source.unmap_at(base, len);
            return None;
        }
        self.with_pool(|_| {
            if zero {
                self.pool.note_taken(len);
            }
            let span = self.map.span_at(base);
            span.unit.set(unit_of(base));
            self.note_huge(span, len);
        });
        Some((base, zero))
    }

    /// The record and the length of a large or huge object that begins at an address.
    ///
    /// Stops the program if none does.
    pub(crate) fn object_at(&'static self, address: usize) -> (&'static Span, usize) {
        let span = self.map.span_at(address);
        let starts = address.is_multiple_of(UNIT);
        if !starts || !(span.is(Use::Large) || span.is(Use::Huge)) {
            self.stop_at(address);
        }
        (span, span.summary.get() as usize)
    }

    /// Frees a large or huge object.
    pub(crate) fn free_units(&'static self, address: usize) {
        let huge = self.with_pool(|pool| {
            let (span, len) = self.object_at(address);
            self.contents(address, len);
            if span.is(Use::Huge) {
                span.use_for(Use::Nothing);
                pool.huge.set(pool.huge.get() - len);
                pool.huge_count.set(pool.huge_count.get() - 1);
                return Some(len);
            }
            self.retire_units(address, len / UNIT);
            None
        });
        match huge {
            Some(len) => self.keep_or_unmap(address, len),
            None if C::Hardening::SCRUB => self.purge_down_to(0),
            None => {}
        }
        self.tend_large();
    }

    /// Resizes a large or huge object in place. `false` if nothing has changed.
    pub(crate) fn resize_units(&'static self, address: usize, size: usize) -> bool {
        let (span, len) = self.object_at(address);
        if span.is(Use::Huge) {
            return size > LARGE_MAX && self.resize_huge(span, address, len, size);
        }
        let (have, want) = (len / UNIT, size.div_ceil(UNIT).max(1));
        if size + GRAIN <= UNIT || want > RUN_MAX {
            return false;
        }
        self.with_pool(|_| {
            if want > have && self.extend_units(address, have, want - have).is_none() {
                return false;
            }
            self.note_large(address, want);
            if want < have {
                self.retire_units(address + want * UNIT, have - want);
            }
            true
        })
    }

    fn resize_huge(&'static self, span: &Span, address: usize, len: usize, size: usize) -> bool {
        let new = size.next_multiple_of(self.source.page_size());
        if new != len && !self.source.resize_at(address, len, new) {
            return false;
        }
        self.with_pool(|pool| {
            span.summary.set(new as u64);
            pool.huge.set(pool.huge.get() - len + new);
        });
        true
    }

    /// Moves a huge object to a larger mapping without copying. 0 if the system cannot, or if the
    /// object is not huge.
    pub(crate) fn move_huge(&'static self, address: usize, size: usize) -> usize {
        let (span, len) = self.object_at(address);
        if !span.is(Use::Huge) || size > SIZE_MAX || size <= len {
            return 0;
        }
        let Some((to, _)) = self.map_huge(size, UNIT) else {
            return 0;
        };
        // Before the pages move: from then on another thread may map the old place.
        self.forget_huge(span, len);
        if self.source.relocate_at(address, len, to) {
            return to;
        }
        self.with_pool(|_| self.note_huge(span, len));
        self.free_units(to);
        0
    }

    /// Records a huge object. Under the pool's latch.
    fn note_huge(&'static self, span: &Span, len: usize) {
        let pool = &self.pool;
        span.summary.set(len as u64);
        span.use_for(Use::Huge);
        pool.huge.set(pool.huge.get() + len);
        pool.huge_count.set(pool.huge_count.get() + 1);
    }

    fn forget_huge(&'static self, span: &Span, len: usize) {
        self.with_pool(|pool| {
            span.use_for(Use::Nothing);
            pool.huge.set(pool.huge.get() - len);
            pool.huge_count.set(pool.huge_count.get() - 1);
        });
    }
}
