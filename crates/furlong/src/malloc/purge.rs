//! Memory that goes back to the system: what is too much at once, and what nobody has taken for a
//! while.
//!
//! Nobody waits for time to pass: slow ways look at the clock now and then, and rounds of half the
//! delay are made by who finds that one is due. A unit that is dirty in one round, and still is in
//! the next, goes; so does a kept mapping. A heap's round empties its stacks and retires its whole
//! spans: what it needs of them comes back in its next slow ways.
#![forbid(unsafe_code)]

use crate::sync::atomic::Ordering;

use super::{
    allocator::Malloc,
    arena::{Arena, UNITS},
    class::{Class, UNIT},
    config::Config,
    current::CurrentHeap,
    exchange::Exchange,
    field::Bits,
    heap::Heap,
    pool::Pool,
    source::PageSource,
    span::Span,
    system::{System, clear},
    units::{run, runs},
};

/// The slow ways of a heap between two looks at the clock.
const LOOKS: usize = 16;

/// A program that has no more bytes altogether is not asked what the time is.
const LITTLE: usize = 4 << 20;

impl Pool {
    /// Puts an arena that became dirty behind those that did before.
    pub(crate) fn queue(&'static self, arena: &'static Arena) {
        if arena.queued.get() == 1 {
            return;
        }
        arena.queued.set(1);
        arena.next_dirty.set(None);
        match self.dirty_last.get() {
            Some(last) => last.next_dirty.set(Some(arena)),
            None => self.dirty_first.set(Some(arena)),
        }
        self.dirty_last.set(Some(arena));
    }

    /// Takes the arena out that has been dirty longest.
    fn unqueue(&'static self) -> Option<&'static Arena> {
        let arena = self.dirty_first.get()?;
        self.dirty_first.set(arena.next_dirty.get());
        if arena.next_dirty.get().is_none() {
            self.dirty_last.set(None);
        }
        arena.queued.set(0);
        Some(arena)
    }
}

impl<C: Config> Malloc<C> {
    /// A slow way of a heap's, which holds no latch.
    #[inline(always)]
    pub(crate) fn tend(&'static self, heap: &'static Heap) {
        match heap.own.until_look.get().checked_sub(1) {
            Some(left) => heap.own.until_look.set(left),
            None => {
                heap.own.until_look.set(LOOKS);
                self.look(heap);
            }
        }
    }

    /// Looks at the clock for the caller's heap.
    pub(crate) fn tend_large(&'static self) {
        self.look(C::Current::get());
    }

    /// Makes the rounds that are due. No latch is held.
    #[cold]
    #[inline(never)]
    fn look(&'static self, heap: &'static Heap) {
        let pool = &self.pool;
        let all = pool.live_bytes() + pool.dirty_bytes() + pool.kept.bytes();
        if all <= LITTLE {
            return;
        }
        let now = self.source.now_ms();
        if heap.is_running() && self.begins_round(&heap.own.round_ms, now) {
            self.give_idle(heap);
        }
        if self.is_due(&pool.round_ms, now) {
            let begins = self.with_pool(|pool| {
                let begins = self.begins_round(&pool.round_ms, now);
                if begins {
                    self.purge_idle();
                }
                begins
            });
            if begins {
                self.unmap_idle();
            }
        }
    }

    /// Whether a round is due, or its time is not known yet. Another thread may have begun one at a
    /// later time than the caller's.
    fn is_due(&'static self, last: &Bits, now: u64) -> bool {
        let passed = now.saturating_sub(last.get());
        passed > 0 && (last.get() == 0 || passed > self.policy.purge_delay_ms() / 2)
    }

    /// Notes a round that is due. `false`: there is none, or from now on there is a time since
    /// which it may be due: what a program has at its first look it may just have begun with.
    fn begins_round(&'static self, last: &Bits, now: u64) -> bool {
        let known = last.get() != 0;
        let due = self.is_due(last, now);
        if due {
            last.set(now);
        }
        due && known
    }

    /// Gives back what a heap keeps but does not use at this moment.
    fn give_idle(&'static self, heap: &'static Heap) {
        self.post_outgoing(heap);
        self.lock_heap(heap);
        self.collect(heap);
        self.empty_stacks(heap);
        self.retire_whole(heap);
        Class::medium().for_each(|class| self.purge_blocks(heap, class));
        self.unlock_heap(heap);
    }

