//! How arenas come and go: mapped before the pool knows of them, unmapped when it no longer does.
//!
//! No latch is held while the system is asked, nor when a page is touched for the first time:
//! whoever else allocates goes on meanwhile. A thread that finds no room maps an arena and looks
//! again; two of them map two.
#![forbid(unsafe_code)]

use crate::sync::atomic::Ordering;

use super::{
    allocator::Malloc,
    arena::{ARENA, Arena, UNITS, Words},
    class::UNIT,
    config::Config,
    hardening::Hardening,
    map::Map,
    source::PageSource,
    span::{Span, Use, unit_of},
    system::System,
};

/// The units of an arena that are inaccessible where its ends are guarded.
const ENDS: u64 = 1 << 63 | 1;

impl<C: Config> Malloc<C> {
    /// Takes units that nobody has, in a new arena if need be: where they begin, and whether they
    /// are all zeros. `note` notes under the pool's latch what they are for. No latch is held.
    ///
    /// An arena must have them when it is new.
    pub(crate) fn claim_units(
        &'static self,
        len: usize,
        align: usize,
        note: impl Fn(usize),
    ) -> Option<(usize, bool)> {
        let take = || {
            self.with_pool(|_| {
                let taken = self.take_units(len, align)?;
                note(taken.0);
                Some(taken)
            })
        };
        let mut taken = take();
        // Others may have been faster.
        while taken.is_none() && self.grow().is_some() {
            taken = take();
        }
        taken.or_else(|| {
            // What is kept may be what is missing.
            self.trim();
            take().or_else(|| {
                self.grow()?;
                take()
            })
        })
    }

    /// Maps an arena.
    fn grow(&'static self) -> Option<()> {
        let page = self.source.page_size();
        let words_len = size_of::<Words>().next_multiple_of(page);
        let words = self.source.map_at(words_len, page)?;
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
        if self.policy.prefaults() {
            self.source.populate_at(base, ARENA);
        }
        arena.base.set(base);
        arena.words.set(Some(Map::words_at(words)));
        arena.whole.set(u64::MAX);
        if C::Hardening::GUARD {
            arena.whole.set(!ENDS);
            self.guard_ends(arena);
        }
        self.with_pool(|pool| pool.append(arena));
        Some(())
    }

    /// Makes the first and the last unit of a new arena inaccessible.
    fn guard_ends(&'static self, arena: &'static Arena) {
        for at in [0, 63] {
            let base = arena.unit_base(at);
            let span = self.map.span_at(base);
            span.unit.set(unit_of(base));
            span.use_for(Use::Guard);
            self.source.guard_at(base, UNIT);
        }
    }

    /// Unmaps an arena that was removed from the pool.
    pub(crate) fn unmap_arena(&'static self, arena: &'static Arena) {
        let base = arena.base.get();
        if C::Hardening::GUARD {
            for at in [0, 63] {
                self.map.span_at(arena.unit_base(at)).use_for(Use::Nothing);
            }
        }
        // Before the memory goes: as soon as it has, another may map an arena there.
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

    /// Gives the records of an arena's units back: they are of nothing, as zeros are. Not if one of
    /// them is in a heap's queue, or somebody who posted blocks of one has not looked yet to whom
    /// he has to bring it: what it is there by would be lost.
    fn purge_records(&'static self, base: usize) {
        let spans = (0..UNITS).map(|unit| self.map.span_at(base + unit * UNIT));
        // Acquire: pairs with the swaps that take a span out of a queue.
        let mut posted = spans.map(|span| span.posted.load(Ordering::Acquire));
        let start = (&raw const *self.map.span_at(base)).expose_provenance();
        let len = UNITS * size_of::<Span>();
        let is_pages = (start | len).is_multiple_of(self.source.page_size());
        if is_pages && !self.is_posting() && posted.all(|posted| posted == 0) {
            self.source.purge_at(start, len);
        }
    }

    /// Sees to it that there are records for an address, and memory behind them. Nothing where the
    /// system has none for them, or the address has more than 48 bits. No latch is held.
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
        // Relaxed: nothing changes, but the page is there from now on. An arena's records are a
        // page, or lie in one.
        let records = self.map.span_at(address);
        records.posted.fetch_or(0, Ordering::Relaxed);
        Some(())
    }

    /// Has memory behind the words of a span that nobody knows of yet.
    pub(crate) fn touch_words(&'static self, span: &'static Span) {
        let Some(words) = self.map.words(span) else {
            return;
        };
        let unit = span.unit.get();
        for word in (0..span.class().blocks().div_ceil(64)).step_by(8) {
            words.free(unit, word).set(0);
            // Relaxed: as in prepare.
            words.remote(unit, word).fetch_or(0, Ordering::Relaxed);
        }
    }
}
