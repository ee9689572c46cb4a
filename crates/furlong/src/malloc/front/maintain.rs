//! Maintenance by the caller: limits, memory that is given back, the end of a thread, forks, and a
//! look at the whole allocator.

use crate::check::Check;
use crate::malloc::{
    BrokenMalloc, Config, CurrentHeap, GuardedBlocks, Heap, Malloc, Profile, Statistics,
    ThreadHeap, stop,
};

impl<C: Config> Check for &'static Malloc<C> {
    type Broken = BrokenMalloc;

    /// As [`Malloc::check`].
    fn check(&self) -> Result<(), BrokenMalloc> {
        Malloc::check(self)
    }
}

impl<C: Config> Malloc<C> {
    /// Replaces the profile of the allocator's type by another. Heaps follow as they refill stacks.
    pub fn follow(&'static self, profile: &Profile) {
        let _pin = C::Current::pin();
        let central = &self.central;
        central.with_pool(|_| central.policy.follow(profile));
    }

    /// Gives back the blocks that the caller's heap keeps, and all free memory to the system.
    /// Returns `true` if the system got any.
    pub fn trim(&'static self) -> bool {
        let _pin = C::Current::pin();
        self.central.trim()
    }

    /// Ends the caller's heap, but not inside a [`Sampler`](crate::malloc::Sampler), which it still
    /// serves. Its remote frees are sent. Its kept blocks and its spans wait for
    /// the next thread. Blocks go back to their spans if ended heaps keep too many, or if no thread
    /// takes them within the delay. Later calls by the same thread have no heap of their own.
    pub fn end_thread(&'static self) {
        let _pin = C::Current::pin();
        let own = ThreadHeap::of_caller(&self.central);
        if own.heap.cache.reporting.get() == 1 {
            return;
        }
        // SAFETY: pinned; the heap is the placeholder for one that has ended.
        unsafe { C::Current::set(Heap::over()) };
        if own.heap.is_running() {
            own.end();
        }
    }

    /// Stops the program if an access that has faulted at this address was a mistake with a block
    /// that has guard pages: see [`Profile::guarded_every`]. A handler of the fault calls it.
    ///
    /// # Cost
    /// O(1); no latch.
    pub fn explain_fault(&'static self, address: *const u8) {
        let mistake = GuardedBlocks(&self.central).mistake_at(address.addr());
        if let Some((misuse, block)) = mistake {
            stop(&self.central.source, misuse, block);
        }
    }

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
        self.central.before_fork();
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
        self.central.after_fork();
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
        self.central.after_fork_in_child();
    }

    /// Resumes in the child of a process with one thread, before whose fork nothing was called.
    /// The fork may have interrupted the thread in this allocator, from a signal handler.
    ///
    /// # Safety
    /// The process that forked had one thread.
    pub unsafe fn after_lone_fork_in_child(&'static self) {
        self.central.after_lone_fork_in_child();
    }

    /// Checks every invariant. No other thread may be in a gate meanwhile; threads in a slow path
    /// are waited for.
    ///
    /// # Errors
    /// See [`BrokenMalloc`].
    ///
    /// # Cost
    /// O(units): it walks all arenas under all latches.
    pub fn check(&'static self) -> Result<(), BrokenMalloc> {
        let _pin = C::Current::pin();
        self.central.hold_all().check()
    }

    /// Counts all memory. Exact if no thread is in a gate meanwhile.
    ///
    /// # Cost
    /// O(units): it walks all arenas under all latches.
    #[must_use]
    pub fn statistics(&'static self) -> Statistics {
        let _pin = C::Current::pin();
        self.central.hold_all().statistics()
    }
}
