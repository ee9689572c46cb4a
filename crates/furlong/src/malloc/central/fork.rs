//! Support for a process that forks while its threads allocate.
//!
//! All latches are taken before the fork, so no span or arena is halfway through a change. The
//! gates of other threads keep running, and the child may see any part of their work. So the child
//! trusts their spans but not their stacks, whose blocks it loses.
//!
//! The forking thread may allocate meanwhile, as other libraries' fork handlers do. It holds all
//! latches, so it takes none; its heap records this. There is one danger: a fork handler that needs
//! a lock whose holder waits for a latch. So a process calls these functions as close to the fork
//! as possible, which means that they are the first handlers to be registered.

use crate::sync::atomic::Ordering;

use crate::malloc::{
    config::Config,
    front::malloc::Malloc,
    os::{current::CurrentHeap, latch::Latch, source::PageSource},
    thread::{exchange::Exchange, heap::State},
};

use super::pool::Pool;

/// Added to a caller's number: it holds all latches.
const HOLDS_ALL: u32 = 1 << 31;

impl<C: Config> Malloc<C> {
    /// Prepares for a fork: no other thread changes shared state until
    /// [`after_fork`](Self::after_fork) or [`after_fork_in_child`](Self::after_fork_in_child).
    ///
    /// An allocator made by [`thread_heap`](crate::malloc::thread_heap) with a static, or by
    /// preload, has all three functions called at a fork. Another one must register them.
    ///
    /// # Safety
    /// The calling thread forks afterwards, or fails to. It then calls `after_fork` once in this
    /// process, and `after_fork_in_child` once in the new process, if there is one.
    pub unsafe fn before_fork(&'static self) {
        let _pin = C::Current::pin();
        // Without a heap, if out of memory, the caller may not allocate meanwhile.
        let heap = self.bind();
        self.lock_all();
        if let Some(heap) = heap {
            heap.cache.caller.set(heap.cache.caller.get() | HOLDS_ALL);
        }
    }

    /// Resumes after a fork, in the process that forked.
    ///
    /// # Safety
    /// As [`before_fork`](Self::before_fork) says; any other call would release latches that other
    /// threads hold.
    ///
    /// ```compile_fail,E0133
    /// # use furlong::malloc::{Config, Malloc};
    /// fn unlock<C: Config>(malloc: &'static Malloc<C>) {
    ///     malloc.after_fork();
    /// }
    /// ```
    pub unsafe fn after_fork(&'static self) {
        let caller = &C::Current::get().cache.caller;
        caller.set(caller.get() & !HOLDS_ALL);
        self.unlock_all();
    }

    /// Resumes after a fork, in the new process: ends the heaps of threads that it does not have.
    ///
    /// # Safety
    /// As [`before_fork`](Self::before_fork) says; and no other thread of this process has a heap
    /// of the allocator, since that heap would be given to the next new thread.
    ///
    /// ```compile_fail,E0133
    /// # use furlong::malloc::{Config, Malloc};
    /// fn end_all<C: Config>(malloc: &'static Malloc<C>) {
    ///     malloc.after_fork_in_child();
    /// }
    /// ```
    pub unsafe fn after_fork_in_child(&'static self) {
        self.pool.posting.store(0, Ordering::SeqCst);
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

    /// Takes a latch, unless the caller holds all of them.
    #[inline]
    pub(crate) fn lock_latch(&'static self, latch: &Latch) {
        let caller = self.caller();
        if caller & HOLDS_ALL == 0 {
            latch.lock(caller, |latch| self.source.wait(latch, caller));
        }
    }

    /// Takes a latch if it is free.
    #[inline]
    pub(crate) fn try_latch(&'static self, latch: &Latch) -> bool {
        let caller = self.caller();
        caller & HOLDS_ALL == 0 && latch.try_lock(caller)
    }

    /// Releases a latch, unless the caller holds all of them.
    #[inline]
    pub(crate) fn unlock_latch(&'static self, latch: &Latch) {
        let caller = self.caller();
        if caller & HOLDS_ALL == 0 {
            latch.unlock(caller, |latch| self.source.wake(latch, caller));
        }
    }

    /// The caller's number.
    #[inline]
    fn caller(&'static self) -> u32 {
        match C::Current::get().cache.caller.get() {
            0 => self.source.caller(),
            known => known,
        }
    }

    /// Takes all latches.
    pub(crate) fn lock_all(&'static self) {
        let first = self.pool.heaps.get();
        for heap in Pool::heaps_from(first) {
            self.lock_heap(heap);
        }
        self.lock_pool();
        self.pool.held.set(first);
    }

    /// Releases all latches.
    pub(crate) fn unlock_all(&'static self) {
        // This thread does not hold heaps made since: they have no spans, and wait for the pool's
        // latch to get one.
        let first = self.pool.held.take();
        self.unlock_pool();
        for heap in Pool::heaps_from(first) {
            self.unlock_heap(heap);
        }
    }

    /// Ends the heaps of all other threads.
    fn end_others(&'static self) {
        let own = C::Current::get();
        let mut ended = 0;
        for heap in self.pool.heaps() {
            // A zone stays with its holder, also in the new process.
            let of_thread = heap.zone.get() == 0 && heap.state() == State::Running;
            if of_thread && !core::ptr::eq(heap, own) {
                heap.cache.bins.forget();
                heap.cache.outgoing.forget();
                heap.cache.forget_waiting();
                heap.cache.posting.store(0, Ordering::SeqCst);
                heap.set_state(State::Ended);
                ended += 1;
            }
        }
        self.pool.ended.set(self.pool.ended.get() + ended);
    }
}
