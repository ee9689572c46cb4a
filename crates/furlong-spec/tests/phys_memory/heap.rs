//! The system's heap, which refuses a call of a thread when it is told to, and a lock that counts
//! the calls of a thread that has it.
#![expect(
    unsafe_code,
    reason = "an allocator hands out memory, a lock is trusted"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use furlong::sync::{RawLock, SpinLock};

struct Heap;

#[global_allocator]
static HEAP: Heap = Heap;

thread_local! {
    /// Calls until one is refused.
    static LEFT: Cell<Option<u64>> = const { Cell::new(None) };
    /// Whether this thread has a lock that counts, and calls of the heap meanwhile.
    static IS_LOCKED: Cell<bool> = const { Cell::new(false) };
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

/// A lock that counts what its owner asks of the heap.
#[derive(Default)]
pub(crate) struct Counting(SpinLock);

// SAFETY: the spin lock does it all.
unsafe impl RawLock for Counting {
    type Token<'a> = ();

    fn lock(&self) {
        self.0.lock();
        IS_LOCKED.set(true);
    }

    unsafe fn unlock(&self, (): ()) {
        IS_LOCKED.set(false);
        // SAFETY: the caller's promise.
        unsafe { self.0.unlock(()) };
    }
}

/// Whether this thread has such a lock.
pub(crate) fn is_locked() -> bool {
    IS_LOCKED.get()
}

/// Calls of the heap that this thread has made while it had one.
pub(crate) fn calls_under_lock() -> u64 {
    CALLS.get()
}

fn count() {
    CALLS.set(CALLS.get() + u64::from(IS_LOCKED.get()));
}

// SAFETY: the system's allocator does it all, but for what is refused.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        match LEFT.replace(LEFT.get().and_then(|left| left.checked_sub(1))) {
            Some(0) => core::ptr::null_mut(),
            // SAFETY: the caller's promise.
            _ => unsafe { System.alloc(layout) },
        }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count();
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, layout) };
    }
}

/// Does something while this thread's call number `failing`, counted from 0, gets no memory.
/// Returns what came of it, and whether there was such a call.
pub(crate) fn failing_at<T>(failing: u64, work: impl FnOnce() -> T) -> (T, bool) {
    LEFT.set(Some(failing));
    let done = work();
    (done, LEFT.take().is_none())
}
