//! A heap with the memory below it: its beginning and end, the blocks that it sends to other heaps,
//! and its maintenance.

use core::ptr;

use crate::forms::copies;
use crate::malloc::{
    CLASSES, Central, Class, Config, CurrentHeap, Exchange, FREED, Hardening, Heap, PageSource,
    Samples, Span, State, System,
};
use crate::sync::atomic::Ordering;

use super::bins::{STACKS, STACKS_ALIGN};
use super::free_batch::FreeBatch;
use super::outgoing::{OUTGOING_BYTES_MAX, Outgoing};

// As the docs of Malloc say.
const _: () = assert!(size_of::<Heap>() + STACKS <= 320 << 10);

/// Slow paths of a heap between two looks at the clock.
const LOOKS: usize = 16;

/// With no more bytes than this in total, the clock is not read.
const LITTLE: usize = 4 << 20;

/// A heap with the memory below it. It is the heap of the caller, of a zone, or of a thread that
/// has just ended; only the caller uses it.
pub(crate) struct ThreadHeap<C: Config> {
    pub(crate) central: &'static Central<C>,
    pub(crate) heap: &'static Heap,
}

copies! { ThreadHeap<C> where [C: Config]; }

impl<C: Config> ThreadHeap<C> {
    /// A heap of an allocator.
    #[inline(always)]
    pub(crate) fn new(central: &'static Central<C>, heap: &'static Heap) -> Self {
        Self { central, heap }
    }

    /// The caller's heap, which may be a placeholder.
    #[inline(always)]
    pub(crate) fn of_caller(central: &'static Central<C>) -> Self {
        Self::new(central, C::Current::get())
    }

    /// The caller's heap, made or taken over if it has none. `None` if out of memory, or if the
    /// caller's heap has ended.
    #[inline(always)]
    pub(crate) fn of_caller_or_bound(central: &'static Central<C>) -> Option<Self> {
        let own = Self::of_caller(central);
        match own.heap.is_running() {
            true => Some(own),
            false => Self::bind(central),
        }
    }

    /// The same, out of line.
    #[cold]
    #[inline(never)]
    pub(crate) fn bind(central: &'static Central<C>) -> Option<Self> {
        let before = Self::of_caller(central);
        match before.heap.state() {
            State::Running => return Some(before),
            State::Over => return None,
            State::Vacant | State::Ended => {}
        }
        let own = Self::take(central)?;
        own.heap.cache.caller.set(central.source.caller());
        // SAFETY: callers are pinned; the heap is running from now on, so nobody else takes it.
        unsafe { C::Current::set(own.heap) };
        C::Current::bound();
        Some(own)
    }

    /// A heap for the caller, running from now on: an ended one, or a new one.
    pub(crate) fn take(central: &'static Central<C>) -> Option<Self> {
        let ended = central.take_over(|heap| Self::new(central, heap).note_left(0));
        // The time of its last round was another thread's.
        ended.inspect(|heap| heap.cache.round_ms.set(0));
        let ended = ended.map(|heap| Self::new(central, heap));
        ended.or_else(|| Self::create(central))
    }

    /// A new heap, running from now on.
    pub(crate) fn create(central: &'static Central<C>) -> Option<Self> {
        let page = central.source.page_size().max(STACKS_ALIGN);
        let stacks = size_of::<Heap>().next_multiple_of(STACKS_ALIGN);
        let start = central
            .source
            .map_at((stacks + STACKS).next_multiple_of(page), page)?;
        let heap: *const Heap = ptr::with_exposed_provenance(start);
        // SAFETY: zeroed memory is a valid Heap, whose pointers may be null; it is aligned to more
        // than needed, and never unmapped.
        let heap: &'static Heap = unsafe { &*heap };
        heap.cache.bins.begin(start + stacks);
        let mark = central.with_pool(|pool| pool.mark.get());
        heap.cache.mark.set(mark);
        heap.cache.random.set(mark ^ start | 1);
        heap.set_state(State::Running);
        central.pool.heaps.push(heap, |next| heap.next.set(next));
        Some(Self::new(central, heap))
    }