    /// Purges the free blocks of a class of medium blocks in the heap's spans that are as they were
    /// in its last round. The page in which a block begins stays, for what the block carries.
    fn purge_blocks(&'static self, heap: &'static Heap, class: Class) {
        let mut unit = heap.first(class).get();
        while unit != 0 {
            let span = self.map.span(unit);
            unit = span.next.get();
            let free = span.free.get();
            if span.quiet.get() != free {
                span.quiet.set(free);
                span.purged.set(0);
            } else if span.purged.get() == 0 {
                span.purged.set(1);
                self.purge_free(span);
            }
        }
    }

    /// All medium blocks of a span are of one word.
    fn purge_free(&'static self, span: &'static Span) {
        let page = self.source.page_size();
        let words = self.map.words(span);
        let mut bits = words.map_or(0, |words| words.free(span.unit.get(), 0).get());
        while bits != 0 {
            let block = span.address_of(bits.trailing_zeros() as usize);
            bits &= bits - 1;
            let from = (block + 1).next_multiple_of(page);
            let to = (block + span.class().size()) / page * page;
            if from < to {
                self.source.purge_at(from, to - from);
            }
        }
    }

    /// Purges the units that have been dirty since the last round, under the pool's latch.
    fn purge_idle(&'static self) {
        self.pool.forget_gone();
        let last = self.pool.dirty_last.get();
        while let Some(arena) = self.pool.unqueue() {
            self.purge_units(arena, arena.dirty.get() & arena.idle.get());
            arena.idle.set(arena.dirty.get());
            if arena.dirty.get() != 0 {
                self.pool.queue(arena);
            }
            if last.is_some_and(|last| core::ptr::eq(last, arena)) {
                return;
            }
        }
    }

    /// Gives dirty memory back to the system, the oldest arenas' first, until no more than so many
    /// bytes are left. Under the pool's latch.
    pub(crate) fn purge_down_to(&'static self, most: usize) {
        let before = self.pool.dirty_bytes();
        while self.pool.dirty_bytes() > most
            && let Some(arena) = self.pool.unqueue()
        {
            self.purge_units(arena, arena.dirty.get());
        }
        self.pool.note_gone(before - self.pool.dirty_bytes());
    }

    /// Purges dirty units of an arena, as far as the system takes them.
    fn purge_units(&'static self, arena: &'static Arena, units: u64) {
        let pool = &self.pool;
        for (at, len) in runs(units) {
            if self.source.purge_at(arena.unit_base(at), len * UNIT) {
                arena.dirty.set(arena.dirty.get() & !run(at, len));
                arena.idle.set(arena.idle.get() & !run(at, len));
                pool.dirty.set(pool.dirty.get() - len);
            }
        }
        if units != 0 && arena.free.get() == u64::MAX {
            self.purge_words(arena);
            self.purge_spans(arena);
        }
    }

    /// Gives the words of an arena without a span back, too. They are all zero: blocks that are
    /// free are of spans, and a block is posted while it is one.
    fn purge_words(&'static self, arena: &'static Arena) {
        if let Some(words) = arena.words.get() {
            let start = (&raw const *words).expose_provenance();
            let len = size_of_val(words).next_multiple_of(self.source.page_size());
            if !self.source.purge_at(start, len) {
                clear(start, size_of_val(words));
            }
        }
    }

    /// Gives the records of an arena's units back, too, if none of them is in a heap's queue: they
    /// are of nothing, as zeros are.
    ///
    /// Who is about to post, after another's work has already freed the block, finds that the span
    /// has no owner, and asks the pool, whose latch is held here, before it does anything. A span
    /// in a queue has something posted until it is taken out.
    fn purge_spans(&'static self, arena: &'static Arena) {
        let first = self.map.span_at(arena.base.get());
        let len = UNITS * size_of::<Span>();
        let spans = (0..UNITS).map(|unit| self.map.span_at(arena.base.get() + unit * UNIT));
        // Acquire: pairs with the swaps that take a span out of a queue.
        let mut posted = spans.map(|span| span.posted.load(Ordering::Acquire));
        let start = (&raw const *first).expose_provenance();
        let page = self.source.page_size();
        if (start | len).is_multiple_of(page) && posted.all(|posted| posted == 0) {
            self.source.purge_at(start, len);
        }
    }
}
