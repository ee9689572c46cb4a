//! The state that all threads share, its latches, and a process that forks while its threads
//! allocate.
//!
//! All latches are taken before the fork, so no span or arena is halfway through a change. The
//! gates of other threads keep running, and the child may see any part of their work. So the child
//! trusts their spans but not their stacks, whose blocks it loses.
//!
//! The forking thread may allocate meanwhile, as other libraries' fork handlers do. It holds all
//! latches, so it takes none; its heap records this. There is one danger: a fork handler that needs
//! a lock whose holder waits for a latch. So a process calls these functions as close to the fork
//! as possible, which means that they are the first handlers to be registered.

use core::ptr;

use crate::malloc::{
    Class, Config, CurrentHeap, Exchange, Heap, Latch, Link, Map, Misuse, PageSource, Policy, Pool,
    Span, State, ThreadHeap, Use, stop, unit_of, without_unwinding,
};
use crate::sync::atomic::{AtomicU64, Ordering};

use super::check::HeldAll;

/// The memory of an allocator, and the records of it.
#[repr(C)]
pub(crate) struct Central<C: Config> {
    pub(crate) map: Map,
    pub(crate) policy: Policy,
    pub(crate) pool: Pool,
    pub(crate) source: C::Source,
}

/// Added to a caller's number: it holds all latches.
const HOLDS_ALL: u32 = 1 << 31;