    /// Ends the heap. Its remote frees are sent, and its stacks and spans wait to be taken over.
    pub(crate) fn end(self) {
        self.post_outgoing();
        let give_back = || {
            let bytes = self.stacked_bytes();
            // Others may end at the same time, and leave a little more than may be dirty.
            let leaves = self.central.pool.left.get() + bytes <= self.central.dirty_bytes_max();
            if !leaves {
                self.empty();
            }
            self.central.collect(self.heap);
            self.retire_whole();
            if leaves { bytes } else { 0 }
        };
        let note = |left| self.note_left(left);
        self.central.end(self.heap, give_back, note);
        self.central.purge_excess();
    }

    /// The bytes of the blocks in the stacks. A heap that ends leaves them there, which is less
    /// work than to give each back, unless ended heaps would then keep more than may be dirty.
    fn stacked_bytes(self) -> usize {
        let cache = &self.heap.cache;
        let stacked = |class: Class| cache.bins.len(class) * class.size();
        let stacked = (1..CLASSES).map(Class::numbered).map(stacked);
        let waiting = cache.waits().map(|(_, class)| class.size());
        stacked.chain(waiting).sum()
    }

    /// Records the bytes that an ended heap has left, under the pool's latch.
    fn note_left(self, bytes: usize) {
        let (pool, cache) = (&self.central.pool, &self.heap.cache);
        pool.left.set(pool.left.get() + bytes - cache.left.get());
        cache.left.set(bytes);
        cache.ended_in.set(pool.round.get());
    }

    /// Gives back the blocks that an ended heap has left. Its latch is held.
    pub(crate) fn give_left(self) {
        if self.heap.cache.left.get() > 0 {
            self.central.with_pool(|_| self.note_left(0));
        }
        self.empty();
        self.retire_whole();
    }

    /// As above, at least those of one class.
    pub(crate) fn give_left_of(self, class: Class) {
        if C::Hardening::SHUFFLE {
            self.give_left();
        } else {
            self.empty_stack(class);
        }
    }

    /// Gives back all blocks that the heap keeps, and its spans that have no block in use.
    pub(crate) fn give_all(self) {
        self.post_outgoing();
        let _held = self.central.hold_heap(self.heap);
        self.central.collect(self.heap);
        self.empty();
        self.retire_whole();
    }

    /// Gives all kept and delayed blocks back to their spans.
    fn empty(self) {
        for (block, _) in self.heap.cache.waits() {
            FreeBatch::at(self.central, block).give_to(self);
        }
        self.heap.cache.forget_waiting();
        self.empty_stacks();
    }

    /// Gives all blocks in the stacks back to their spans.
    fn empty_stacks(self) {
        (1..CLASSES).for_each(|class| self.empty_stack(Class::numbered(class)));
    }

    /// Gives back the freed blocks of a class whose other stack is empty, and can be refilled then.
    pub(crate) fn give_freed_of(self, class: Class) {
        if Samples(self.central).are_taken() {
            let _held = self.central.hold_heap(self.heap);
            self.empty_stack(class);
        }
    }

    fn empty_stack(self, class: Class) {
        // The blocks before the next sample are not in the stack any more.
        self.heap.cache.armed[class.index()].set(0);
        self.flush(FREED + class.index(), usize::MAX);
        self.flush(class.index(), usize::MAX);
        while self.heap.cache.bins.take_back(class) {
            self.flush(class.index(), usize::MAX);
        }
    }

    /// Takes a block of another heap from the caller, to be posted with others of its word.
    pub(crate) fn send(self, span: &'static Span, block: usize) {
        let outgoing = &self.heap.cache.outgoing;
        let (word, bit) = (block / 64, 1 << (block % 64));
        let index = Outgoing::index(span, word);
        let place = outgoing.place(index);
        let is_there = place.span.is(span) && place.word.get() == word;
        if is_there {
            if place.bits.get() & bit != 0 {
                self.central.stop_twice(span, block);
            }
            place.bits.set(place.bits.get() | bit);
        } else {
            let before = place.span.get();
            let (old, bits) = (place.word.get(), place.bits.get());
            place.span.set(Some(span));
            place.word.set(word);
            place.bits.set(bit);
            if let Some(before) = before {
                Self::send_word(self.central, before, old, bits);
            }
        }
        outgoing.note(span, word, index, is_there);
        let bytes = outgoing.bytes.get() + span.class().size();
        outgoing.bytes.set(bytes);
        if bytes >= OUTGOING_BYTES_MAX {
            self.post_outgoing();
            self.maintain();
        }
    }

