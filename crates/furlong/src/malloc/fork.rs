//! A process that forks while its threads allocate.
//!
//! Before the fork all latches are taken, so that no span and no arena is in the middle of a
//! change. What the other threads' gates do goes on meanwhile, and the child may see any part of
//! it: so it trusts their spans and not their stacks, whose blocks are lost to it.
#![forbid(unsafe_code)]

use super::{
    allocator::Malloc, config::Config, current::CurrentHeap, exchange::Exchange, heap::State,
    pool::Pool,
};

impl<C: Config> Malloc<C> {
    /// Before a fork: nobody changes what is shared until [`after_fork`](Self::after_fork) or
    /// [`after_fork_in_child`](Self::after_fork_in_child).
    pub fn before_fork(&'static self) {
        let first = self.pool.heaps.get();
        for heap in Pool::heaps_from(first) {
            self.lock_heap(heap);
        }
        self.lock_pool();
        self.pool.held.set(first);
    }

    /// After a fork, in the process that forked.
    pub fn after_fork(&'static self) {
        // Heaps that came since are not held by this thread: they have no spans, and wait for the
        // pool to get one.
        let first = self.pool.held.take();
        self.unlock_pool();
        for heap in Pool::heaps_from(first) {
            self.unlock_heap(heap);
        }
    }

    /// After a fork, in the new process: the heaps of threads that it does not have have ended.
    pub fn after_fork_in_child(&'static self) {
        let own = C::Current::get();
        let mut ended = 0;
        for heap in self.pool.heaps() {
            // A zone is whoever's has it, also in the new process.
            let of_thread = heap.zone.get() == 0 && heap.state() == State::Running;
            if of_thread && !core::ptr::eq(heap, own) {
                heap.own.tops.forget();
                heap.own.outgoing.forget();
                for place in &heap.own.waiting {
                    place.set(0);
                }
                heap.set_state(State::Ended);
                ended += 1;
            }
        }
        self.pool.ended.set(self.pool.ended.get() + ended);
        self.pool.held.set(self.pool.heaps.get());
        self.after_fork();
    }
}
