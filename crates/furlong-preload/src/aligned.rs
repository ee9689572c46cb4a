//! `posix_memalign`, `aligned_alloc` and their older kin.

use core::ffi::{c_int, c_void};

use crate::kind::Kind;

/// `posix_memalign`: `out` is written only on success, and `errno` not at all.
///
/// # Safety
/// `out` may be written.
pub unsafe fn posix_memalign<K: Kind>(out: *mut *mut c_void, align: usize, size: usize) -> c_int {
    if !align.is_power_of_two() || !align.is_multiple_of(size_of::<*mut c_void>()) {
        return libc::EINVAL;
    }
    let block = K::allocator().allocate_aligned(size, align);
    if block.is_null() {
        return libc::ENOMEM;
    }
    // SAFETY: the caller's promise.
    unsafe { out.write(block.cast()) };
    0
}

/// `memalign`, and `aligned_alloc` as the C library of Linux has it: an alignment that is no power
/// of two is rounded up to one.
pub fn memalign<K: Kind>(align: usize, size: usize) -> *mut c_void {
    match align.checked_next_power_of_two() {
        Some(align) => K::allocator().allocate_aligned(size, align).cast(),
        None => K::allocator().refuse().cast(),
    }
}

fn page() -> usize {
    // SAFETY: no contract.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

/// `valloc`: a block that begins at a page.
pub fn valloc<K: Kind>(size: usize) -> *mut c_void {
    memalign::<K>(page(), size)
}

/// `pvalloc`: the same of whole pages.
pub fn pvalloc<K: Kind>(size: usize) -> *mut c_void {
    match size.max(1).checked_next_multiple_of(page()) {
        Some(whole) => memalign::<K>(page(), whole),
        None => K::allocator().refuse().cast(),
    }
}
