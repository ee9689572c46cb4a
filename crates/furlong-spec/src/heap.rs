//! An allocator that can fail chosen calls of a thread, and counts its calls and the bytes held;
//! and a lock that it watches.
#![expect(
    unsafe_code,
    reason = "an allocator hands out memory, a lock is trusted"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ops::Range;

use furlong::sync::{RawLock, SpinLock};

/// The system's allocator, with planned failures, and counts of calls and of bytes held. A test
/// installs it as the global allocator:
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

/// Counts of a thread's calls of the allocator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// Allocations, failed ones included, and changes of a block's size.
    pub obtained: u64,
    /// Frees.
    pub freed: u64,
    /// Calls of both kinds while the thread held a [`Watched`] lock.
    pub under_lock: u64,
}

thread_local! {
    static CALLS: Cell<Calls> = const { Cell::new(Calls { obtained: 0, freed: 0, under_lock: 0 }) };
    /// The numbers of the first allocation that fails and of the next one that does not.
    static FAILING: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
    /// Bytes that this thread has allocated, less the bytes that it has freed.
    static HELD: Cell<i64> = const { Cell::new(0) };
    /// The number of watched locks that this thread holds.
    static LOCKS: Cell<u32> = const { Cell::new(0) };
}

impl Failing {
    /// Counts an allocation. Returns false if it has to fail.
    fn succeeds() -> bool {
        let number = CALLS.get().obtained;
        Self::count(1, 0);
        let (first, end) = FAILING.get();
        !(first..end).contains(&number)
    }

    fn count(obtained: u64, freed: u64) {
        let calls = CALLS.get();
        CALLS.set(Calls {
            obtained: calls.obtained + obtained,
            freed: calls.freed + freed,
            under_lock: calls.under_lock + u64::from(is_locked()),
        });
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
        Self::count(0, 1);
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

/// Runs `work` with this thread's allocations of these numbers (counted from 0) failing. Returns
/// the result and the number of calls.
pub fn failing<T>(numbers: Range<u64>, work: impl FnOnce() -> T) -> (T, Calls) {
    let before = CALLS.get();
    let at = |number| before.obtained.saturating_add(number);
    let outer = FAILING.replace((at(numbers.start), at(numbers.end)));
    let done = work();
    FAILING.set(outer);
    let now = CALLS.get();
    let calls = Calls {
        obtained: now.obtained - before.obtained,
        freed: now.freed - before.freed,
        under_lock: now.under_lock - before.under_lock,
    };
    (done, calls)
}

/// Runs `work` with this thread's allocation number `number` (counted from 0) failing. Returns the
/// result and the number of allocations.
pub fn failing_at<T>(number: u64, work: impl FnOnce() -> T) -> (T, u64) {
    let (done, calls) = failing(number..number.saturating_add(1), work);
    (done, calls.obtained)
}

/// Runs `work`. Returns the result and the number of calls.
pub fn counted<T>(work: impl FnOnce() -> T) -> (T, Calls) {
    failing(0..0, work)
}

/// Runs `work`. Returns the result and the change in bytes held by this thread.
pub fn held_by<T>(work: impl FnOnce() -> T) -> (T, i64) {
    let before = HELD.get();
    let done = work();
    (done, HELD.get() - before)
}

/// A lock whose holder's calls of the allocator are counted.
#[derive(Debug, Default)]
pub struct Watched(SpinLock);

// SAFETY: every call is forwarded to the spin lock.
unsafe impl RawLock for Watched {
    type Token<'a> = ();

    fn lock(&self) {
        self.0.lock();
        LOCKS.set(LOCKS.get() + 1);
    }

    unsafe fn unlock(&self, (): ()) {
        LOCKS.set(LOCKS.get() - 1);
        // SAFETY: the caller's promise.
        unsafe { self.0.unlock(()) };
    }
}

/// True if this thread holds a watched lock.
pub fn is_locked() -> bool {
    LOCKS.get() > 0
}
