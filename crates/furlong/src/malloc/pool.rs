//! What all heaps share: arenas, the memory in them that nobody has, and the list of heaps.
#![forbid(unsafe_code)]

use super::{
    allocator::Malloc,
    arena::{ARENA, Arena},
    class::UNIT,
    config::Config,
    field::{Bits, Link, Word},
    hardening::Hardening,
    heap::Heap,
    kept::Kept,
    latch::Latch,
    source::PageSource,
    span::{Use, unit_of},
    system::System,
    units::{find, run},
};

/// The shared state. Its latch guards everything here and all arenas; a heap's latch may be held
/// when it is taken, and nothing else is taken under it.
#[derive(Debug)]
pub(crate) struct Pool {
    latch: Latch,
    first: Link<Arena>,
    last: Link<Arena>,
    /// No arena before it has a free unit.
    hint: Link<Arena>,
    pub(crate) dirty_first: Link<Arena>,
    pub(crate) dirty_last: Link<Arena>,
    /// Units in use.
    live: Word,
    /// Units that nobody has and that are not known to be zeros.
    pub(crate) dirty: Word,
    /// Bytes that were too much and went back since the last round, and have not been taken again;
    /// and all those that have been.
    gone: Word,
    regretted: Word,
    /// When the last round was, or the first look at the clock; 0 before.
    pub(crate) round_ms: Bits,
    /// Bytes that the system mapped for huge objects.
    pub(crate) huge: Word,
    pub(crate) huge_count: Word,
    pub(crate) kept: Kept,
    pub(crate) heaps: Link<Heap>,
    /// While all latches are held for a fork: the first of the heaps whose latches are.
    pub(crate) held: Link<Heap>,
    /// How many heaps have ended and not been taken over; may be read at any time.
    pub(crate) ended: Word,
    /// What free blocks carry; 0 until anything was taken.
    pub(crate) mark: Word,
}

impl Pool {
    pub(crate) const fn new() -> Self {
        Self {
            latch: Latch::new(),
            first: Link::none(),
            last: Link::none(),
            hint: Link::none(),
            dirty_first: Link::none(),
            dirty_last: Link::none(),
            live: Word::new(0),
            dirty: Word::new(0),
            gone: Word::new(0),
            regretted: Word::new(0),
            round_ms: Bits::new(0),
            huge: Word::new(0),
            huge_count: Word::new(0),
            kept: Kept::new(),
            heaps: Link::none(),
            held: Link::none(),
            ended: Word::new(0),
            mark: Word::new(0),
        }
    }

