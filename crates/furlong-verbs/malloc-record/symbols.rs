//! The allocating functions of the C library, each a wrapper around the library's own.

use core::ffi::{c_int, c_void};
use core::ptr;

use crate::log::{Kind, put};

unsafe extern "C" {
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, size: usize) -> *mut c_void;
    fn __libc_realloc(block: *mut c_void, size: usize) -> *mut c_void;
    fn __libc_memalign(align: usize, size: usize) -> *mut c_void;
    fn __libc_free(block: *mut c_void);
    fn getpagesize() -> c_int;
}

const EINVAL: c_int = 22;
const ENOMEM: c_int = 12;

/// Records an allocation if it succeeded.
fn allocated(kind: Kind, size: usize, align: usize, block: *mut c_void) -> *mut c_void {
    if !block.is_null() {
        put(kind, size, align, block, ptr::null_mut());
    }
    block
}

fn aligned(align: usize, size: usize) -> *mut c_void {
    // SAFETY: memalign accepts any sizes.
    let block = unsafe { __libc_memalign(align, size) };
    allocated(Kind::Allocated, size, align, block)
}

/// Replaces the C library's function.
// SAFETY: the library exists to take this name over.
#[unsafe(no_mangle)]
extern "C" fn malloc(size: usize) -> *mut c_void {
    // SAFETY: malloc accepts any size.
    let block = unsafe { __libc_malloc(size) };
    allocated(Kind::Allocated, size, 1, block)
}

/// Replaces the C library's function.
// SAFETY: as for malloc.
#[unsafe(no_mangle)]
extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    // SAFETY: calloc accepts any sizes.
    let block = unsafe { __libc_calloc(count, size) };
    allocated(Kind::Zeroed, count.wrapping_mul(size), 1, block)
}

/// Replaces the C library's function.
///
/// # Safety
/// The block came from here and was not freed.
// SAFETY: as for malloc.
#[unsafe(no_mangle)]
unsafe extern "C" fn free(block: *mut c_void) {
    if !block.is_null() {
        put(Kind::Freed, 0, 1, ptr::null_mut(), block);
    }
    // SAFETY: the caller's promise.
    unsafe { __libc_free(block) };
}

/// Replaces the C library's function.
///
/// # Safety
/// As for [`free`].
// SAFETY: as for malloc.
#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    if block.is_null() {
        return malloc(size);
    }
    if size == 0 {
        // SAFETY: the caller's promise; the C library also frees the block at size 0.
        unsafe { free(block) };
        return ptr::null_mut();
    }
    put(Kind::Resizing, 0, 1, ptr::null_mut(), block);
    // SAFETY: the caller's promise.
    let new = unsafe { __libc_realloc(block, size) };
    put(Kind::Resized, size, 1, new, block);
    new
}

/// Replaces the C library's function.
///
/// # Safety
/// `out` points to a place for a pointer.
// SAFETY: as for malloc.
#[unsafe(no_mangle)]
unsafe extern "C" fn posix_memalign(out: *mut *mut c_void, align: usize, size: usize) -> c_int {
    if !align.is_power_of_two() || align < size_of::<usize>() {
        return EINVAL;
    }
    let block = aligned(align, size);
    if block.is_null() {
        return ENOMEM;
    }
    // SAFETY: the caller's promise.
    unsafe { out.write(block) };
    0
}

/// Replaces the C library's function.
// SAFETY: as for malloc.
#[unsafe(no_mangle)]
extern "C" fn aligned_alloc(align: usize, size: usize) -> *mut c_void {
    aligned(align, size)
}

/// Replaces the C library's function.
// SAFETY: as for malloc.
#[unsafe(no_mangle)]
extern "C" fn memalign(align: usize, size: usize) -> *mut c_void {
    aligned(align, size)
}

/// Replaces the C library's function.
// SAFETY: as for malloc.
#[unsafe(no_mangle)]
extern "C" fn valloc(size: usize) -> *mut c_void {
    // SAFETY: no contract.
    let page = unsafe { getpagesize() } as usize;
    aligned(page, size)
}

/// Replaces the C library's function.
// SAFETY: as for malloc.
#[unsafe(no_mangle)]
extern "C" fn pvalloc(size: usize) -> *mut c_void {
    // SAFETY: no contract.
    let page = unsafe { getpagesize() } as usize;
    aligned(
        page,
        size.checked_next_multiple_of(page).unwrap_or(usize::MAX),
    )
}
