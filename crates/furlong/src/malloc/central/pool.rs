//! The state that all heaps share: arenas, their free units, and the list of heaps.

use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::record;

use crate::malloc::{Arena, Bits, Byte, Half, Heap, Latch, Link, UNIT, Word};

use super::super::runs::run;
use super::arena::find_from;
use super::fit::Fit;
use super::guarded::GuardedRuns;
use super::mapping_cache::MappingCache;

record! {
    /// The shared state. Its latch guards everything here and all arenas. It may be taken under a
    /// heap's latch, and no other is taken under it. No system call is made under it: new memory
    /// joins the arenas after it was mapped, and leaves them before it is given back.
    #[derive(Debug)]
    pub(crate) struct Pool {
        pub(crate) latch: Latch = Latch::new(),
        first: Link<Arena> = Link::none(),
        last: Link<Arena> = Link::none(),
        /// The arenas without huge pages, and those with them.
        pub(crate) fits: [Fit; 2] = [const { Fit::new() }; 2],
        pub(crate) dirty_first: Link<Arena> = Link::none(),
        pub(crate) dirty_last: Link<Arena> = Link::none(),
        /// Units in use.
        live: Word = Word::new(0),
        /// Free units that are not known to be zeros.
        pub(crate) dirty: Word = Word::new(0),
        /// Units on their way to the system.
        pub(crate) leaving: Word = Word::new(0),
        /// The number of arenas without a used unit, of each kind.
        empty: [Word; 2] = [const { Word::new(0) }; 2],
        /// The number of callers without a heap that are posting.
        pub(crate) posting: AtomicUsize = AtomicUsize::new(0),
        /// Work to be done when no latch is held; may be read at any time.
        pub(crate) work: Byte = Byte::new(0),
        /// The number of the last round.
        pub(crate) round: Half = Half::new(0),
        /// Bytes that were given back since the last round because too many were dirty, and that
        /// have not been taken again; and the total of those that have been.
        gone: Word = Word::new(0),
        pub(crate) regretted: Word = Word::new(0),
        /// The time of the last round, or of the first look at the clock; 0 before.
        pub(crate) round_ms: Bits = Bits::new(0),
        /// The first unit of those with empty blocks left to give; they are linked by `next`.
        pub(crate) empties: Half = Half::new(0),
        /// The run that was given back last and is used again late: its arena, and its units.
        resting: Link<Arena> = Link::none(),
        resting_units: Bits = Bits::new(0),
        /// Bytes that the system mapped for huge objects, without their fences.
        pub(crate) huge: Word = Word::new(0),
        pub(crate) huge_count: Word = Word::new(0),
        pub(crate) mappings: MappingCache = MappingCache::new(),
        pub(crate) guarded: GuardedRuns = GuardedRuns::new(),
        /// The system's answer to the first fence, which may be read at any time; 0 before.
        pub(crate) fences: Byte = Byte::new(0),
        pub(crate) heaps: Link<Heap> = Link::none(),
        /// The first of the heaps whose latches are held, while all are held for a fork.
        pub(crate) held: Link<Heap> = Link::none(),
        /// Bytes of blocks that ended heaps keep.
        pub(crate) left: Word = Word::new(0),
        /// The ended heaps that have not been taken over; may be read at any time.
        pub(crate) ended: Link<Heap> = Link::none(),
        /// The heap of the sampled blocks.
        pub(crate) samples: Link<Heap> = Link::none(),
        /// Former heaps of zones, for reuse.
        spare: Link<Heap> = Link::none(),
        /// The mark in free blocks; 0 until the pool is first used.
        pub(crate) mark: Word = Word::new(0),
    }
    pub(crate) const fn new;
}

/// A place from which free units are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// In arenas with huge pages.
    Huge,
    /// In others.
    Small,
    /// In others, only units that have memory behind them.
    Touched,
}

