//! The amount of memory in use: exact, and without cost until it is requested, since nothing is
//! counted before.
#![forbid(unsafe_code)]

use crate::sync::atomic::Ordering;

use crate::malloc::{
    class::{CLASSES, Class, UNIT},
    config::Config,
    front::malloc::Malloc,
    os::current::CurrentHeap,
};

use super::{
    arena::{ARENA, UNITS},
    span::{Span, Use},
};

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
    /// Bytes of objects that the system mapped for themselves.
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

impl<C: Config> Malloc<C> {
    /// Counts all memory. Exact if no thread is in a gate meanwhile.
    ///
    /// # Cost
    /// O(units): it walks all arenas under all latches.
    #[must_use]
    pub fn statistics(&'static self) -> Statistics {
        let _pin = C::Current::pin();
        let _held = self.hold_all();
        let mut sum = Statistics {
            dirty_bytes: self.pool.dirty_bytes() + self.pool.mappings.bytes(),
            huge_bytes: self.pool.huge.get(),
            huge_blocks: self.pool.huge_count.get(),
            ..Statistics::default()
        };
        sum.used_bytes += sum.huge_bytes;
        sum.used_blocks += sum.huge_blocks;
        for arena in self.pool.arenas() {
            sum.arena_bytes += ARENA;
            for unit in 0..UNITS {
                let span = self.map.span_at(arena.base.get() + unit * UNIT);
                if span.is(Use::Large) {
                    sum.used_bytes += span.summary.get() as usize;
                    sum.used_blocks += 1;
                } else if span.is(Use::Blocks) {
                    self.count_span(span, &mut sum);
                }
            }
        }
        for heap in self.pool.heaps() {
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

    fn count_span(&'static self, span: &'static Span, sum: &mut Statistics) {
        let posted = self.map.words(span).map_or(0, |words| {
            let word = |word| words.remote(span.unit.get(), word).load(Ordering::SeqCst);
            (0..64).map(|at| word(at).count_ones() as usize).sum()
        });
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
