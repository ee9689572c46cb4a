//! Walks over the whole allocator under all latches: the invariants, and the memory in use.
//! Statistics are exact, and cost nothing until they are requested, since nothing is counted
//! before.

use crate::error::messages;

use crate::sync::atomic::Ordering;

use crate::malloc::{
    Arena, CLASSES, Central, Class, Config, GuardedBlocks, Heap, LISTED, MAKING, Span, UNIT, UNITS,
    Use, unit_of,
};

use super::super::runs::longest;
use super::arena::ARENA;

messages! {
    /// A broken invariant of an allocator, and the address of the unit or block concerned.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum BrokenMalloc {
        /// I1: a unit is both free and in use, or neither.
        Unit(n: usize) => "a unit is both free and in use, or neither: {n:#x}";
        /// I2: a count of an arena, of a heap or of the pool is wrong.
        Count(n: usize) => "a count does not match the contents: {n:#x}";
        /// I3: a span's words, summary and counts disagree.
        Words(n: usize) => "the words and numbers of a span disagree: {n:#x}";
        /// I4: a span is not in its heap's list exactly if it has blocks left to give.
        List(n: usize) => "a span is in the wrong list, or in none: {n:#x}";
        /// I5: a block in a heap's stack is also free in its span, or is not a block of the heap.
        Kept(n: usize) => "a cached block is free in its span, or missing: {n:#x}";
    }
}

fn hold(so: bool, broken: BrokenMalloc) -> Result<(), BrokenMalloc> {
    if so { Ok(()) } else { Err(broken) }
}

/// The memory of an allocator at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Bytes of blocks and objects in use, by their real sizes.
    pub used_bytes: usize,
    /// The number of blocks and objects in use.
    pub used_blocks: usize,
    /// Bytes of free blocks in spans and heaps.
    pub free_bytes: usize,
    /// Free bytes that may have memory behind them: dirty units and kept mappings.
    pub dirty_bytes: usize,
    /// Bytes of address space in arenas.
    pub arena_bytes: usize,
    /// Bytes of objects that the system mapped for themselves, without inaccessible ends.
    pub huge_bytes: usize,
    /// The number of those objects.
    pub huge_blocks: usize,
    /// Heaps in use by threads.
    pub heaps_running: usize,
    /// Heaps that wait to be taken over.
    pub heaps_ended: usize,
    /// Heaps of zones, and those that wait for the next zone.
    pub zones: usize,
}