    /// Posts blocks of a word, and marks the caller as posting meanwhile. Their span may be retired
    /// before this ends, but its record must stay until then.
    pub(crate) fn send_word(
        central: &'static Central<C>,
        span: &'static Span,
        word: usize,
        bits: u64,
    ) {
        let heap = C::Current::get();
        if heap.is_running() {
            // Relaxed: comes before the first step of post, which the thread that retires the span
            // has seen.
            heap.cache.posting.store(1, Ordering::Relaxed);
            central.post(span, word, bits);
            // Release: pairs with the Acquire in is_posting.
            heap.cache.posting.store(0, Ordering::Release);
        } else {
            // Relaxed: as above.
            central.pool.posting.fetch_add(1, Ordering::Relaxed);
            central.post(span, word, bits);
            // Release: pairs with the Acquire in is_posting.
            central.pool.posting.fetch_sub(1, Ordering::Release);
        }
    }

    /// Posts all remote frees that the heap holds back.
    pub(crate) fn post_outgoing(self) {
        let outgoing = &self.heap.cache.outgoing;
        if outgoing.bytes.get() == 0 {
            return;
        }
        outgoing.bytes.set(0);
        outgoing.close();
        for (span, place) in outgoing.each() {
            place.span.set(None);
            Self::send_word(self.central, span, place.word.get(), place.bits.get());
        }
    }

    /// Does pending work in a slow path of freeing, which holds no latch.
    #[inline(always)]
    pub(crate) fn maintain(self) {
        self.central.purge_excess();
        let until_look = &self.heap.cache.until_look;
        match until_look.get().checked_sub(1) {
            Some(left) => until_look.set(left),
            None => {
                until_look.set(LOOKS);
                self.look_at_clock();
            }
        }
    }

    /// As [`maintain`](Self::maintain), after an object above the size classes was freed.
    pub(crate) fn maintain_now(self) {
        self.central.purge_excess();
        self.look_at_clock();
    }

    /// Reads the clock, and begins the rounds that are due. No latch is held.
    #[cold]
    #[inline(never)]
    fn look_at_clock(self) {
        let (central, pool) = (self.central, &self.central.pool);
        let all = pool.live_bytes() + pool.dirty_bytes() + pool.mappings.bytes();
        if all <= LITTLE {
            return;
        }
        let now = central.source.now_ms();
        if self.heap.is_running() && central.begins_round(&self.heap.cache.round_ms, now) {
            self.give_idle();
        }
        central.begin_round(now);
    }

    /// Gives back the memory that the heap keeps but does not use now.
    fn give_idle(self) {
        self.post_outgoing();
        let held = self.central.hold_heap(self.heap);
        self.central.collect(self.heap);
        self.empty_stacks();
        self.retire_whole();
        drop(held);
        // Only its thread changes which blocks a running heap's spans have.
        Class::medium().for_each(|class| self.purge_blocks(class));
    }

    /// Purges the free blocks of a medium class in the heap's spans whose free count is the same as
    /// in its last round, and of which no block was taken since. The page in which a block begins
    /// stays, since the block's mark is in it.
    fn purge_blocks(self, class: Class) {
        let mut unit = self.heap.first(class).get();
        while unit != 0 {
            let span = self.central.map.span(unit);
            unit = span.next.get();
            let free = span.free.get();
            if span.quiet.get() != free {
                span.quiet.set(free);
                span.purged.set(0);
            } else if span.purged.get() == 0 {
                let purged = self.central.purge_free(span);
                span.purged.set(u8::from(purged));
            }
        }
    }
}
