//! Memory that goes back to the system: at once if there is too much, and after a delay if nobody
//! uses it.
//!
//! No thread waits for time to pass. Slow paths of freeing read the clock now and then, and run a
//! round if one is due, after half the delay. A unit that is dirty in two successive rounds is
//! purged, and a kept mapping is unmapped likewise. A heap's round empties its stacks and retires
//! its whole spans; the heap gets blocks that it needs again in its next slow paths. The pool's
//! round does so for heaps that have ended and that nobody has taken over for two rounds.
//!
//! No latch is held while the system takes memory. Units on their way are neither free nor in use
//! meanwhile; an arena that goes as a whole has left the pool first. Only threads that free do this
//! work, never one that allocates. They do one step at a time, or more if they free memory faster
//! than that.

use crate::malloc::{
    Arena, Bits, Central, Config, Exchange, Heap, PageSource, Pool, Span, State, System,
    ThreadHeap, UNIT, unit_of,
};

use super::super::runs::{run, runs};

/// Units in a step, roughly.
const STEP: usize = 16;

/// The number of empty arenas of each kind that stay mapped, purged, so that a program that
/// allocates and frees in turn does not map one each time.
const EMPTY: usize = 4;

/// Work: more memory is dirty than allowed.
pub(crate) const TOO_MUCH: u8 = 1;
/// Work: a round is not finished.
const ROUND: u8 = 2;