/// The held latch of the pool, released when this is dropped, also by a panic.
struct HeldPool<C: Config>(&'static Central<C>);

impl<C: Config> Drop for HeldPool<C> {
    fn drop(&mut self) {
        self.0.unlock_pool();
    }
}

impl<C: Config> Central<C> {
    /// Runs a closure under the pool's latch.
    pub(crate) fn with_pool<T>(&'static self, f: impl FnOnce(&'static Pool) -> T) -> T {
        self.lock_pool();
        let _held = HeldPool(self);
        if self.pool.mark.get() == 0 {
            self.begin();
        }
        f(&self.pool)
    }

    /// Initialises the pool once, before anything is taken.
    #[cold]
    fn begin(&'static self) {
        self.policy.begin::<C>(&without_unwinding(C::profile));
        #[expect(clippy::cast_possible_truncation, reason = "any bits will do")]
        self.pool.mark.set(self.source.random() as usize | 1);
    }

    fn lock_pool(&'static self) {
        self.lock(&self.pool.latch);
    }

    fn unlock_pool(&'static self) {
        self.unlock(&self.pool.latch);
    }

    /// The most bytes that may be dirty now.
    pub(crate) fn dirty_bytes_max(&'static self) -> usize {
        let pool = &self.pool;
        self.policy
            .dirty_bytes_max(pool.live_bytes(), pool.regretted.get())
    }

    /// The most bytes that may be dirty or in kept mappings now.
    pub(crate) fn kept_bytes_max(&'static self) -> usize {
        let live = self.pool.live_bytes();
        self.policy.kept_bytes_max(live, self.dirty_bytes_max())
    }

    /// The caller's number.
    #[inline]
    fn caller(&'static self) -> u32 {
        match C::Current::get().cache.caller.get() {
            0 => self.source.caller(),
            known => known,
        }
    }

    /// True if the caller is forking: it holds all latches, and takes and releases none.
    fn holds_all(&'static self) -> bool {
        C::Current::get().cache.caller.get() & HOLDS_ALL != 0
    }

    /// Takes all latches.
    fn lock_all(&'static self) {
        if self.holds_all() {
            return;
        }
        loop {
            let first = self.pool.heaps.get();
            for heap in Pool::heaps_from(first) {
                self.lock_heap(heap);
            }
            self.lock_pool();
            if self.pool.heaps.get().map(ptr::from_ref) == first.map(ptr::from_ref) {
                self.pool.held.set(first);
                return;
            }
            // A heap that was made meanwhile may have got spans, and be changing them.
            self.unlock_pool();
            for heap in Pool::heaps_from(first) {
                self.unlock_heap(heap);
            }
        }
    }

    /// Releases all latches.
    pub(crate) fn unlock_all(&'static self) {
        if self.holds_all() {
            return;
        }
        // This thread does not hold heaps made since: they have no spans, and wait for the pool's
        // latch to get one.
        let first = self.pool.held.take();
        self.unlock_pool();
        for heap in Pool::heaps_from(first) {
            self.unlock_heap(heap);
        }
    }

    /// Takes all latches until the result is dropped, also by a panic.
    pub(crate) fn hold_all(&'static self) -> HeldAll<C> {
        self.lock_all();
        HeldAll(self)
    }

    /// Takes all latches before a fork; the caller may allocate meanwhile.
    pub(crate) fn before_fork(&'static self) {
        // Without a heap, if out of memory, the caller may not allocate meanwhile.
        let own = ThreadHeap::bind(self);
        self.lock_all();
        if let Some(own) = own {
            let caller = &own.heap.cache.caller;
            caller.set(caller.get() | HOLDS_ALL);
        }
    }

    /// Releases all latches after a fork, in the process that forked.
    pub(crate) fn after_fork(&'static self) {
        let caller = &C::Current::get().cache.caller;
        caller.set(caller.get() & !HOLDS_ALL);
        self.unlock_all();
    }

    /// Ends the heaps of threads that a new process does not have, and resets its latches.
    pub(crate) fn after_fork_in_child(&'static self) {
        // Relaxed: this process has one thread.
        self.pool.posting.store(0, Ordering::Relaxed);
        self.end_others();
        self.pool.arrive_all();
        self.pool.held.set(None);
        self.pool.latch.reset();
        self.pool.heaps().for_each(|heap| heap.latch.reset());
        let heap = C::Current::get();
        if heap.is_running() {
            heap.cache.caller.set(self.source.caller());
        }
        self.pool.heaps().for_each(|heap| self.tidy_ended(heap));
    }

    /// Gives the only thread of a new process its number there, unless the fork interrupted it
    /// under a latch: that one is released by the number that took it.
    pub(crate) fn after_lone_fork_in_child(&'static self) {
        let heap = C::Current::get();
        // SeqCst: as in unlock.
        let is_free = |latch: &Latch| latch.holder().load(Ordering::SeqCst) == 0;
        let all_free = is_free(&self.pool.latch) && self.pool.heaps().all(|h| is_free(&h.latch));
        if heap.is_running() && all_free {
            heap.cache.caller.set(self.source.caller());
        }
    }

    /// Ends the heaps of all other threads.
    fn end_others(&'static self) {
        let own = C::Current::get();
        // Another thread may have been taking a heap over: its links are all set anew.
        self.pool.ended.set(None);
        for heap in self.pool.heaps() {
            // A zone stays with its holder, also in the new process.
            let of_thread = heap.zone.get() == 0 && heap.state() == State::Running;
            if of_thread && !ptr::eq(heap, own) {
                heap.cache.bins.forget();
                heap.cache.left.set(0);
                heap.cache.outgoing.forget();
                heap.cache.forget_waiting();
                heap.cache.forget_samples();
                // Relaxed: as in after_fork_in_child.
                heap.cache.posting.store(0, Ordering::Relaxed);
                heap.set_state(State::Ended);
            }
            if heap.state() == State::Ended {
                self.note_ended(heap);
            }
        }
        let left = self.pool.heaps().map(|heap| heap.cache.left.get());
        self.pool.left.set(left.sum());
    }

    /// Reports that memory is short, unless a zone is entered: it reports that when it was left.
    #[cold]
    pub(crate) fn refuse_memory(&'static self) -> usize {
        if C::Current::get().zone.get() == 0 {
            self.source.refused();
        }
        0
    }

    /// The first unit's record for an address in a span of blocks, and the block's number.
    ///
    /// Stops the program if no block begins there.
    pub(crate) fn find_block(&'static self, address: usize) -> (&'static Span, usize) {
        let span = self.map.first_unit(address);
        if !span.is(Use::Blocks) {
            self.stop_at(address);
        }
        (span, self.block_in(span, address))
    }

    /// The number of the block that begins at an address in this span.
    ///
    /// Stops the program if none does.
    #[inline]
    pub(crate) fn block_in(&'static self, span: &'static Span, address: usize) -> usize {
        match span.block_at(address) {
            Some(block) => block,
            None => stop(&self.source, Misuse::NotABlock, address),
        }
    }

    /// Stops the program: no block is at this address.
    #[cold]
    pub(crate) fn stop_at(&'static self, address: usize) -> ! {
        let ours = self
            .map
            .arena(unit_of(address))
            .is_some_and(|arena| arena.base.get() != 0);
        let misuse = if ours {
            Misuse::NotABlock
        } else {
            Misuse::Foreign
        };
        stop(&self.source, misuse, address)
    }

    /// True if a block with the mark is really free.
    #[cold]
    pub(crate) fn is_free(&'static self, address: usize) -> bool {
        let (span, block) = self.find_block(address);
        let (unit, word, bit) = (span.unit.get(), block / 64, 1_u64 << (block % 64));
        self.map.words(span).is_some_and(|words| {
            let free = words.free(unit, word).get() & bit != 0;
            // Relaxed: the program is wrong if another thread frees the block meanwhile.
            let remote = words.remote(unit, word).load(Ordering::Relaxed);
            free || remote & bit != 0
        }) || self
            .pool
            .heaps()
            .any(|heap| heap.cache.has(span, block, address))
    }
}

