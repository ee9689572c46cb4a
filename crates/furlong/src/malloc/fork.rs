//! A process that forks while its threads allocate.
//!
//! Before the fork all latches are taken, so that no span and no arena is in the middle of a
//! change. What the other threads' gates do goes on meanwhile, and the child may see any part of
//! it: so it trusts their spans and not their stacks, whose blocks are lost to it.
//!
//! The thread that forks may allocate meanwhile, as handlers of others do that the process calls
//! around a fork: it has all latches, so it takes none. Its heap says so. What such handlers must
//! not find is a latch held for which another thread waits that has their own lock: so a process
//! calls the functions here as close to the fork as it can, which are those that it was told of
//! first.

use crate::sync::atomic::Ordering;

use super::{
    allocator::Malloc, config::Config, current::CurrentHeap, exchange::Exchange, heap::State,
    latch::Latch, pool::Pool, source::PageSource,
};

/// With a caller's number: it holds all latches.
const HOLDS_ALL: u32 = 1 << 31;

impl<C: Config> Malloc<C> {
    /// Before a fork: nobody changes what is shared until [`after_fork`](Self::after_fork) or
    /// [`after_fork_in_child`](Self::after_fork_in_child).
    ///
    /// A program that has its allocator of [`thread_heap`](super::thread_heap) with a static, or
    /// by preload, has the three called where it forks; another one registers them.
    ///
    /// # Safety
    /// The thread that calls it forks afterwards, or fails to. It then calls `after_fork` in this
    /// process, once, and `after_fork_in_child` in the new one, if there is one, once.
    pub unsafe fn before_fork(&'static self) {
        let _pin = C::Current::pin();
        // Without a heap, where memory is short, it may not allocate meanwhile.
        let heap = self.bind();
        self.lock_all();
        if let Some(heap) = heap {
            heap.own.caller.set(heap.own.caller.get() | HOLDS_ALL);
        }
    }

    /// After a fork, in the process that forked.
    ///
    /// # Safety
    /// As [`before_fork`](Self::before_fork) says: whoever else calls it takes the latches out of
    /// others' hands.
    ///
    /// ```compile_fail,E0133
    /// # use furlong::malloc::{Config, Malloc};
    /// fn unlock<C: Config>(malloc: &'static Malloc<C>) {
    ///     malloc.after_fork();
    /// }
    /// ```
    pub unsafe fn after_fork(&'static self) {
        let caller = &C::Current::get().own.caller;
        caller.set(caller.get() & !HOLDS_ALL);
        self.unlock_all();
    }

    /// After a fork, in the new process: the heaps of threads that it does not have have ended.
    ///
    /// # Safety
    /// As [`before_fork`](Self::before_fork) says; and no other thread is in this process that has
    /// a heap of the allocator: it would be given to the next thread that begins.
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
            heap.own.caller.set(self.source.caller());
        }
        self.pool.heaps().for_each(|heap| self.tidy_ended(heap));
    }

    /// Takes a latch, if the caller does not hold them all.
    #[inline]
    pub(crate) fn lock_latch(&'static self, latch: &Latch) {
        let caller = self.caller();
        if caller & HOLDS_ALL == 0 {
            latch.lock(caller, |latch| self.source.wait(latch, caller));
        }
    }

    /// Takes a latch if nobody has it.
    #[inline]
    pub(crate) fn try_latch(&'static self, latch: &Latch) -> bool {
        let caller = self.caller();
        caller & HOLDS_ALL == 0 && latch.try_lock(caller)
    }

    /// Gives a latch back, if the caller does not hold them all.
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
        match C::Current::get().own.caller.get() {
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

    /// Gives them back.
    pub(crate) fn unlock_all(&'static self) {
        // Heaps that came since are not held by this thread: they have no spans, and wait for the
        // pool to get one.
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
            // A zone is whoever's has it, also in the new process.
            let of_thread = heap.zone.get() == 0 && heap.state() == State::Running;
            if of_thread && !core::ptr::eq(heap, own) {
                heap.own.tops.forget();
                heap.own.outgoing.forget();
                heap.own.forget_waiting();
                heap.own.posting.store(0, Ordering::SeqCst);
                heap.set_state(State::Ended);
                ended += 1;
            }
        }
        self.pool.ended.set(self.pool.ended.get() + ended);
    }
}