/// Memory that goes to the system.
enum Parting {
    /// Units of an arena.
    Units(&'static Arena, u64),
    /// An arena that has left the pool.
    Whole(&'static Arena, usize),
    /// A kept mapping.
    Mapping(usize, usize),
}

impl Pool {
    /// Appends an arena that became dirty to the queue.
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

    /// Removes the arena that has been dirty longest from the queue.
    fn unqueue(&'static self) -> Option<&'static Arena> {
        let arena = self.dirty_first.get()?;
        self.dirty_first.set(arena.next_dirty.get());
        if arena.next_dirty.get().is_none() {
            self.dirty_last.set(None);
        }
        arena.queued.set(0);
        Some(arena)
    }

    /// Detaches dirty units of an arena that is in no queue. Detaches the arena itself if it has no
    /// used unit, the system takes arenas back, and enough other arenas are empty.
    fn part(&'static self, arena: &'static Arena, units: u64, returns: bool) -> Parting {
        let is_whole = arena.free.get() == arena.whole() && arena.dirty.get() == units;
        if returns && is_whole && self.empty_like(arena).get() > EMPTY {
            self.remove(arena);
            return Parting::Whole(arena, units.count_ones() as usize);
        }
        let count = units.count_ones() as usize;
        self.set_free(arena, arena.free.get() & !units);
        arena.dirty.set(arena.dirty.get() & !units);
        arena.idle.set(arena.idle.get() & !units);
        arena.leaving.set(arena.leaving.get() | units);
        self.dirty.set(self.dirty.get() - count);
        self.leaving.set(self.leaving.get() + count);
        Parting::Units(arena, units)
    }

    /// Makes units that were on their way free again; `dirty` ones may be non-zero. The arena is
    /// not queued for them: if a source refused to purge them, it is not called again until more of
    /// the arena is given back. Otherwise it would be called for ever.
    fn arrive(&'static self, arena: &'static Arena, units: u64, dirty: u64) {
        arena.leaving.set(arena.leaving.get() & !units);
        self.leaving
            .set(self.leaving.get() - units.count_ones() as usize);
        self.set_free(arena, arena.free.get() | units);
        if dirty != 0 {
            arena.dirty.set(arena.dirty.get() | dirty);
            self.dirty
                .set(self.dirty.get() + dirty.count_ones() as usize);
        }
    }

    /// For a forked process, whose parent's threads were giving memory back: nobody does so here.
    pub(crate) fn arrive_all(&'static self) {
        if self.leaving.get() != 0 {
            self.arenas()
                .filter(|arena| arena.leaving.get() != 0)
                .for_each(|arena| {
                    self.arrive(arena, arena.leaving.get(), arena.leaving.get());
                    self.queue(arena);
                });
        }
    }

    /// The arena that has been dirty longest, with all its dirty units, if more than `most` bytes
    /// are dirty.
    fn dirtiest(&'static self, most: usize) -> Option<(&'static Arena, u64)> {
        let arena = (self.dirty_bytes() > most).then(|| self.unqueue())??;
        let units = arena.dirty.get();
        self.note_gone(units.count_ones() as usize * UNIT);
        Some((arena, units))
    }

    /// The next arena with units that have been dirty since the last round. Units that became dirty
    /// later stay until the next round.
    fn idle(&'static self) -> Option<(&'static Arena, u64)> {
        loop {
            let first = self.dirty_first.get()?;
            if first.round.get() == self.round.get() {
                return None;
            }
            let arena = self.unqueue()?;
            arena.round.set(self.round.get());
            let units = arena.dirty.get() & arena.idle.get();
            arena.idle.set(arena.dirty.get());
            if units != 0 {
                return Some((arena, units));
            }
            if arena.dirty.get() != 0 {
                self.queue(arena);
            }
        }
    }
}

impl<C: Config> Central<C> {
    /// Does one step of the pending work, or as many steps as it takes until no more is dirty than
    /// allowed.
    #[inline]
    pub(crate) fn purge_excess(&'static self) {
        while self.pool.work.get() != 0
            && self.step()
            && self.pool.dirty_bytes() > self.dirty_bytes_max()
        {}
    }

    /// True if a round is due, or the time of the last one is not known yet. Another thread may
    /// have begun one at a later time than the caller's.
    fn is_due(&'static self, last: &Bits, now: u64) -> bool {
        let passed = now.saturating_sub(last.get());
        passed > 0 && (last.get() == 0 || passed > self.policy.purge_delay_ms() / 2)
    }

    /// Records a round that is due. `false` if none is due, or if this is the first look at the
    /// clock, which only starts the interval: all memory may be new at that moment.
    pub(crate) fn begins_round(&'static self, last: &Bits, now: u64) -> bool {
        let known = last.get() != 0;
        let due = self.is_due(last, now);
        if due {
            last.set(now);
        }
        due && known
    }

    /// Purges the free blocks of a span. All medium blocks of a span are in one word. `false` if
    /// the span is in a huge page that has not been split, and less than half of its blocks are
    /// free: so little is not worth a huge page.
    pub(crate) fn purge_free(&'static self, span: &'static Span) -> bool {
        let Some(arena) = self.map.arena(span.unit.get()) else {
            return false;
        };
        let units = run(span.unit.get() % 64, span.class().units());
        if arena.partly_in(units) != 0 {
            if usize::from(span.free.get()) * 2 < span.blocks() {
                return false;
            }
            self.split_for(arena, units);
        }
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
        true
    }

    /// Splits the huge pages of which only a part is among these units, and returns their units.
    /// Another thread may do so, too. No latch is held.
    fn split_pages(&'static self, arena: &'static Arena, units: u64) -> u64 {
        let pages = arena.partly_in(units);
        for (at, len) in runs(pages) {
            self.source
                .split_huge_pages_at(arena.unit_base(at), len * UNIT);
        }
        pages
    }

    fn split_for(&'static self, arena: &'static Arena, units: u64) {
        let split = self.split_pages(arena, units);
        if split != 0 {
            self.with_pool(|_| arena.note_split(split));
        }
    }

    /// Purges a part of units in use. No latch is held.
    pub(crate) fn purge_part(&'static self, start: usize, len: usize) {
        if let Some(arena) = self.map.arena(unit_of(start)) {
            self.split_for(arena, run(unit_of(start) % 64, len.div_ceil(UNIT)));
        }
        self.source.purge_at(start, len);
    }

    /// Does a part of the pending work. `false` if there was none.
    #[cold]
    #[inline(never)]
    fn step(&'static self) -> bool {
        let mut units = 0;
        while units < STEP {
            match self.part_with(|pool| self.next_work(pool)) {
                Some(gone) => units += gone,
                None => return units > 0,
            }
        }
        true
    }

    /// The next excess or idle memory to go. Under the pool's latch.
    fn next_work(&'static self, pool: &'static Pool) -> Option<Parting> {
        let part = |(arena, units)| self.part(pool, arena, units);
        if pool.work.get() & TOO_MUCH != 0 {
            // Further down than required, so that not every free has to do this work.
            if let Some(dirtiest) = pool.dirtiest(self.dirty_bytes_max() / 2) {
                return Some(part(dirtiest));
            }
            pool.work.set(pool.work.get() & !TOO_MUCH);
        }
        if pool.work.get() & ROUND != 0 {
            let kept = || {
                pool.mappings
                    .take_idle()
                    .map(|(base, len)| Parting::Mapping(base, len))
            };
            let next = pool.idle().map(part).or_else(kept);
            if next.is_some() {
                return next;
            }
            pool.work.set(pool.work.get() & !ROUND);
        }
        None
    }

    /// Gives dirty memory back to the system, that of the oldest arenas first, until no more than
    /// `most` bytes are left. No latch is held.
    pub(crate) fn purge_down_to(&'static self, most: usize) {
        let next = |pool: &'static Pool| {
            let (arena, units) = pool.dirtiest(most)?;
            Some(self.part(pool, arena, units))
        };
        while self.part_with(next).is_some() {}
    }

    /// Unmaps the arenas without a used unit. Returns `true` if there was one.
    fn unmap_empty(&'static self) -> bool {
        let next = |pool: &'static Pool| {
            let is_empty = |arena: &&'static Arena| {
                arena.free.get() == arena.whole() && arena.queued.get() == 0
            };
            // The count spares the walk over all arenas when none is empty, as most often.
            let empty = (pool.has_empty() && self.source.returns_arenas())
                .then(|| pool.arenas().find(is_empty))??;
            pool.remove(empty);
            Some(Parting::Whole(empty, 0))
        };
        let found = self.part_with(next).is_some();
        while found && self.part_with(next).is_some() {}
        found
    }

