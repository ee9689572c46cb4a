//! Arenas come and go: each is mapped before it joins the pool and unmapped after it leaves.
//!
//! No latch is held during system calls or the first touch of a page, so other threads go on
//! allocating. A thread that finds no room maps an arena and tries again. Two threads that do so at
//! once map two arenas.

use crate::sync::atomic::Ordering;

use crate::malloc::{
    Arena, Central, Config, Hardening, HugePages, Map, PageSource, Span, System, UNIT, UNITS, Use,
    unit_of,
};

use super::super::runs::{run, runs};
use super::arena::{ARENA, ENDS, HUGE_PAGES, Words};
use super::pool::Room;
use super::purge::TOO_MUCH;

/// An odd number with about as many bits set as not, to mix others.
const GOLDEN: usize = 0x9e37_79b9_7f4a_7c15_u64 as usize;

/// A request for a run of units: its length and its alignment, in units.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnitRequest {
    pub(crate) len: usize,
    pub(crate) align: usize,
    /// All its pages are going to be used.
    pub(crate) dense: bool,
    /// It is to end with a [fence](super::fence).
    pub(crate) fence: bool,
}

impl UnitRequest {
    /// So many units anywhere.
    pub(crate) fn units(len: usize) -> Self {
        Self {
            len,
            align: 1,
            dense: false,
            fence: false,
        }
    }
}