/// All latches of an allocator.
pub(crate) struct HeldAll<C: Config>(pub(super) &'static Central<C>);

impl<C: Config> Drop for HeldAll<C> {
    fn drop(&mut self) {
        self.0.unlock_all();
    }
}

impl<C: Config> HeldAll<C> {
    /// Checks every invariant.
    pub(crate) fn check(&self) -> Result<(), BrokenMalloc> {
        let (mut live, mut dirty) = (0, 0);
        for arena in self.0.pool.arenas() {
            self.check_arena(arena)?;
            let used = !(arena.free.get() | arena.leaving.get());
            live += used.count_ones() as usize;
            dirty += arena.dirty.get().count_ones() as usize;
        }
        hold(self.0.pool.counts_are(live, dirty), BrokenMalloc::Count(0))?;
        for heap in self.0.pool.heaps() {
            for class in (1..CLASSES).map(Class::numbered) {
                self.check_list(heap, class)?;
                self.check_stack(heap, class)?;
            }
            let units = self.units_of(heap);
            let mut classes = (1..CLASSES).map(Class::numbered);
            hold(
                classes
                    .all(|class| heap.units(class) == (units.iter().sum(), units[class.index()])),
                BrokenMalloc::Count((&raw const *heap).addr()),
            )?;
        }
        Ok(())
    }

    /// The units of a heap's spans by class, without those that are being made.
    fn units_of(&self, heap: &'static Heap) -> [usize; CLASSES] {
        let records = self
            .0
            .pool
            .arenas()
            .flat_map(|arena| (0..64).map(|at| self.0.map.span_at(arena.unit_base(at))));
        let made = records.filter(|span| span.owner.is(heap) && span.listed.get() != MAKING);
        made.fold([0; CLASSES], |mut units, span| {
            units[span.class().index()] += span.class().units();
            units
        })
    }

    fn check_arena(&self, arena: &'static Arena) -> Result<(), BrokenMalloc> {
        let (free, dirty) = (arena.free.get(), arena.dirty.get());
        let idle = arena.idle.get();
        hold(
            dirty & !free == 0 && idle & !dirty == 0 && free & arena.leaving.get() == 0,
            BrokenMalloc::Count(arena.base.get()),
        )?;
        for at in 0..64 {
            let base = arena.unit_base(at);
            let span = self.0.map.span_at(base);
            let is_free = (free | arena.leaving.get()) >> at & 1 == 1;
            hold(is_free == span.is(Use::Nothing), BrokenMalloc::Unit(base))?;
            hold(
                !is_free || span.owner.get().is_none(),
                BrokenMalloc::Unit(base),
            )?;
            if span.is(Use::Rest) {
                let first = self.0.map.first_unit(base);
                let led = !first.is(Use::Rest) && !first.is(Use::Nothing);
                hold(led && first.base() < base, BrokenMalloc::Unit(base))?;
            }
            if !is_free {
                hold(span.unit.get() == unit_of(base), BrokenMalloc::Unit(base))?;
            }
            if span.is(Use::Blocks) {
                self.check_span(span)?;
            } else if span.is(Use::Empty) {
                self.check_words(span)?;
            }
        }
        let (own, most) = (arena.longest.get(), arena.most.get());
        hold(
            usize::from(own) == longest(free) && most >= own,
            BrokenMalloc::Count(arena.base.get()),
        )
    }

    fn check_words(&self, span: &'static Span) -> Result<(), BrokenMalloc> {
        let broken = BrokenMalloc::Words(span.base());
        let words = self.0.map.words(span).ok_or(broken)?;
        let carved = usize::from(span.carved.get());
        hold(carved <= span.blocks(), broken)?;
        let magic = span.class().magic();
        hold(
            span.magic.get() == magic && span.limit.get() == magic,
            broken,
        )?;
        let mut free = 0;
        for word in 0..64 {
            let bits = words.free(span.unit.get(), word).get();
            hold((bits != 0) == (span.summary.get() >> word & 1 == 1), broken)?;
            let past = carved.saturating_sub(word * 64).min(64);
            let inside = u64::MAX.checked_shr(64 - past as u32).unwrap_or(0);
            hold(bits & !inside == 0, broken)?;
            free += bits.count_ones();
        }
        hold(free == u32::from(span.free.get()), broken)
    }

    fn check_span(&self, span: &'static Span) -> Result<(), BrokenMalloc> {
        self.check_words(span)?;
        if span.listed.get() == MAKING {
            return Ok(());
        }
        let ends = self.0.fence_of(span.base(), span.class().units());
        hold(span.fence.get() == ends, BrokenMalloc::Unit(span.base()))?;
        let listed = span.listed.get() == LISTED;
        let owned = span.owner.get().is_some();
        hold(
            owned && listed != span.is_exhausted(),
            BrokenMalloc::List(span.base()),
        )
    }

    fn check_list(&self, heap: &'static Heap, class: Class) -> Result<(), BrokenMalloc> {
        let (mut prev, mut unit) = (0, heap.first(class).get());
        while unit != 0 {
            let span = self.0.map.span(unit);
            let right = span.owner.is(heap) && span.class() == class && span.listed.get() == LISTED;
            hold(
                right && span.prev.get() == prev,
                BrokenMalloc::List(span.base()),
            )?;
            (prev, unit) = (unit, span.next.get());
        }
        Ok(())
    }

    fn check_stack(&self, heap: &'static Heap, class: Class) -> Result<(), BrokenMalloc> {
        let mut found = Ok(());
        heap.cache.bins.each(class, |address| {
            let span = self.0.map.first_unit(address);
            let block = span.block_at(address).filter(|_| span.owner.is(heap));
            let words = self.0.map.words(span);
            let kept = block.zip(words).is_some_and(|(block, words)| {
                let bits = words.free(span.unit.get(), block / 64).get();
                span.class() == class && bits >> (block % 64) & 1 == 0
            });
            if !kept {
                found = Err(BrokenMalloc::Kept(address));
            }
        });
        found
    }

    /// Counts all memory. Exact if no thread is in a gate meanwhile.
    pub(crate) fn statistics(&self) -> Statistics {
        let mut sum = Statistics {
            dirty_bytes: self.0.pool.dirty_bytes() + self.0.pool.mappings.bytes(),
            huge_bytes: self.0.pool.huge.get(),
            huge_blocks: self.0.pool.huge_count.get(),
            ..Statistics::default()
        };
        sum.used_bytes += sum.huge_bytes;
        sum.used_blocks += sum.huge_blocks;
        for arena in self.0.pool.arenas() {
            sum.arena_bytes += ARENA;
            for unit in 0..UNITS {
                let span = self.0.map.span_at(arena.base.get() + unit * UNIT);
                if span.is(Use::Large) {
                    sum.used_bytes += span.summary.get() as usize;
                    sum.used_blocks += 1;
                } else if span.is(Use::Blocks) {
                    self.count_span(span, &mut sum);
                } else if span.is(Use::Empty) {
                    sum.used_blocks += usize::from(span.carved.get() - span.free.get());
                } else if span.is(Use::Guarded) {
                    let block = GuardedBlocks::<C>::block(span);
                    sum.used_blocks += usize::from(block.is_some());
                    sum.used_bytes += block.map_or(0, |(_, size)| size);
                }
            }
        }
        for heap in self.0.pool.heaps() {
            if heap.zone.get() == 1 {
                sum.zones += 1;
            } else if heap.is_running() {
                sum.heaps_running += 1;
            } else {
                sum.heaps_ended += 1;
            }
            for class in (1..CLASSES).map(Class::numbered) {
                sum.unuse(heap.cache.bins.len(class), class.size());
            }
            for (_, class) in heap.cache.waits() {
                sum.unuse(1, class.size());
            }
            for (span, place) in heap.cache.outgoing.each() {
                sum.unuse(place.bits.get().count_ones() as usize, span.class().size());
            }
        }
        sum
    }

    fn count_span(&self, span: &'static Span, sum: &mut Statistics) {
        let words =
            (0..64).filter_map(|at| Some(self.0.map.words(span)?.remote(span.unit.get(), at)));
        // Relaxed: a count, which is exact only if no thread posts meanwhile.
        let posted = words.map(|word| word.load(Ordering::Relaxed).count_ones() as usize);
        let posted: usize = posted.sum();
        let (carved, size) = (usize::from(span.carved.get()), span.class().size());
        sum.used_blocks += carved;
        sum.used_bytes += carved * size;
        sum.unuse(usize::from(span.free.get()) + posted, size);
    }
}

impl Statistics {
    /// Moves blocks that were counted as used to the free ones. A thread in a gate moves blocks
    /// during the count, so some are counted twice, and more may be free than were found in use.
    fn unuse(&mut self, blocks: usize, size: usize) {
        self.used_blocks = self.used_blocks.saturating_sub(blocks);
        self.used_bytes = self.used_bytes.saturating_sub(blocks * size);
        self.free_bytes += blocks * size;
    }
}
