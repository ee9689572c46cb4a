//! Correct memory, lock and domain policies whose every function is user code.
#![expect(unsafe_code, reason = "implements what unsafe code relies on")]

use std::alloc::Layout;
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};

use furlong::maple::{Heap, Source};
use furlong::rcu::{
    BarrierError, Batch, CurrentCpu, Domain, Guard, Period, Progress, Rcu, ReaderSlot,
};
use furlong::sync::RawLock;

use super::fuse::{plant, user_code};

/// The heap, as a source of nodes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory;

// SAFETY: the heap gives the same guarantee, and a panic comes before the heap's call or after it.
unsafe impl Source for Memory {
    fn allocate(layout: Layout) -> Option<NonNull<u8>> {
        user_code("Source::allocate");
        Heap::allocate(layout)
    }

    unsafe fn free(memory: NonNull<u8>, layout: Layout) {
        // SAFETY: it came from the heap with this layout, as the caller promises.
        unsafe { Heap::free(memory, layout) };
        user_code("Source::free");
    }
}

/// A lock for one thread. It panics instead of waiting for itself, as locks with deadlock detection
/// do.
#[derive(Debug, Default)]
pub struct Latch(AtomicBool);

// SAFETY: one exchange takes the lock, and a caller that finds it taken panics instead of
// returning. All accesses are sequentially consistent. A panic in `unlock` comes after the release.
unsafe impl RawLock for Latch {
    type Token<'a> = ();

    fn lock(&self) {
        user_code("RawLock::lock");
        if self.0.swap(true, Ordering::SeqCst) {
            plant("RawLock::lock, held by the caller");
        }
    }

    unsafe fn unlock(&self, (): ()) {
        self.0.store(false, Ordering::SeqCst);
        user_code("RawLock::unlock");
    }
}

/// A domain with four reader slots.
#[derive(Debug)]
pub struct Grace(pub Domain<[ReaderSlot; 4]>);

impl Grace {
    /// A domain without active readers.
    #[must_use]
    pub fn new() -> Self {
        Self(Domain::with_slots(ReaderSlot::array()))
    }
}

impl Default for Grace {
    fn default() -> Self {
        Self::new()
    }
}

// SAFETY: the domain gives the same guarantee. A panic comes before its call; the batch is then
// leaked.
unsafe impl Rcu for Grace {
    type Guard<'r> = Guard<'r>;

    fn covers(&self, guard: &Guard<'_>) -> bool {
        user_code("Rcu::covers");
        self.0.covers(guard)
    }

    fn retire(&self, batch: Batch) {
        user_code("Rcu::retire");
        self.0.retire(batch);
    }

    fn snapshot(&self) -> Period {
        user_code("Rcu::snapshot");
        self.0.snapshot()
    }

    fn elapsed(&self, period: Period) -> bool {
        user_code("Rcu::elapsed");
        self.0.elapsed(period)
    }

    fn is_quiet(&self) -> bool {
        user_code("Rcu::is_quiet");
        self.0.is_quiet()
    }

    fn advance(&self) -> Progress {
        user_code("Rcu::advance");
        self.0.advance()
    }

    fn reclaim(&self, max: usize) -> usize {
        user_code("Rcu::reclaim");
        self.0.reclaim(max)
    }

    fn barrier(&self, pause: impl FnMut() -> ControlFlow<()>) -> Result<(), BarrierError> {
        user_code("Rcu::barrier");
        self.0.barrier(pause)
    }

    fn pending(&self) -> usize {
        self.0.pending()
    }
}

/// The only CPU, for a value that belongs to one thread.
#[derive(Debug, Default)]
pub struct Alone(PhantomData<*const ()>);

/// A pin, which is empty: the thread never leaves its only CPU.
#[derive(Debug)]
pub struct Pin(());

impl Drop for Pin {
    fn drop(&mut self) {
        user_code("Pin::drop");
    }
}

// SAFETY: only one thread can use the value, because it is not `Sync`. So no other code runs with
// its CPU number, and a thread sees its own earlier writes.
unsafe impl CurrentCpu for Alone {
    type Pin = Pin;

    fn pin(&self) -> (usize, Pin) {
        user_code("CurrentCpu::pin");
        (0, Pin(()))
    }
}
