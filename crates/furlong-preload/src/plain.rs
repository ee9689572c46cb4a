//! `malloc`, `free`, `calloc`, `realloc` and what goes with them.

use core::{ffi::c_void, ptr};

use crate::kind::Kind;

/// Sets `errno` to `ENOMEM` and returns null.
#[cold]
#[inline(never)]
pub(crate) fn out_of_memory() -> *mut c_void {
    // SAFETY: it always returns this thread's.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    unsafe { errno.write(libc::ENOMEM) };
    ptr::null_mut()
}

/// The block, or null with `errno` set.
#[inline(always)]
pub(crate) fn or_errno(block: *mut u8) -> *mut c_void {
    if block.is_null() { out_of_memory() } else { block.cast() }
}

/// `malloc`: a block of at least `size` bytes.
#[inline(always)]
pub fn malloc<K: Kind>(size: usize) -> *mut c_void {
    or_errno(K::allocator().allocate(size))
}

/// `free`.
///
/// # Safety
/// `block` is null or a live block of this allocator.
#[inline(always)]
pub unsafe fn free<K: Kind>(block: *mut c_void) {
    // SAFETY: the caller's promise.
    unsafe { K::allocator().free(block.cast()) };
}

/// `calloc`: `count` zeroed elements.
#[inline(always)]
pub fn calloc<K: Kind>(count: usize, size: usize) -> *mut c_void {
    match count.checked_mul(size) {
        Some(bytes) => or_errno(K::allocator().allocate_zeroed(bytes, 1)),
        None => out_of_memory(),
    }
}

/// `realloc`. A size of 0 frees, as the C library of Linux does.
///
/// # Safety
/// As for [`free`].
pub unsafe fn realloc<K: Kind>(block: *mut c_void, size: usize) -> *mut c_void {
    if block.is_null() {
        return malloc::<K>(size);
    }
    if size == 0 {
        // SAFETY: the caller's promise.
        unsafe { free::<K>(block) };
        return ptr::null_mut();
    }
    // SAFETY: the caller's promise.
    or_errno(unsafe { K::allocator().resize(block.cast(), size, 16) })
}

/// `malloc_usable_size`: what a block really has; 0 for null.
///
/// # Safety
/// As for [`free`].
pub unsafe fn malloc_usable_size<K: Kind>(block: *mut c_void) -> usize {
    if block.is_null() {
        return 0;
    }
    // SAFETY: the caller's promise.
    unsafe { K::allocator().usable_size(block.cast()) }
}
