//! The system's heap, which refuses a call of a thread when it is told to.
#![expect(unsafe_code, reason = "an allocator hands out memory")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Heap;

#[global_allocator]
static HEAP: Heap = Heap;

thread_local! {
    /// Calls until one is refused.
    static LEFT: Cell<Option<u64>> = const { Cell::new(None) };
}

// SAFETY: the system's allocator does it all, but for what is refused.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match LEFT.replace(LEFT.get().and_then(|left| left.checked_sub(1))) {
            Some(0) => core::ptr::null_mut(),
            // SAFETY: the caller's promise.
            _ => unsafe { System.alloc(layout) },
        }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
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
