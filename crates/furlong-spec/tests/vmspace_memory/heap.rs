//! An allocator that counts a thread's calls and fails one of them when it is told to.
#![expect(unsafe_code, reason = "an allocator hands out memory")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Failing;

#[global_allocator]
static HEAP: Failing = Failing;

thread_local! {
    /// Calls for memory so far, while this thread counts them, and which one fails.
    static CALLS: Cell<Option<(u64, u64)>> = const { Cell::new(None) };
}

// SAFETY: every call goes to the system's allocator with the arguments that it came with, or fails
// as an allocator may. What is not implemented here is made of these two.
unsafe impl GlobalAlloc for Failing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if let Some((calls, failing)) = CALLS.get() {
            CALLS.set(Some((calls + 1, failing)));
            if calls == failing {
                return core::ptr::null_mut();
            }
        }
        // SAFETY: the caller keeps the contract of this same method.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the memory came from the system's allocator, with this layout.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Does something while this thread's call for memory number `failing`, counted from 0, gets none.
/// Returns what came of it, and how many calls there were.
pub(crate) fn failing_at<T>(failing: u64, work: impl FnOnce() -> T) -> (T, u64) {
    CALLS.set(Some((0, failing)));
    let done = work();
    let calls = CALLS.take().map_or(0, |(calls, _)| calls);
    (done, calls)
}
