//! The system's heap with a planned failure of one of a thread's calls, and a lock that counts heap
//! calls of the thread that holds it.
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
    /// The number of calls before the one that fails.
    static LEFT: Cell<Option<u64>> = const { Cell::new(None) };
    /// True while this thread holds a counting lock; and the number of heap calls under one.
    static IS_LOCKED: Cell<bool> = const { Cell::new(false) };
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

/// A lock that counts the heap calls of its holder.
#[derive(Default)]
pub(crate) struct Counting(SpinLock);

// SAFETY: every call is forwarded to the spin lock.
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

/// True if this thread holds such a lock.
pub(crate) fn is_locked() -> bool {
    IS_LOCKED.get()
}

/// The number of heap calls that this thread has made under such a lock.
pub(crate) fn calls_under_lock() -> u64 {
    CALLS.get()
}

fn count() {
    CALLS.set(CALLS.get() + u64::from(IS_LOCKED.get()));
}

// SAFETY: every call is forwarded to the system's allocator, except for the one that fails.
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

/// Runs `work` with this thread's allocation number `failing` (counted from 0) failing. Returns the
/// result, and true if there was such an allocation.
pub(crate) fn failing_at<T>(failing: u64, work: impl FnOnce() -> T) -> (T, bool) {
    LEFT.set(Some(failing));
    let done = work();
    (done, LEFT.take().is_none())
}