impl<C: Config> Central<C> {
    /// The places in which units are looked for before a new arena is mapped.
    pub(crate) fn rooms(&'static self, dense: bool) -> &'static [Room] {
        // With `prefault` all units have memory.
        let wants = self.policy.has_huge_pages(HugePages::Arenas) && !self.policy.prefaults();
        match dense {
            true if wants => &[Room::Huge, Room::Touched],
            true => &[Room::Huge, Room::Small],
            false => &[Room::Small],
        }
    }

    /// Takes free units, from a new arena if need be. Returns their start, and `true` if they are
    /// all zeros. `note` records their use under the pool's latch. No latch is held.
    ///
    /// Units whose pages are all going to be used, as `dense` says, have huge pages, if the system
    /// has them and no units without them have memory already. Others would waste memory there.
    /// Either come from an arena of the other kind if there is no memory for a new one.
    ///
    /// The run must fit in a new arena.
    pub(crate) fn claim_units(
        &'static self,
        wanted: UnitRequest,
        note: &dyn Fn(usize),
    ) -> Option<(usize, bool)> {
        let UnitRequest {
            len, align, dense, ..
        } = wanted;
        let take = |rooms: &[Room]| self.take_units(rooms, len, align, note);
        let best = if dense { Room::Huge } else { Room::Small };
        let mut taken = take(self.rooms(dense));
        // Other threads may have taken the units of the new arena, or it has no huge pages.
        while taken.is_none() && self.grow(dense).is_some() {
            taken = take(&[best, Room::Small]);
        }
        let all = [best, Room::Small, Room::Huge];
        let taken = taken.or_else(|| take(&all)).or_else(|| {
            // Memory that is kept may be the memory that is missing.
            self.trim();
            take(&[best]).or_else(|| {
                self.grow(dense);
                take(&all)
            })
        });
        taken.filter(|(base, _)| self.open_units(*base, wanted))
    }

    /// The same, from the first of these places that has room, or `None`. It makes no system call,
    /// so a heap's latch may be held.
    #[inline]
    pub(crate) fn take_units(
        &'static self,
        rooms: &[Room],
        len: usize,
        align: usize,
        note: &dyn Fn(usize),
    ) -> Option<(usize, bool)> {
        self.with_pool(|pool| {
            let mut rooms = rooms.iter();
            let taken = rooms.find_map(|room| pool.take_units(len, align, *room))?;
            note(taken.0);
            Some(taken)
        })
    }

    /// Maps an arena and adds it to the pool. It may have huge pages if it is for `dense` units.
    fn grow(&'static self, dense: bool) -> Option<()> {
        let page = self.source.page_size();
        let words_len = size_of::<Words>().next_multiple_of(page);
        let words = self
            .source
            .map_at(words_len, page.max(align_of::<Words>()))?;
        let base = self.source.map_at(ARENA, ARENA);
        let arena = base.and_then(|base| {
            self.prepare(base)?;
            self.map.arena(unit_of(base))
        });
        let (Some(base), Some(arena)) = (base, arena) else {
            self.source.unmap_at(words, words_len);
            if let Some(base) = base {
                self.source.unmap_at(base, ARENA);
            }
            return None;
        };
        let wanted = dense && self.policy.has_huge_pages(HugePages::Arenas);
        let huge = wanted && self.source.prefer_huge_pages_at(base, ARENA);
        if wanted && !huge {
            self.with_pool(|_| self.policy.leave_arenas_out());
        }
        arena.huge.set(u8::from(huge));
        let unsplit = if huge { (1 << HUGE_PAGES) - 1 } else { 0 };
        arena.unsplit.set(unsplit);
        if self.policy.prefaults() {
            self.source.populate_at(base, ARENA);
        }
        arena.base.set(base);
        arena.words.set(Some(Map::words_at(words)));
        arena.touched.set(0);
        arena.fenced.set(0);
        arena.has_guards.set(u8::from(C::Hardening::GUARD));
        if C::Hardening::GUARD {
            self.guard_units(arena);
        }
        if C::Hardening::SHUFFLE {
            let mixed = (base >> ARENA.ilog2() ^ self.pool.mark.get()).wrapping_mul(GOLDEN);
            // About the middle, so that stray accesses on both sides meet units that are closed.
            arena.start.set(24 + (mixed >> (usize::BITS - 4)) as u8);
        }
        self.with_pool(|pool| pool.append(arena));
        Some(())
    }

    /// Makes a new arena inaccessible: the first and last unit for good, others until they are
    /// taken.
    fn guard_units(&'static self, arena: &'static Arena) {
        let guarded = self.source.guard_at(arena.base.get(), ARENA);
        arena.closed.set(if guarded { !ENDS } else { 0 });
        for at in [0, 63] {
            let base = arena.unit_base(at);
            let span = self.map.span_at(base);
            span.unit.set(unit_of(base));
            span.use_for(Use::Guard);
        }
    }

    /// Makes units that were just taken accessible, except for the fence. If the system cannot,
    /// gives them back; `false`.
    fn open_units(&'static self, base: usize, wanted: UnitRequest) -> bool {
        let arena = self.map.arena(unit_of(base));
        let (true, Some(arena)) = (C::Hardening::GUARD, arena) else {
            return true;
        };
        let all = run(unit_of(base) % 64, wanted.len);
        let closed = arena.closed.get() & all;
        let mut opened = 0;
        for (at, len) in runs(closed) {
            if self.source.unguard_at(arena.unit_base(at), len * UNIT) {
                opened |= run(at, len);
            }
        }
        let is_open = self.move_fence(arena, all, wanted.fence) && opened == closed;
        if closed != 0 || !is_open {
            self.with_pool(|_| {
                arena.closed.set(arena.closed.get() & !opened);
                if !is_open {
                    self.retire_units(base, wanted.len);
                }
            });
        }
        is_open
    }

    /// Unmaps an arena that has left the pool.
    pub(crate) fn unmap_arena(&'static self, arena: &'static Arena) {
        let base = arena.base.get();
        if C::Hardening::GUARD {
            for at in [0, 63] {
                self.map.span_at(arena.unit_base(at)).use_for(Use::Nothing);
            }
        }
        // Before the memory is unmapped: from then on another thread may map an arena there.
        self.purge_records(base);
        arena.base.set(0);
        let words = arena.words.get();
        arena.words.set(None);
        if let Some(words) = words {
            let start = (&raw const *words).expose_provenance();
            let len = size_of::<Words>().next_multiple_of(self.source.page_size());
            self.source.unmap_at(start, len);
        }
        self.source.unmap_at(base, ARENA);
    }

    /// Purges the records of an arena's units, which describe nothing by now, as zeros do. Does
    /// nothing if one of them is in a heap's queue, since its `posted` would be lost. Does nothing
    /// either while a thread that posted blocks may not have read the span's owner yet.
    fn purge_records(&'static self, base: usize) {
        let spans = (0..UNITS).map(|unit| self.map.span_at(base + unit * UNIT));
        // Acquire: pairs with the swaps that take a span out of a queue.
        let mut posted = spans.map(|span| span.posted.load(Ordering::Acquire));
        let start = (&raw const *self.map.span_at(base)).expose_provenance();
        let len = UNITS * size_of::<Span>();
        let is_pages = (start | len).is_multiple_of(self.source.page_size());
        if is_pages && !self.pool.is_posting() && posted.all(|posted| posted == 0) {
            self.source.purge_at(start, len);
        }
    }

    /// Ensures that there are records for an address, with memory behind them. `None` if out of
    /// memory, or if the address has more than 48 bits. No latch is held.
    pub(crate) fn prepare(&'static self, address: usize) -> Option<()> {
        if !Map::is_covered(address) {
            return None;
        }
        if !self.with_pool(|_| self.map.has_records(address)) {
            let (len, align) = Map::records(self.source.page_size());
            let region = self.source.map_at(len, align)?;
            if !self.with_pool(|_| self.map.add_records(address, region)) {
                self.source.unmap_at(region, len);
            }
        }
        // Relaxed: the value does not change, but the page now has memory. An arena's records are
        // one page, or lie in one. The compiler may drop an OR with nothing, but no exchange.
        let posted = &self.map.span_at(address).posted;
        let _ = posted.compare_exchange(0, 0, Ordering::Relaxed, Ordering::Relaxed);
        Some(())
    }

    /// True if the words of a span have memory behind them.
    pub(crate) fn has_words(&'static self, span: &'static Span) -> bool {
        let arena = self.map.arena(span.unit.get());
        arena.is_some_and(|arena| arena.touched.get() >= span.eights())
    }

    /// Touches the words of a span that no other thread knows yet, so that they have memory behind
    /// them. Those of the arena's other units have it from then on as well: an eighth of the free
    /// or of the remote words is 4 KiB, and so lies in one page.
    pub(crate) fn touch_words(&'static self, span: &'static Span) {
        let Some(arena) = self.map.arena(span.unit.get()) else {
            return;
        };
        let untouched = arena.touched.get()..span.eights();
        let Some(words) = arena.words.get().filter(|_| !untouched.is_empty()) else {
            return;
        };
        let unit = span.unit.get();
        for word in untouched.map(|eight| usize::from(eight) * 8) {
            words.free(unit, word).set(0);
            // Relaxed: nobody else knows the span.
            words.remote(unit, word).store(0, Ordering::Relaxed);
        }
        arena.touched.set(span.eights());
    }

    /// Takes the units behind a run, if they are free, under the pool's latch.
    pub(crate) fn extend_units(
        &'static self,
        base: usize,
        len: usize,
        more: usize,
    ) -> Option<bool> {
        let arena = self.map.arena(unit_of(base))?;
        let end = unit_of(base) as usize % 64 + len;
        if end + more > 64 {
            return None;
        }
        let at = u32::try_from(end).ok()?;
        let open = arena.free.get() & !arena.closed.get() & !arena.fenced.get();
        let whole = open & run(at, more) == run(at, more);
        whole.then(|| self.pool.use_run(arena, at, more))
    }

    /// Gives units back, under the pool's latch, and records if too many are dirty.
    fn give_units(&'static self, base: usize, len: usize) {
        let (pool, unit) = (&self.pool, unit_of(base));
        let Some(arena) = self.map.arena(unit) else {
            return;
        };
        pool.give_run(arena, unit % 64, len);
        if pool.dirty_bytes() > self.dirty_bytes_max() {
            pool.work.set(pool.work.get() | TOO_MUCH);
        }
    }

    /// Records that units are inaccessible, and gives them back, to be taken again late. Under the
    /// pool's latch.
    pub(crate) fn retire_closed(&'static self, base: usize, units: usize) {
        if let Some(arena) = self.map.arena(unit_of(base)) {
            let at = unit_of(base) % 64;
            arena.closed.set(arena.closed.get() | run(at, units));
            self.pool.rest(arena, at, units);
        }
        self.retire_units(base, units);
    }

    /// Gives all units of a span or of a large object back. Under the pool's latch.
    pub(crate) fn retire_units(&'static self, base: usize, units: usize) {
        for unit in 0..units {
            let span = self.map.span_at(base + unit * UNIT);
            span.owner.set(None);
            span.use_for(Use::Nothing);
        }
        self.give_units(base, units);
    }
}