impl<C: Config> Exchange for Central<C> {
    fn remote(&'static self, span: &'static Span, word: usize) -> Option<&'static AtomicU64> {
        Some(self.map.words(span)?.remote(span.unit.get(), word))
    }

    fn give_blocks(
        &'static self,
        heap: &'static Heap,
        span: &'static Span,
        word: usize,
        bits: u64,
    ) {
        ThreadHeap::new(self, heap).give_blocks(span, word, bits);
    }

    fn under_pool<T>(&'static self, run: impl FnOnce() -> T) -> T {
        self.with_pool(|_| run())
    }

    fn ended(&'static self) -> &'static Link<Heap> {
        &self.pool.ended
    }

    fn first_span(&'static self, heap: &'static Heap, class: Class) -> Option<&'static Span> {
        let unit = heap.first(class).get();
        (unit != 0).then(|| self.map.span(unit))
    }

    fn relist(&'static self, span: &'static Span, from: &'static Heap, to: &'static Heap) {
        ThreadHeap::new(self, from).unlist(span);
        from.discount(span.class());
        to.count(span.class());
        span.owner.set(Some(to));
        ThreadHeap::new(self, to).list(span);
    }

    fn give_left_of(&'static self, heap: &'static Heap, class: Class) {
        ThreadHeap::new(self, heap).give_left_of(class);
    }

    fn stop_twice(&'static self, span: &'static Span, block: usize) -> ! {
        stop(&self.source, Misuse::DoubleFree, span.address_of(block))
    }

    /// Takes a latch, unless the caller holds all of them.
    #[inline]
    fn lock(&'static self, latch: &'static Latch) {
        let caller = self.caller();
        if caller & HOLDS_ALL == 0 {
            latch.lock(caller, |latch| self.source.wait(latch, caller));
        }
    }

    #[inline]
    fn try_lock(&'static self, latch: &'static Latch) -> bool {
        let caller = self.caller();
        caller & HOLDS_ALL == 0 && latch.try_lock(caller)
    }

    /// Releases a latch, unless the caller holds all of them.
    #[inline]
    fn unlock(&'static self, latch: &'static Latch) {
        let caller = self.caller();
        if caller & HOLDS_ALL == 0 {
            latch.unlock(caller, |latch| self.source.wake(latch, caller));
        }
    }
}
