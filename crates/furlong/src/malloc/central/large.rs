//! Objects above the size classes: large ones in units of an arena, huge ones with mappings of
//! their own.

use crate::forms::copies;
use crate::malloc::{
    Central, Config, Hardening, HugePages, MEDIUM_MAX, Misuse, PageSource, Pool, SEAL, Samples,
    Seals, Span, System, ThreadHeap, UNIT, UNITS, UnitRequest, Use, clear, is_zero, put_word, stop,
    unit_of, with_seal,
};

use super::arena::{HUGE_PAGE, RUN_MAX};
use super::seal::BEFORE;

/// The largest size of an object in an arena.
pub(crate) const LARGE_MAX: usize = RUN_MAX * UNIT;

/// The longest mapping that is kept with `SCRUB`: all of it is overwritten before it is used again.
const SCRUBBED_MAX: usize = 32 << 20;

/// The largest size of any object. Half of the addresses of 48 bits are the most that can lie side
/// by side: a system is not asked for more, nor is memory given back to it for nothing.
pub(crate) const SIZE_MAX: usize =
    (isize::MAX as usize >> usize::BITS.saturating_sub(48)) - 4 * LARGE_MAX;

/// The length that an object of length `len` gets of a longer mapping: all of it, or up to the end
/// of a huge page, if the excess is at most an eighth of `len`.
fn fitting(have: usize, len: usize) -> usize {
    let whole = len.next_multiple_of(HUGE_PAGE).min(have);
    let is_little = |fit: &usize| *fit - len <= len / 8;
    [have, whole].into_iter().find(is_little).unwrap_or(len)
}

