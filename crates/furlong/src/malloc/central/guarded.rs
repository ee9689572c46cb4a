//! Blocks with guard pages: one of many allocations has pages of its own between inaccessible ones,
//! and ends where its pages end. So an access past its end faults at once, and any access after it
//! was freed. The idea is that of GWP-ASan: a check that every process can afford finds in many
//! processes what tests have missed.
//!
//! Slow paths of allocation choose such blocks, so no gate counts anything. Each has a run of units
//! that no other block shares. The runs of the blocks that were freed last stay inaccessible.
#![forbid(unsafe_code)]

use crate::forms::copies;
use crate::malloc::{
    Bits, Central, Class, Config, Half, Hardening, Misuse, PageSource, Span, System, ThreadHeap,
    UNIT, UnitRequest, Use, stop, unit_of,
};
use crate::sync::record;

use super::span::base_of;

/// The number of freed runs that wait: the oldest is used again when there are as many.
const WAITING: usize = 64;

/// The most runs, in use or waiting. Each cuts a mapping of the system into up to four, and a
/// process of Linux may have 65,530.
const RUNS: u32 = 1024;

/// The flag of a run without a block in use. The other bits are the size of its last block, and the
/// place of that block in the run.
const FREED: u64 = 1 << 63;
const SIZE_SHIFT: u32 = 32;

record! {
    /// The runs of a pool, under its latch.
    #[derive(Debug)]
    pub(crate) struct GuardedRuns {
        /// Those that wait, by unit, as a ring: the oldest is at `next`, if the ring is full. 0 is
        /// none.
        waiting: [Half; WAITING] = [const { Half::new(0) }; WAITING],
        next: Half = Half::new(0),
        /// The number of all runs.
        count: Half = Half::new(0),
        /// The millisecond of the last block that was chosen.
        last_ms: Bits = Bits::new(0),
    }
    pub(crate) const fn new;
}

impl GuardedRuns {
    fn oldest(&self) -> &Half {
        &self.waiting[self.next.get() as usize % WAITING]
    }

    /// Takes the oldest run if enough wait; 0 if not.
    fn take(&self) -> u32 {
        let oldest = self.oldest().get();
        self.oldest().set(0);
        oldest
    }

    /// Puts a run last. Returns the oldest if one too many waits; else 0.
    fn put(&self, unit: u32) -> u32 {
        let oldest = self.oldest().get();
        self.oldest().set(unit);
        self.next.set(self.next.get().wrapping_add(1));
        oldest
    }
}

