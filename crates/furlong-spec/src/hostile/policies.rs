//! Memory, a lock and a domain that are right, and whose every function is user code.
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

// SAFETY: the heap promises as much, and a panic comes before it is asked or after it has answered.
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

/// A lock for one thread. Where it would wait for itself it panics, as locks that look for
/// deadlocks do.
#[derive(Debug, Default)]
pub struct Latch(AtomicBool);

// SAFETY: one exchange takes it, and whoever finds it taken panics instead of returning. All is
// sequentially consistent. A panic in `unlock` comes after the lock was released.
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

/// A domain of four readers.
#[derive(Debug)]
pub struct Grace(pub Domain<[ReaderSlot; 4]>);

impl Grace {
    /// A domain without readers.
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

// SAFETY: the domain promises as much. A panic comes before it is asked; a batch is leaked then.
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

/// The only CPU of one thread: it is no other thread's.
#[derive(Debug, Default)]
pub struct Alone(PhantomData<*const ()>);

/// The thread stays on its CPU.
#[derive(Debug)]
pub struct Pin(());

impl Drop for Pin {
    fn drop(&mut self) {
        user_code("Pin::drop");
    }
}

// SAFETY: one thread alone can use the value, for it is not `Sync`, and so nothing else runs with
// its number; a thread sees what it has done before.
unsafe impl CurrentCpu for Alone {
    type Pin = Pin;

    fn pin(&self) -> (usize, Pin) {
        user_code("CurrentCpu::pin");
        (0, Pin(()))
    }
}
