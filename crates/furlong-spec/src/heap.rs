//! An allocator that fails the k-th call of a thread when it is told to, and knows what is held.
#![expect(unsafe_code, reason = "an allocator hands out memory")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, which fails when it is told to, and adds up. A test makes it the global
/// one:
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
    /// Calls so far, while this thread counts them; the one that fails.
    static CALLS: Cell<Option<(u64, u64)>> = const { Cell::new(None) };
    /// Bytes that this thread has obtained, less those that it has given back.
    static HELD: Cell<i64> = const { Cell::new(0) };
}

impl Failing {
    /// Counts a call for memory; whether it is one that succeeds.
    fn succeeds() -> bool {
        let Some((calls, failing)) = CALLS.get() else {
            return true;
        };
        CALLS.set(Some((calls + 1, failing)));
        calls != failing
    }

    /// Adds up what has come and gone.
    fn held(obtained: usize, given_back: usize) {
        HELD.set(HELD.get() + obtained as i64 - given_back as i64);
    }
}

// SAFETY: every call goes to the system's allocator with the arguments that it came with, or fails
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

/// Does something while this thread's call number `failing`, counted from 0, gets no memory.
/// Returns what came of it, and how many calls there were.
pub fn failing_at<T>(failing: u64, work: impl FnOnce() -> T) -> (T, u64) {
    CALLS.set(Some((0, failing)));
    let done = work();
    let calls = CALLS.take().map_or(0, |(calls, _)| calls);
    (done, calls)
}

/// Does something. Returns what came of it, and how many bytes more than before this thread then
/// holds.
pub fn held_by<T>(work: impl FnOnce() -> T) -> (T, i64) {
    let before = HELD.get();
    let done = work();
    (done, HELD.get() - before)
}
