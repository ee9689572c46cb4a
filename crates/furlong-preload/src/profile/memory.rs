//! Zeroed memory from the system, which no allocator knows.

use core::ptr;

use super::pprof::Scratch;
use super::table::Table;

/// Types for which all zeros are a value.
///
/// # Safety
/// They are.
pub(super) unsafe trait Zeroed: 'static {}

// SAFETY: arrays and numbers.
unsafe impl Zeroed for Table {}
// SAFETY: arrays and numbers.
unsafe impl Zeroed for Scratch {}

/// Maps a value of zeros for ever, backed as it is touched. `None` if out of address space.
pub(super) fn mapped<T: Zeroed>() -> Option<&'static mut T> {
    let place = map(size_of::<T>())?.cast::<T>();
    // SAFETY: a new mapping of zeros of this size, aligned to a page, which nobody else has.
    Some(unsafe { &mut *place })
}

/// Runs a closure on `count` numbers, all 0. `None` if out of address space.
pub(super) fn with_numbers<R>(count: usize, run: impl FnOnce(&mut [usize]) -> R) -> Option<R> {
    let len = count.max(1).checked_mul(size_of::<usize>())?;
    let place = map(len)?;
    // SAFETY: a new mapping of at least as many numbers, which nobody else has.
    let numbers = unsafe { core::slice::from_raw_parts_mut(place.cast::<usize>(), count) };
    let done = run(numbers);
    // SAFETY: the mapping from above, which nobody uses any more.
    unsafe { libc::munmap(place.cast(), len) };
    Some(done)
}

fn map(len: usize) -> Option<*mut u8> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping at an address that the system chooses.
    let place = unsafe { libc::mmap(ptr::null_mut(), len, protection, flags, -1, 0) };
    (place != libc::MAP_FAILED).then(|| place.cast())
}
