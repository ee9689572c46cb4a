//! An allocator that can fail the k-th call of a thread, and counts the bytes held.
#![expect(unsafe_code, reason = "an allocator hands out memory")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, with planned failures and a count of bytes held. A test installs it as
/// the global allocator:
///
/// ```
/// use furlong_spec::heap::{Failing, failing_at};
///
/// #[global_allocator]
/// static HEAP: Failing = Failing;
///
/// let (boxed, calls) = failing_at(0, || Vec::<u8>::new().try_reserve_exact(1));
/// assert_eq!((boxed.is_err(), calls), (true, 1));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Failing;

thread_local! {
    /// This thread's calls so far and the number of the failing call, if calls are counted.
    static CALLS: Cell<Option<(u64, u64)>> = const { Cell::new(None) };
    /// Bytes that this thread has allocated, less the bytes that it has freed.
    static HELD: Cell<i64> = const { Cell::new(0) };
}

impl Failing {
    /// Counts an allocation. Returns false if it has to fail.
    fn succeeds() -> bool {
        let Some((calls, failing)) = CALLS.get() else {
            return true;
        };
        CALLS.set(Some((calls + 1, failing)));
        calls != failing
    }

    /// Updates the count of bytes held.
    fn held(obtained: usize, given_back: usize) {
        HELD.set(HELD.get() + obtained as i64 - given_back as i64);
    }
}

// SAFETY: every call is forwarded to the system's allocator with its arguments unchanged, or fails
// as an allocator may.
unsafe impl GlobalAlloc for Failing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !Self::succeeds() {
            return core::ptr::null_mut();
        }
        Self::held(layout.size(), 0);
        // SAFETY: the caller keeps the contract of this same method.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        Self::held(0, layout.size());
        // SAFETY: the memory came from the system's allocator, with this layout.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !Self::succeeds() {
            return core::ptr::null_mut();
        }
        Self::held(size, layout.size());
        // SAFETY: the memory came from the system's allocator, with this layout, and the caller
        // keeps the contract of this same method.
        unsafe { System.realloc(memory, layout, size) }
    }
}

/// Runs `work` with this thread's allocation number `failing` (counted from 0) failing. Returns the
/// result and the number of allocations.
pub fn failing_at<T>(failing: u64, work: impl FnOnce() -> T) -> (T, u64) {
    CALLS.set(Some((0, failing)));
    let done = work();
    let calls = CALLS.take().map_or(0, |(calls, _)| calls);
    (done, calls)
}

/// Runs `work`. Returns the result and the change in bytes held by this thread.
pub fn held_by<T>(work: impl FnOnce() -> T) -> (T, i64) {
    let before = HELD.get();
    let done = work();
    (done, HELD.get() - before)
}
