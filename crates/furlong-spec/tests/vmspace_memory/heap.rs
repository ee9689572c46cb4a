//! An allocator that counts a thread's calls, and can fail one of them.
#![expect(unsafe_code, reason = "an allocator hands out memory")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use furlong::sync::{RawLock, SpinLock};

struct Failing;

#[global_allocator]
static HEAP: Failing = Failing;

thread_local! {
    /// This thread's calls, if they are counted.
    static CALLS: Cell<Option<Calls>> = const { Cell::new(None) };
}

/// Counts of calls to the allocator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Calls {
    /// Allocations.
    pub(crate) obtained: u64,
    /// Frees.
    pub(crate) freed: u64,
    failing: u64,
}

// SAFETY: every call is forwarded to the system's allocator with its arguments unchanged, or fails
// as an allocator may. The provided methods are built from these two.
unsafe impl GlobalAlloc for Failing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if let Some(calls) = CALLS.get() {
            CALLS.set(Some(Calls {
                obtained: calls.obtained + 1,
                ..calls
            }));
            if calls.obtained == calls.failing {
                return core::ptr::null_mut();
            }
        }
        // SAFETY: the caller keeps the contract of this same method.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        if let Some(calls) = CALLS.get() {
            CALLS.set(Some(Calls {
                freed: calls.freed + 1,
                ..calls
            }));
        }
        // SAFETY: the memory came from the system's allocator, with this layout.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Runs `work` with this thread's allocation number `failing` (counted from 0) failing. Returns the
/// result and the number of allocations.
pub(crate) fn failing_at<T>(failing: u64, work: impl FnOnce() -> T) -> (T, u64) {
    let (done, calls) = counted(failing, work);
    (done, calls.obtained)
}

/// The same, but returns the counts of all calls.
pub(crate) fn counted<T>(failing: u64, work: impl FnOnce() -> T) -> (T, Calls) {
    CALLS.set(Some(Calls {
        failing,
        ..Calls::default()
    }));
    let done = work();
    (done, CALLS.take().unwrap_or_default())
}

/// A lock that checks that no counted call is made while it is held.
#[derive(Default)]
pub(crate) struct Strict(SpinLock);

// SAFETY: the inner lock keeps the contract.
unsafe impl RawLock for Strict {
    type Token<'a> = Option<Calls>;

    fn lock(&self) -> Option<Calls> {
        self.0.lock();
        CALLS.get()
    }

    unsafe fn unlock(&self, before: Option<Calls>) {
        let now = CALLS.get();
        // SAFETY: the caller holds the lock, and its token is ().
        unsafe { self.0.unlock(()) };
        assert_eq!(now, before, "under the lock");
    }
}