impl Pool {
    /// The arenas in order of creation.
    pub(crate) fn arenas(&'static self) -> impl Iterator<Item = &'static Arena> {
        core::iter::successors(self.first.get(), |arena| arena.next.get())
    }

    /// The heaps, running and ended.
    pub(crate) fn heaps(&'static self) -> impl Iterator<Item = &'static Heap> {
        Self::heaps_from(self.heaps.get())
    }

    /// A heap and all older ones.
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

    /// Records that so many bytes were given back before the delay was over.
    pub(crate) fn note_gone(&self, bytes: usize) {
        self.gone.set(self.gone.get() + bytes);
    }

    /// Records that so many bytes were taken that had not been kept.
    pub(crate) fn note_taken(&self, bytes: usize) {
        let again = bytes.min(self.gone.get());
        self.gone.set(self.gone.get() - again);
        self.regretted.set(self.regretted.get() + again);
    }

    /// Starts a new count: bytes given back before this round are not regretted.
    pub(crate) fn forget_gone(&self) {
        self.gone.set(0);
    }

    /// True if the counts of units are these.
    pub(crate) fn counts_are(&self, live: usize, dirty: usize) -> bool {
        self.live.get() == live && self.dirty.get() == dirty
    }

    /// Appends a mapped arena to the list.
    pub(crate) fn append(&'static self, arena: &'static Arena) {
        arena.next.set(None);
        arena.prev.set(self.last.get());
        self.fit_of(arena).append(arena);
        match self.last.get() {
            Some(last) => last.next.set(Some(arena)),
            None => self.first.set(Some(arena)),
        }
        self.last.set(Some(arena));
        let guards = arena.whole().count_zeros() as usize;
        self.live.set(self.live.get() + guards);
        self.set_free(arena, arena.whole());
    }

    /// Removes an arena that has no used unit and is in no queue: it belongs to the caller.
    pub(crate) fn remove(&'static self, arena: &'static Arena) {
        let (prev, next) = (arena.prev.get(), arena.next.get());
        prev.map_or(&self.first, |prev| &prev.next).set(next);
        next.map_or(&self.last, |next| &next.prev).set(prev);
        let guards = arena.whole().count_zeros() as usize;
        self.live.set(self.live.get() - guards);
        let dirty = arena.dirty.get().count_ones() as usize;
        self.dirty.set(self.dirty.get() - dirty);
        arena.dirty.set(0);
        arena.idle.set(0);
        self.set_free(arena, 0);
        self.fit_of(arena).remove(arena);
    }

    /// Changes the set of an arena's free units.
    pub(crate) fn set_free(&'static self, arena: &'static Arena, free: u64) {
        let is_whole = |free| usize::from(free == arena.whole());
        let (before, after) = (is_whole(arena.free.get()), is_whole(free));
        let empty = self.empty_like(arena);
        empty.set(empty.get() + after - before);
        arena.free.set(free);
        self.fit_of(arena).changed(arena);
    }

    /// The number of empty arenas of an arena's kind.
    pub(crate) fn empty_like(&'static self, arena: &Arena) -> &'static Word {
        &self.empty[usize::from(arena.huge.get())]
    }

    /// True if an arena has no used unit.
    pub(crate) fn has_empty(&self) -> bool {
        self.empty.iter().any(|count| count.get() > 0)
    }

    /// The tree that an arena is in.
    fn fit_of(&'static self, arena: &Arena) -> &'static Fit {
        &self.fits[usize::from(arena.huge.get())]
    }

    /// Finds a run in the first arena that has one; in it, dirty units come first, and resting
    /// ones last.
    ///
    /// # Cost
    /// O(log arenas). With an alignment only two arenas are looked at: the first with a run as
    /// long, and the first with one that is long enough wherever it begins.
    fn take_here(
        &'static self,
        fit: &'static Fit,
        len: usize,
        align: usize,
    ) -> Option<(&'static Arena, u32)> {
        let take = |len_of_run: usize| {
            let arena = fit.first(len_of_run)?;
            let free = arena.free.get();
            let rested = match self.resting.is(arena) {
                true => free & !self.resting_units.get(),
                false => free,
            };
            let dirty = rested & arena.dirty.get();
            let find = |set: u64| find_from(arena.start.get(), set, len, align);
            let at = find(dirty)
                .or_else(|| find(rested))
                .or_else(|| find(free))?;
            Some((arena, at))
        };
        take(len).or_else(|| take(len + align - 1))
    }

    /// A free run with memory behind it, in an arena without huge pages: the first one with room,
    /// or one at an end of the queue of dirty ones.
    fn touched(&'static self, len: usize, align: usize) -> Option<(&'static Arena, u32)> {
        let ends = [&self.dirty_first, &self.dirty_last].map(Link::get);
        let mut arenas = [self.fits[0].first(len)].into_iter().chain(ends).flatten();
        arenas.find_map(|arena| {
            let dirty = if arena.huge.get() == 0 {
                arena.dirty.get()
            } else {
                0
            };
            Some((arena, find_from(arena.start.get(), dirty, len, align)?))
        })
    }

    /// Marks a free run as used; returns `true` if it is all zeros.
    pub(crate) fn use_run(&'static self, arena: &'static Arena, at: u32, len: usize) -> bool {
        let bits = run(at, len);
        let dirty = arena.dirty.get() & bits;
        self.set_free(arena, arena.free.get() & !bits);
        arena.dirty.set(arena.dirty.get() & !bits);
        arena.idle.set(arena.idle.get() & !bits);
        self.dirty
            .set(self.dirty.get() - dirty.count_ones() as usize);
        self.live.set(self.live.get() + len);
        self.note_taken((len - dirty.count_ones() as usize) * UNIT);
        self.fill_huge_pages(arena, bits);
        dirty == 0
    }

    /// Records that the huge pages of units that were just taken are going to be resident as a
    /// whole: their free units can be given back.
    fn fill_huge_pages(&'static self, arena: &'static Arena, taken: u64) {
        for units in arena.huge_pages(taken) {
            let filled = arena.free.get() & units & !arena.dirty.get();
            let count = filled.count_ones() as usize;
            if count > 0 {
                arena.dirty.set(arena.dirty.get() | filled);
                self.dirty.set(self.dirty.get() + count);
                self.note_taken(count * UNIT);
                self.queue(arena);
            }
        }
    }

    /// Makes a used run free and dirty.
    pub(crate) fn give_run(&'static self, arena: &'static Arena, at: u32, len: usize) {
        let bits = run(at, len);
        self.set_free(arena, arena.free.get() | bits);
        arena.dirty.set(arena.dirty.get() | bits);
        self.live.set(self.live.get() - len);
        self.dirty.set(self.dirty.get() + len);
        self.queue(arena);
    }

    /// Makes a run rest until another does: in its arena, others are taken first.
    pub(crate) fn rest(&'static self, arena: &'static Arena, at: u32, len: usize) {
        self.resting.set(Some(arena));
        self.resting_units.set(run(at, len));
    }

    /// Takes free units, under the pool's latch. Returns their start, and `true` if they are all
    /// zeros. `None` if there is no such run.
    pub(crate) fn take_units(
        &'static self,
        len: usize,
        align: usize,
        room: Room,
    ) -> Option<(usize, bool)> {
        let [small, huge] = &self.fits;
        let (arena, at) = match room {
            Room::Huge => self.take_here(huge, len, align),
            Room::Small => self.take_here(small, len, align),
            Room::Touched => self.touched(len, align),
        }?;
        let zero = self.use_run(arena, at, len);
        Some((arena.unit_base(at), zero))
    }

    /// True if a thread may be between the two steps of posting blocks that have been collected.
    pub(crate) fn is_posting(&'static self) -> bool {
        // Acquire: pairs with the Release in send_word.
        let posts = |heap: &Heap| heap.cache.posting.load(Ordering::Acquire) != 0;
        // Acquire: pairs with the Release in send_word.
        self.posting.load(Ordering::Acquire) != 0 || self.heaps().any(posts)
    }

    /// The heap of a dropped zone, for a new one.
    pub(crate) fn take_spare(&'static self) -> Option<&'static Heap> {
        let heap = self.spare.get()?;
        self.spare.set(heap.next_vacant.get());
        Some(heap)
    }

    /// Keeps the heap of a dropped zone for the next zone.
    pub(crate) fn add_spare(&'static self, heap: &'static Heap) {
        heap.next_vacant.set(self.spare.get());
        self.spare.set(Some(heap));
    }
}