/// The blocks with guard pages of an allocator.
pub(crate) struct GuardedBlocks<C: Config>(pub(crate) &'static Central<C>);

copies! { GuardedBlocks<C> where [C: Config]; }

impl<C: Config> GuardedBlocks<C> {
    /// True if the block that a slow path of this heap is about to allocate is to be one. Not for
    /// a zone, which frees only its spans and objects, nor with seals, which lie behind blocks.
    #[inline]
    pub(crate) fn is_due(self, own: ThreadHeap<C>) -> bool {
        let every = self.0.policy.guarded_every();
        every > 0 && !C::Hardening::SCRUB && own.heap.zone.get() == 0 && self.is_next(own, every)
    }

    /// Counts down to the next one.
    #[cold]
    #[inline(never)]
    fn is_next(self, own: ThreadHeap<C>, every: usize) -> bool {
        let left = own.heap.cache.until_guarded.get();
        let next = match left {
            // The mean is `every`. A new heap has 0: its first block is as likely as any.
            0 | 1 => 1 + own.heap.cache.next_random() % every.saturating_mul(2).saturating_sub(1),
            left => left - 1,
        };
        own.heap.cache.until_guarded.set(next);
        left == 1 && (every == 1 || self.is_time())
    }

    /// True once a millisecond, since a block costs about 10 microseconds; and always if the system
    /// has no clock.
    fn is_time(self) -> bool {
        let now = self.0.source.now_ms();
        self.0.with_pool(|pool| {
            let is_time = now == 0 || now != pool.guarded.last_ms.get();
            pool.guarded.last_ms.set(now);
            is_time
        })
    }

    /// Allocates one. `None` if its class is too large or may be asked for an alignment above a
    /// page, or if the system cannot.
    #[cold]
    #[inline(never)]
    pub(crate) fn allocate(self, class: Class) -> Option<usize> {
        let page = self.0.source.page_size();
        let (size, len) = (class.size(), Self::run_len(page));
        let (room, align) = (size.next_multiple_of(page), 1 << size.trailing_zeros());
        if align > page || room + 2 * page > len {
            return None;
        }
        let base = self.take_run(len)?;
        if !self.0.source.unguard_at(base + page, room) {
            self.keep_run(base, len);
            return None;
        }
        // Pages are multiples of the alignment, and so is the size.
        let place = page + room - size;
        self.0.with_pool(|_| {
            let record = (size as u64) << SIZE_SHIFT | place as u64;
            self.0.map.span_at(base).summary.set(record);
        });
        Some(base + place)
    }

    /// The length of a run: at least a page between two others, in whole units.
    fn run_len(page: usize) -> usize {
        (3 * page).next_multiple_of(UNIT)
    }

    /// An inaccessible run: one that has waited, or a new one.
    fn take_run(self, len: usize) -> Option<usize> {
        let (oldest, count) =
            (self.0).with_pool(|pool| (pool.guarded.take(), pool.guarded.count.get()));
        if oldest != 0 {
            return Some(base_of(oldest));
        }
        let units = len / UNIT;
        let note = |base| self.note_run(base, units);
        let new = (count < RUNS).then(|| self.0.claim_units(UnitRequest::units(units), &note));
        let (base, _) = new??;
        // What was there before would stay in memory.
        self.0.purge_part(base, len);
        if self.0.source.guard_at(base, len) {
            return Some(base);
        }
        self.retire_run(base, units);
        None
    }

    fn note_run(self, base: usize, units: usize) {
        let (span, count) = (self.0.map.span_at(base), &self.0.pool.guarded.count);
        span.unit.set(unit_of(base));
        span.summary.set(FREED);
        span.listed.set(0);
        self.0.map.mark_rest(base, units);
        span.use_for(Use::Guarded);
        count.set(count.get() + 1);
    }

    fn retire_run(self, base: usize, units: usize) {
        self.0.with_pool(|pool| {
            pool.guarded.count.set(pool.guarded.count.get() - 1);
            self.0.retire_units(base, units);
        });
    }

    /// Keeps an inaccessible run for later, and gives the one back for which there is no place any
    /// more. If the system cannot make that accessible, it stays as it is for good.
    fn keep_run(self, base: usize, len: usize) {
        let oldest = self.0.with_pool(|pool| pool.guarded.put(unit_of(base)));
        if oldest != 0 && self.0.source.unguard_at(base_of(oldest), len) {
            self.retire_run(base_of(oldest), len / UNIT);
        }
    }

    /// Frees one. Stops the program if it is free, or if it does not begin there.
    #[cold]
    #[inline(never)]
    pub(crate) fn free(self, span: &'static Span, address: usize) {
        let page = self.0.source.page_size();
        let live = self.0.with_pool(|_| {
            let live = Self::block(span);
            if live.is_some_and(|(block, _)| block == address) {
                span.summary.set(span.summary.get() | FREED);
            }
            live
        });
        let room = self.room_of(live, address).next_multiple_of(page);
        self.0.source.purge_at(span.base() + page, room);
        self.0.source.guard_at(span.base() + page, room);
        self.keep_run(span.base(), Self::run_len(page));
    }

    /// The size of a block in use. Stops the program if none begins there.
    #[cold]
    #[inline(never)]
    pub(crate) fn room(self, span: &'static Span, address: usize) -> usize {
        self.room_of(Self::block(span), address)
    }

    fn room_of(self, live: Option<(usize, usize)>, address: usize) -> usize {
        match live {
            Some((block, size)) if block == address => size,
            Some(_) => stop(&self.0.source, Misuse::NotABlock, address),
            None => stop(&self.0.source, Misuse::DoubleFree, address),
        }
    }

    /// The block in use of a run, and its size.
    pub(crate) fn block(span: &'static Span) -> Option<(usize, usize)> {
        let record = span.summary.get();
        let size = (record >> SIZE_SHIFT) as usize;
        (record & FREED == 0).then_some((block_of(span), size))
    }

    /// The mistake of an access that has faulted at an address, and its block. `None` if no block
    /// with guard pages is or was there.
    pub(crate) fn mistake_at(self, address: usize) -> Option<(Misuse, usize)> {
        let span = self.0.map.first_unit(address);
        let misuse = match span.summary.get() & FREED {
            0 => Misuse::OutOfBounds,
            _ => Misuse::UsedAfterFree,
        };
        span.is(Use::Guarded).then(|| (misuse, block_of(span)))
    }
}

/// The address of a run's last block.
#[expect(clippy::cast_possible_truncation, reason = "the lower half")]
fn block_of(span: &'static Span) -> usize {
    span.base() + span.summary.get() as u32 as usize
}