    /// The arenas in the order in which they were made.
    pub(crate) fn arenas(&'static self) -> impl Iterator<Item = &'static Arena> {
        core::iter::successors(self.first.get(), |arena| arena.next.get())
    }

    /// The heaps, running and ended.
    pub(crate) fn heaps(&'static self) -> impl Iterator<Item = &'static Heap> {
        Self::heaps_from(self.heaps.get())
    }

    /// A heap and those that were there before it.
    pub(crate) fn heaps_from(first: Option<&'static Heap>) -> impl Iterator<Item = &'static Heap> {
        core::iter::successors(first, |heap| heap.next.get())
    }

    /// Bytes in use.
    pub(crate) fn live_bytes(&self) -> usize {
        self.live.get() * UNIT + self.huge.get()
    }

    /// Bytes that could be given back to the system.
    pub(crate) fn dirty_bytes(&self) -> usize {
        self.dirty.get() * UNIT
    }

    /// Notes that so many bytes went back before their time.
    pub(crate) fn note_gone(&self, bytes: usize) {
        self.gone.set(self.gone.get() + bytes);
    }

    /// Notes that so many bytes were taken that nobody had kept.
    pub(crate) fn note_taken(&self, bytes: usize) {
        let again = bytes.min(self.gone.get());
        self.gone.set(self.gone.get() - again);
        self.regretted.set(self.regretted.get() + again);
    }

    /// What went back before this round is not regretted.
    pub(crate) fn forget_gone(&self) {
        self.gone.set(0);
    }

    /// Whether the counts are those of all arenas.
    pub(crate) fn counts_are(&self, live: usize, dirty: usize) -> bool {
        self.live.get() == live && self.dirty.get() == dirty
    }

    fn append(&'static self, arena: &'static Arena) {
        match self.last.get() {
            Some(last) => {
                arena.order.set(last.order.get() + 1);
                last.next.set(Some(arena));
            }
            None => self.first.set(Some(arena)),
        }
        self.last.set(Some(arena));
        if self.hint.get().is_none() {
            self.hint.set(Some(arena));
        }
    }

    /// A run in an arena that is there: units with memory behind them first.
    fn take_here(&'static self, len: usize, align: usize) -> Option<(&'static Arena, u32)> {
        let mut arena = self.hint.get();
        while let Some(here) = arena {
            let free = here.free.get();
            if free == 0 && self.hint.is(here) && here.next.get().is_some() {
                self.hint.set(here.next.get());
            }
            let dirty = free & here.dirty.get();
            if let Some(at) = find(dirty, len, align).or_else(|| find(free, len, align)) {
                return Some((here, at));
            }
            arena = here.next.get();
        }
        None
    }

    /// Marks a free run as used, and says whether it is all zeros.
    fn use_run(&self, arena: &Arena, at: u32, len: usize) -> bool {
        let bits = run(at, len);
        let dirty = arena.dirty.get() & bits;
        arena.free.set(arena.free.get() & !bits);
        arena.dirty.set(arena.dirty.get() & !bits);
        arena.idle.set(arena.idle.get() & !bits);
        self.dirty
            .set(self.dirty.get() - dirty.count_ones() as usize);
        self.live.set(self.live.get() + len);
        self.note_taken((len - dirty.count_ones() as usize) * UNIT);
        dirty == 0
    }
}

impl<C: Config> Malloc<C> {
    /// Runs something under the pool's latch.
    pub(crate) fn with_pool<T>(&'static self, f: impl FnOnce(&'static Pool) -> T) -> T {
        self.lock_pool();
        if self.pool.mark.get() == 0 {
            self.begin();
        }
        let done = f(&self.pool);
        self.unlock_pool();
        done
    }

    /// What is to be done once, before anything is taken.
    #[cold]
    fn begin(&'static self) {
        self.policy.follow(&C::PROFILE);
        #[expect(clippy::cast_possible_truncation, reason = "any bits will do")]
        self.pool.mark.set(self.source.random() as usize | 1);
    }

    pub(crate) fn lock_pool(&'static self) {
        self.pool.latch.lock(|| self.source.relax());
    }

    pub(crate) fn unlock_pool(&'static self) {
        self.pool.latch.unlock();
    }

    /// Takes units that nobody has, under the pool's latch: where they begin, and whether they are
    /// all zeros.
    pub(crate) fn take_units(&'static self, len: usize, align: usize) -> Option<(usize, bool)> {
        let pool = &self.pool;
        let found = pool.take_here(len, align).or_else(|| {
            let arena = self.map.new_arena(&self.source)?;
            pool.append(arena);
            if self.policy.prefaults() {
                self.source.populate_at(arena.base.get(), ARENA);
            }
            if C::Hardening::GUARD {
                self.guard_ends(arena);
            }
            pool.take_here(len, align)
        });
        let (arena, at) = found?;
        let zero = pool.use_run(arena, at, len);
        Some((arena.unit_base(at), zero))
    }

    /// Makes the first and the last unit of a new arena inaccessible.
    fn guard_ends(&'static self, arena: &'static Arena) {
        for at in [0, 63] {
            self.pool.use_run(arena, at, 1);
            let span = self.map.span_at(arena.unit_base(at));
            span.unit.set(unit_of(arena.unit_base(at)));
            span.use_for(Use::Guard);
            self.source.guard_at(arena.unit_base(at), UNIT);
        }
    }

    /// Takes the units behind a run, if nobody has them, under the pool's latch.
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
        let whole = arena.free.get() & run(at, more) == run(at, more);
        whole.then(|| self.pool.use_run(arena, at, more))
    }

    /// Gives units back, under the pool's latch, and to the system what is too much.
    pub(crate) fn give_units(&'static self, base: usize, len: usize) {
        let (pool, unit) = (&self.pool, unit_of(base));
        let Some(arena) = self.map.arena(unit) else {
            return;
        };
        let bits = run(unit % 64, len);
        arena.free.set(arena.free.get() | bits);
        arena.dirty.set(arena.dirty.get() | bits);
        pool.live.set(pool.live.get() - len);
        pool.dirty.set(pool.dirty.get() + len);
        if pool
            .hint
            .get()
            .is_none_or(|hint| arena.order.get() < hint.order.get())
        {
            pool.hint.set(Some(arena));
        }
        pool.queue(arena);
        let most = self.dirty_bytes_max();
        if pool.dirty_bytes() > most {
            self.purge_down_to(most / 2);
        }
    }

    /// How many bytes may be free and dirty now.
    pub(crate) fn dirty_bytes_max(&'static self) -> usize {
        let pool = &self.pool;
        self.policy
            .dirty_bytes_max(pool.live_bytes(), pool.regretted.get())
    }
}
