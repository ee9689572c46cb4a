//! The C functions over the heap of the including library, `crate::HEAP`. The C++ operators call
//! them.

use std::ffi::{c_int, c_void};
use std::ptr;

use talc::lock_api::RawMutex as _;

use crate::HEAP;
use crate::heap::Heap as _;
use crate::lock::SystemLock;

/// The alignment of the largest type.
const ALIGN: usize = 16;

/// Sets `errno` and returns null, as C functions do on failure.
fn refuse(why: c_int) -> *mut c_void {
    // SAFETY: it always returns this thread's errno.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    unsafe { errno.write(why) };
    ptr::null_mut()
}

/// The block, or C's answer if it is null.
fn given(block: *mut u8) -> *mut c_void {
    if block.is_null() {
        refuse(libc::ENOMEM)
    } else {
        block.cast()
    }
}

fn page() -> usize {
    // SAFETY: no contract.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

#[unsafe(no_mangle)]
extern "C" fn malloc(size: usize) -> *mut c_void {
    given(HEAP.allocate(size, ALIGN))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn free(block: *mut c_void) {
    if !block.is_null() {
        // SAFETY: the caller gives up a block of this heap.
        unsafe { HEAP.free(block.cast()) };
    }
}

#[unsafe(no_mangle)]
extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    match count.checked_mul(size) {
        Some(bytes) => given(HEAP.allocate_zeroed(bytes, ALIGN)),
        None => refuse(libc::ENOMEM),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    if block.is_null() {
        return malloc(size);
    }
    if size == 0 {
        // SAFETY: the caller gives up a block of this heap.
        unsafe { free(block) };
        return ptr::null_mut();
    }
    // SAFETY: the result replaces the caller's block.
    given(unsafe { HEAP.resize(block.cast(), size) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn reallocarray(block: *mut c_void, count: usize, size: usize) -> *mut c_void {
    match count.checked_mul(size) {
        // SAFETY: the same contract.
        Some(bytes) => unsafe { realloc(block, bytes) },
        None => refuse(libc::ENOMEM),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn malloc_usable_size(block: *mut c_void) -> usize {
    if block.is_null() {
        return 0;
    }
    // SAFETY: the caller has a block of this heap.
    unsafe { HEAP.usable(block.cast()) }
}

#[unsafe(no_mangle)]
extern "C" fn memalign(align: usize, size: usize) -> *mut c_void {
    match align.checked_next_power_of_two() {
        Some(align) => given(HEAP.allocate(size, align.max(ALIGN))),
        None => refuse(libc::EINVAL),
    }
}

#[unsafe(no_mangle)]
extern "C" fn aligned_alloc(align: usize, size: usize) -> *mut c_void {
    if align.is_power_of_two() {
        memalign(align, size)
    } else {
        refuse(libc::EINVAL)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn posix_memalign(out: *mut *mut c_void, align: usize, size: usize) -> c_int {
    if !align.is_power_of_two() || !align.is_multiple_of(size_of::<*mut c_void>()) {
        return libc::EINVAL;
    }
    let block = HEAP.allocate(size, align.max(ALIGN));
    if block.is_null() {
        return libc::ENOMEM;
    }
    // SAFETY: the caller lets it be written.
    unsafe { out.write(block.cast()) };
    0
}

#[unsafe(no_mangle)]
extern "C" fn valloc(size: usize) -> *mut c_void {
    memalign(page(), size)
}

#[unsafe(no_mangle)]
extern "C" fn pvalloc(size: usize) -> *mut c_void {
    match size.max(1).checked_next_multiple_of(page()) {
        Some(whole) => memalign(page(), whole),
        None => refuse(libc::ENOMEM),
    }
}

/// Takes the lock for the forking thread, which is the only one in the child.
extern "C" fn before_fork() {
    SystemLock.lock();
}

extern "C" fn after_fork() {
    // SAFETY: this thread, or the one that it was forked from, has taken it.
    unsafe { SystemLock.unlock() };
}

/// Runs when the library is loaded: registers the fork handlers.
pub(crate) extern "C" fn loaded() {
    // SAFETY: three functions that are never unloaded; if out of memory, forks are not handled.
    unsafe { libc::pthread_atfork(Some(before_fork), Some(after_fork), Some(after_fork)) };
}
