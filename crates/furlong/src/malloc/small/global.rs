//! A small heap under the caller's lock, as Rust's global allocator.

use core::alloc::{GlobalAlloc, Layout};
use core::ptr::{self, NonNull};

use super::super::misuse::{Misuse, without_unwinding};
use super::heap::SmallHeap;
use super::source::RegionSource;
use crate::forms::debug_as;
use crate::sync::{Lock, LockGuard, RawLock};

/// A [`SmallHeap`] under a lock: the global allocator of a firmware, of a kernel before it has
/// pages, or of a WebAssembly module.
///
/// The lock is the caller's. [`SpinLock`](crate::sync::SpinLock) never spins in a program with one
/// thread, unless its interrupt handlers allocate. A kernel takes a lock that disables interrupts.
///
/// # Example
/// ```
/// use furlong::malloc::{SmallGlobal, StaticRegion};
/// use furlong::sync::SpinLock;
///
/// static REGION: StaticRegion<{ 64 << 10 }> = StaticRegion::new();
/// #[global_allocator]
/// static GLOBAL: SmallGlobal<SpinLock, StaticRegion<{ 64 << 10 }>> =
///     SmallGlobal::new(SpinLock::new(), &REGION);
///
/// let numbers: Vec<u64> = (0..1000).collect();
/// assert_eq!(numbers.iter().sum::<u64>(), 499_500);
/// assert!(GLOBAL.lock().statistics().used_bytes >= 8000);
/// ```
pub struct SmallGlobal<L, S: 'static> {
    heap: Lock<L, SmallHeap<'static>>,
    source: &'static S,
}

debug_as! { SmallGlobal<L, S> where [L, S]: SmallGlobal { .. } }

impl<L: RawLock, S: RegionSource> SmallGlobal<L, S> {
    /// A heap that has no memory yet: it takes some from the source at the first request.
    #[must_use]
    pub const fn new(lock: L, source: &'static S) -> Self {
        Self {
            heap: Lock::new(lock, SmallHeap::new()),
            source,
        }
    }

    /// The heap, under its lock.
    pub fn lock(&self) -> LockGuard<'_, L, SmallHeap<'static>> {
        self.heap.lock()
    }

    /// A block, perhaps in memory that the source has just given.
    fn allocate(&self, layout: Layout) -> Option<NonNull<u8>> {
        let mut heap = self.heap.lock();
        loop {
            if let Some(block) = heap.allocate(layout) {
                return Some(block);
            }
            // A region that is too short for anything is lost; the source may have another.
            let _ = heap.add(without_unwinding(|| self.source.more(layout))?);
        }
    }

    /// The value, or the end of the program.
    fn right<T>(&self, found: Result<T, Misuse>, block: *mut u8) -> T {
        match found {
            Ok(found) => found,
            Err(misuse) => self.source.stop(misuse, block.addr()),
        }
    }
}

// SAFETY: blocks are as long and aligned as requested, and belong to their holder alone until they
// are freed. Nothing here unwinds: a misuse stops the program.
unsafe impl<L: RawLock, S: RegionSource> GlobalAlloc for SmallGlobal<L, S> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.allocate(layout)
            .map_or(ptr::null_mut(), NonNull::as_ptr)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let Some(place) = NonNull::new(block) else {
            return;
        };
        // SAFETY: the caller's promise.
        let found = unsafe { self.heap.lock().free(place, layout) };
        self.right(found, block);
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let Some(place) = NonNull::new(block) else {
            return block;
        };
        // SAFETY: the caller's promise.
        let found = unsafe { self.heap.lock().resize(place, layout, size) };
        if let Some(moved) = self.right(found, block) {
            return moved.as_ptr();
        }
        let new = Layout::from_size_align(size, layout.align());
        let Some(moved) = new.ok().and_then(|new| self.allocate(new)) else {
            return ptr::null_mut();
        };
        // SAFETY: two blocks of at least this length, of which one is new.
        unsafe { moved.copy_from_nonoverlapping(place, layout.size().min(size)) };
        // SAFETY: the caller's promise: the result replaces it.
        unsafe { self.dealloc(block, layout) };
        moved.as_ptr()
    }
}
