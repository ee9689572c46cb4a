//! `malloc`, `free`, `calloc`, `realloc` and their variants.

use core::ffi::c_void;
use core::ptr;

use crate::kind::Kind;

/// `malloc`: a block of at least `size` bytes.
#[inline(always)]
pub fn malloc<K: Kind>(size: usize) -> *mut c_void {
    K::allocator().allocate(size).cast()
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
        Some(bytes) => K::allocator().allocate_zeroed(bytes, 1).cast(),
        None => K::allocator().refuse().cast(),
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
    unsafe { K::allocator().resize(block.cast(), size, 16) }.cast()
}

/// `memcpy`, which stops the program if it would write past the end of a block.
///
/// # Safety
/// As the C library requires.
#[inline(always)]
pub unsafe fn memcpy<K: Kind>(to: *mut c_void, from: *const c_void, len: usize) -> *mut c_void {
    // SAFETY: the caller may write there, so nobody frees it meanwhile.
    unsafe { K::allocator().check_write(to.cast(), len) };
    // The C library's own function for both, under the name that this library does not export.
    // SAFETY: the caller's promise.
    unsafe { libc::memmove(to, from, len) }
}

/// `malloc_usable_size`: the real size of a block; 0 for null.
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

/// `reallocarray`: `realloc` for `count` elements.
///
/// # Safety
/// As for [`free`].
pub unsafe fn reallocarray<K: Kind>(block: *mut c_void, count: usize, size: usize) -> *mut c_void {
    match count.checked_mul(size) {
        // SAFETY: the caller's promise.
        Some(bytes) => unsafe { realloc::<K>(block, bytes) },
        None => K::allocator().refuse().cast(),
    }
}

/// `free_sized`: `size` is the requested size; a smaller block stops the program.
///
/// # Safety
/// As for [`free`].
pub unsafe fn free_sized<K: Kind>(block: *mut c_void, size: usize) {
    if !block.is_null() {
        // SAFETY: the caller's promise.
        unsafe { K::allocator().free_sized(block.cast(), size) };
    }
}

/// `free_aligned_sized`: as `free_sized`, for blocks of `aligned_alloc`.
///
/// # Safety
/// As for [`free`].
pub unsafe fn free_aligned_sized<K: Kind>(block: *mut c_void, _: usize, size: usize) {
    // SAFETY: the caller's promise.
    unsafe { free_sized::<K>(block, size) };
}