/// The objects of an allocator that are above the size classes.
pub(crate) struct LargeObjects<C: Config>(pub(crate) &'static Central<C>);

copies! { LargeObjects<C> where [C: Config]; }

impl<C: Config> LargeObjects<C> {
    /// Allocates an object of its own units, aligned to `align` units. Returns its address, and the
    /// number of bytes up to which it was used before: behind them it is all zeros. Address 0 if
    /// out of memory.
    pub(crate) fn allocate(self, size: usize, align: usize) -> (usize, usize) {
        if size > SIZE_MAX || align > SIZE_MAX / UNIT {
            return (self.0.refuse_memory(), 0);
        }
        let sealed = with_seal::<C::Hardening>(size);
        let units = self.0.units_for(sealed);
        let taken = if Self::has_room(units, align) {
            self.claim_large(units, align)
        } else {
            self.map_huge(sealed.max(1), align * UNIT)
        };
        let Some((base, used)) = taken else {
            return (self.0.refuse_memory(), 0);
        };
        // So that the caller's number is known: without a heap, each latch asks the system for it.
        let _ = ThreadHeap::of_caller_or_bound(self.0);
        let used = match C::Hardening::SCRUB {
            true => self.seal_units(base, used, size),
            false => used,
        };
        Samples(self.0).consider(base, size, sealed);
        (base, used)
    }

    /// True if an empty arena has room for such a run. With inaccessible ends an arena has no room
    /// for an object aligned to half of it that fills its second half.
    pub(crate) fn has_room(units: usize, align: usize) -> bool {
        let fits = units <= RUN_MAX && align <= RUN_MAX;
        fits && (!C::Hardening::GUARD || align + units < UNITS)
    }

    fn claim_large(self, units: usize, align: usize) -> Option<(usize, usize)> {
        let wanted = UnitRequest {
            align,
            fence: true,
            ..UnitRequest::units(units)
        };
        let note = |base| self.note_large(base, units);
        let (base, zero) = self.0.claim_units(wanted, &note)?;
        let span = self.0.map.span_at(base);
        span.fence.set(self.0.fence_of(base, units));
        span.summary.set((units * UNIT - span.fence_len()) as u64);
        Some((base, if zero { 0 } else { units * UNIT }))
    }

    fn note_large(self, base: usize, units: usize) {
        let span = self.0.map.span_at(base);
        span.unit.set(unit_of(base));
        span.summary.set((units * UNIT) as u64);
        span.fence.set(0);
        span.listed.set(0);
        self.0.map.mark_rest(base, units);
        span.use_for(Use::Large);
    }

    /// The least and the best length of a new mapping for a huge object. With huge pages it is best
    /// that it ends with one: the small pages of a shorter end would be faulted one by one, and
    /// only whole huge pages move to another mapping. With guards it is as short as it can be.
    fn lengths(self, size: usize) -> (usize, usize) {
        let least = size.next_multiple_of(self.0.source.page_size()) + self.0.fence_len();
        // The policy is in force once the pool is.
        let policy = &self.0.policy;
        let ends = (self.0).with_pool(|_| policy.has_huge_pages(HugePages::Objects));
        match ends && !C::Hardening::GUARD {
            true => (least, fitting(least.next_multiple_of(HUGE_PAGE), least)),
            false => (least, least),
        }
    }

    /// Maps a huge object, or takes a kept mapping. `align` is a unit at least. Returns its
    /// address, and the number of bytes up to which it was used before.
    fn map_huge(self, size: usize, align: usize) -> Option<(usize, usize)> {
        let (least, best) = self.lengths(size);
        let kept = if align == UNIT {
            self.reuse_mapping(least, best)
        } else {
            None
        };
        let is_new = kept.is_none();
        let (base, len, used) = kept.or_else(|| {
            let map = |len| Some((self.map_new(len, align)?, len, 0));
            map(best).or_else(|| {
                // Memory that arenas keep may be the memory that is missing.
                self.0.trim();
                map(least)
            })
        })?;
        if self.0.prepare(base).is_none() {
            self.0.source.unmap_at(base, len);
            return None;
        }
        let fence = self.0.fence_mapping(base, len);
        self.0.with_pool(|_| {
            if is_new {
                self.0.pool.note_taken(len);
            }
            let span = self.0.map.span_at(base);
            span.unit.set(unit_of(base));
            span.fence.set(fence);
            span.listed.set(0);
            self.note_huge(span, len - span.fence_len());
        });
        Some((base, used))
    }

    /// Maps memory for a huge object. If it is to have huge pages, it begins at a multiple of one,
    /// unless there is no room for that.
    fn map_new(self, len: usize, align: usize) -> Option<usize> {
        let source = &self.0.source;
        if !self.0.policy.has_huge_pages(HugePages::Objects) {
            return source.map_at(len, align);
        }
        let base = source
            .map_at(len, align.max(HUGE_PAGE))
            .or_else(|| source.map_at(len, align))?;
        source.prefer_huge_pages_at(base, len);
        Some(base)
    }

    /// The record and the length of a large or huge object that begins at an address.
    ///
    /// Stops the program if none does.
    pub(crate) fn object_at(self, address: usize) -> (&'static Span, usize) {
        let span = self.0.map.span_at(address);
        let starts = address.is_multiple_of(UNIT);
        if !starts || !(span.is(Use::Large) || span.is(Use::Huge)) {
            self.0.stop_at(address);
        }
        (span, span.summary.get() as usize)
    }

    /// Frees a large or huge object.
    pub(crate) fn free(self, address: usize) {
        let closed = self.scrub(address);
        // Before the latch, since others write profiles meanwhile. The object is the caller's.
        Samples(self.0).forget(self.object_at(address).0, address);
        let huge = self.0.with_pool(|_| {
            let (span, len) = self.object_at(address);
            if span.is(Use::Huge) {
                self.forget_huge(span, len);
                return Some((len, span.fence_len()));
            }
            let units = (len + span.fence_len()) / UNIT;
            if closed {
                self.0.retire_closed(address, units);
            } else {
                self.0.retire_units(address, units);
            }
            None
        });
        if let Some((len, fence)) = huge {
            self.keep_or_unmap(address, len + fence, fence);
        }
        ThreadHeap::of_caller(self.0).maintain_now();
    }

    /// Checks and overwrites an object that is being freed. Returns `true` if its units are
    /// inaccessible from now on. No latch is held: it may be long.
    fn scrub(self, address: usize) -> bool {
        if !C::Hardening::SCRUB {
            return false;
        }
        let (span, len) = self.object_at(address);
        let size = Seals(self.0).contents(address, len);
        if span.is(Use::Huge) {
            return false;
        }
        clear(address, size);
        put_word(address + len - SEAL, 0);
        C::Hardening::GUARD && self.0.source.guard_at(address, len + span.fence_len())
    }

    /// Resizes a large or huge object in place. `false` if nothing has changed.
    pub(crate) fn resize(self, address: usize, size: usize) -> bool {
        // A resized object counts as freed and allocated. One that is not is about to be replaced.
        Samples(self.0).forget(self.object_at(address).0, address);
        let resized = self.resize_in_place(address, size);
        if resized {
            Samples(self.0).consider(address, size, size);
        }
        resized
    }

    fn resize_in_place(self, address: usize, size: usize) -> bool {
        let (span, len) = self.object_at(address);
        if span.is(Use::Huge) {
            return size > LARGE_MAX && self.resize_huge(span, address, len, size);
        }
        let (have, want) = (len / UNIT, size.div_ceil(UNIT).max(1));
        if size <= MEDIUM_MAX || want > RUN_MAX {
            return false;
        }
        self.0.with_pool(|_| {
            if want > have && self.0.extend_units(address, have, want - have).is_none() {
                return false;
            }
            self.note_large(address, want);
            if want < have {
                self.0.retire_units(address + want * UNIT, have - want);
            }
            true
        })
    }

    fn resize_huge(self, span: &Span, address: usize, len: usize, size: usize) -> bool {
        let (least, best) = self.lengths(size);
        let resized = |new: usize| self.0.source.resize_at(address, len, new);
        let new = if resized(best) {
            best
        } else if (len + 1..best).contains(&least) && resized(least) {
            least
        } else {
            return false;
        };
        self.0.with_pool(|pool| {
            span.summary.set(new as u64);
            pool.huge.set(pool.huge.get() - len + new);
        });
        true
    }

    /// Moves a huge object to a larger mapping without copying. 0 if the system cannot, or if the
    /// object is not huge. `size` is at most [`SIZE_MAX`].
    pub(crate) fn relocate(self, address: usize, size: usize) -> usize {
        let (span, len) = self.object_at(address);
        if !span.is(Use::Huge) || size <= len {
            return 0;
        }
        let Some((to, used)) = self.map_huge(size, UNIT) else {
            return 0;
        };
        // Kept pages stay behind those that move; what is fresh becomes a part of their area.
        let room = if used > len {
            len
        } else {
            self.object_at(to).1
        };
        // Before the pages move: from then on another thread may map the old place.
        self.0.with_pool(|_| self.forget_huge(span, len));
        if self.0.source.relocate_at(address, len, to, room) {
            Samples(self.0).consider(to, size, size);
            return to;
        }
        self.0.with_pool(|_| self.note_huge(span, len));
        self.free(to);
        0
    }

    /// Records a huge object. Under the pool's latch.
    fn note_huge(self, span: &Span, len: usize) {
        let pool = &self.0.pool;
        span.summary.set(len as u64);
        span.use_for(Use::Huge);
        pool.huge.set(pool.huge.get() + len);
        pool.huge_count.set(pool.huge_count.get() + 1);
    }

    /// Removes the record of a huge object. Under the pool's latch.
    fn forget_huge(self, span: &Span, len: usize) {
        let pool = &self.0.pool;
        span.use_for(Use::Nothing);
        pool.huge.set(pool.huge.get() - len);
        pool.huge_count.set(pool.huge_count.get() - 1);
    }

    /// Keeps the mapping of a freed huge object, or gives it back to the system. With `GUARD` a
    /// kept one is inaccessible, without a fence in it; its contents go when it is used again. One
    /// that is shorter than a huge page, as of a small object with a large alignment, would not
    /// help any other.
    fn keep_or_unmap(self, base: usize, len: usize, fence: usize) {
        let (source, closes) = (&self.0.source, C::Hardening::GUARD);
        let unfenced = || fence == 0 || source.unguard_page_at(base + len - fence);
        let closed = || len <= SCRUBBED_MAX && unfenced() && source.guard_at(base, len);
        let keeps = len >= HUGE_PAGE && (!closes || closed());
        if !keeps || !self.0.with_pool(|pool| pool.mappings.put(base, len)) {
            self.0.source.unmap_at(base, len);
        }
        self.0.unmap_mappings(|| self.0.kept_bytes_max());
    }

    /// Makes a mapping from kept ones. Returns its start, its length, and the length of what was
    /// kept of it, from its start.
    fn reuse_mapping(self, least: usize, best: usize) -> Option<(usize, usize, usize)> {
        let (base, len, used) = self.fit_mapping(least, best)?;
        if !C::Hardening::GUARD || self.0.source.unguard_at(base, len) {
            return Some((base, len, used));
        }
        self.0.source.unmap_at(base, len);
        None
    }

    /// Makes a mapping of kept ones: of one that has the least length, of one that can be made as
    /// long as is best, or of several, whose pages move to a new mapping.
    fn fit_mapping(self, least: usize, best: usize) -> Option<(usize, usize, usize)> {
        let (base, have, is_last) = self.0.with_pool(|pool| {
            let (base, have) = pool.mappings.take_for(least)?;
            Some((base, have, pool.mappings.bytes() == 0))
        })?;
        if have >= least {
            let fit = fitting(have, least);
            self.cut_off(base, have, fit);
            return Some((base, fit, fit));
        }
        if is_last && self.0.source.resize_at(base, have, best) {
            self.note_fresh(best - have);
            return Some((base, best, have));
        }
        let Some(to) = self.map_new(best, UNIT) else {
            self.0.source.unmap_at(base, have);
            return None;
        };
        let filled = self.fill(to, best, (base, have));
        if filled > 0 {
            self.note_fresh(best - filled);
            return Some((to, best, filled));
        }
        self.0.source.unmap_at(to, best);
        None
    }

    /// Records that so many bytes of an object had not been kept.
    fn note_fresh(self, bytes: usize) {
        self.0.with_pool(|pool| pool.note_taken(bytes));
    }

    /// Moves pages of kept mappings to a new one, first those of `piece`: whole huge pages, so that
    /// none is split, but for the last. Returns the bytes that were moved; 0 if the system cannot.
    fn fill(self, to: usize, len: usize, piece: (usize, usize)) -> usize {
        let (mut filled, mut next) = (0, Some(piece));
        while let Some((base, have)) = next {
            let need = len - filled;
            let part = if have < need {
                have / HUGE_PAGE * HUGE_PAGE
            } else {
                need
            };
            self.cut_off(base, have, part);
            if !self.0.source.relocate_at(base, part, to + filled, need) {
                self.0.source.unmap_at(base, part);
                break;
            }
            filled += part;
            let take = |pool: &Pool| pool.mappings.take_for(need - part);
            next = (need > part).then(|| self.0.with_pool(take)).flatten();
        }
        filled
    }

    /// Cuts a mapping off after this length. The rest stays kept from its next huge page on, if it
    /// has one.
    fn cut_off(self, base: usize, have: usize, len: usize) {
        let rest = len.next_multiple_of(HUGE_PAGE);
        let keeps = have >= rest + HUGE_PAGE
            && (self.0).with_pool(|pool| pool.mappings.put(base + rest, have - rest));
        let end = if keeps { rest } else { have };
        if end > len {
            self.0.source.unmap_at(base + len, end - len);
        }
    }

    /// Ensures that a new object of its own units is all zeros, and seals it. All free units are
    /// zeros; those that the system has cleared are not read, since each page would be mapped.
    ///
    /// Returns 0: it is all zeros.
    fn seal_units(self, address: usize, used: usize, size: usize) -> usize {
        let (span, room) = self.object_at(address);
        if span.is(Use::Huge) {
            clear(address, used.min(room));
        } else if !is_zero(address, if used == 0 { BEFORE } else { room }) {
            stop(&self.0.source, Misuse::WrittenAfterFree, address);
        }
        debug_assert!(room >= UNIT.min(size));
        Seals(self.0).seal(address, room, size);
        0
    }
}