    fn part(&'static self, pool: &'static Pool, arena: &'static Arena, units: u64) -> Parting {
        let parting = pool.part(arena, units, self.source.returns_arenas());
        if arena.dirty.get() != 0 {
            pool.queue(arena);
        }
        parting
    }

    /// Gives the system the memory that `choose` selects under the pool's latch. Returns its number
    /// of units.
    fn part_with(
        &'static self,
        choose: impl FnOnce(&'static Pool) -> Option<Parting>,
    ) -> Option<usize> {
        match self.with_pool(choose)? {
            Parting::Units(arena, units) => {
                let split = self.split_pages(arena, units);
                let mut dirty = 0;
                for (at, len) in runs(units) {
                    if !self.source.purge_at(arena.unit_base(at), len * UNIT) {
                        dirty |= run(at, len);
                    }
                }
                let spare = self.with_pool(|pool| {
                    arena.note_split(split);
                    pool.arrive(arena, units, dirty);
                    // The rest of the arena may have become free meanwhile.
                    (arena.dirty.get() == 0 && arena.queued.get() == 0)
                        .then(|| self.part(pool, arena, 0))
                });
                if let Some(Parting::Whole(arena, _)) = spare {
                    self.unmap_arena(arena);
                }
                Some(units.count_ones() as usize)
            }
            Parting::Whole(arena, units) => {
                self.unmap_arena(arena);
                Some(units)
            }
            Parting::Mapping(base, len) => {
                self.source.unmap_at(base, len);
                Some(len / UNIT)
            }
        }
    }

    /// Unmaps kept mappings, the oldest first, until they and the dirty units together are no more
    /// than `most` bytes. The last one only loses its end.
    pub(crate) fn unmap_mappings(&'static self, most: impl Fn() -> usize) {
        let next = || {
            self.with_pool(|pool| {
                let have = pool.mappings.bytes() + pool.dirty_bytes();
                let excess = have.checked_sub(most()).filter(|excess| *excess > 0)?;
                let oldest = pool.mappings.cut_oldest(excess);
                pool.note_gone(oldest.map_or(0, |(_, len)| len));
                oldest
            })
        };
        while let Some((base, len)) = next() {
            self.source.unmap_at(base, len);
        }
    }

    /// Gives back the blocks that heaps have left which ended this many rounds ago or more. No
    /// latch is held.
    fn give_left(&'static self, rounds: u32) {
        let ended = |heap: &&'static Heap| {
            let (left, ended_in) = (&heap.cache.left, &heap.cache.ended_in);
            let age = self.pool.round.get().wrapping_sub(ended_in.get());
            left.get() > 0 && age >= rounds
        };
        for heap in self.pool.heaps().filter(ended) {
            let _held = self.hold_heap(heap);
            if heap.state() == State::Ended {
                ThreadHeap::new(self, heap).give_left();
            }
        }
    }

    /// Gives back the blocks that the caller's heap keeps and that ended heaps have left, and all
    /// free memory to the system. Returns `true` if the system got any.
    pub(crate) fn trim(&'static self) -> bool {
        let own = ThreadHeap::of_caller(self);
        if own.heap.is_running() {
            own.give_all();
        }
        self.give_left(0);
        let before = self.with_pool(|pool| pool.mappings.bytes() + pool.dirty_bytes());
        self.purge_down_to(0);
        self.unmap_mappings(|| 0);
        let unmapped = self.unmap_empty();
        // All of it was given back on request, so taking it again is no sign that the lower bound
        // is too low.
        self.with_pool(Pool::forget_gone);
        unmapped || before > 0
    }

    /// Begins a round of the pool if one is due. No latch is held.
    pub(crate) fn begin_round(&'static self, now: u64) {
        if !self.is_due(&self.pool.round_ms, now) {
            return;
        }
        let begins = self.with_pool(|pool| {
            let begins = self.begins_round(&pool.round_ms, now);
            if begins {
                pool.forget_gone();
                pool.round.set(pool.round.get().wrapping_add(1));
                pool.work.set(pool.work.get() | ROUND);
            }
            begins
        });
        if begins {
            self.give_left(2);
            self.step();
        }
    }
}
