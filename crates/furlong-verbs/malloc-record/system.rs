//! Calls of the kernel, and functions of the C library that several files call.
//!
//! Files are opened and read without the C library's functions, where a thread that was cancelled
//! would end within `malloc`.

use core::ffi::{CStr, c_char, c_int, c_long, c_void};
use core::ptr;

/// Numbers of system calls.
#[cfg(target_arch = "x86_64")]
mod numbers {
    pub(crate) const READ: i64 = 0;
    pub(crate) const CLOSE: i64 = 3;
    pub(crate) const MMAP: i64 = 9;
    pub(crate) const MUNMAP: i64 = 11;
    pub(crate) const EXIT_GROUP: i64 = 231;
    pub(crate) const OPENAT: i64 = 257;
    pub(crate) const NEWFSTATAT: i64 = 262;
}

/// Numbers of system calls.
#[cfg(not(target_arch = "x86_64"))]
mod numbers {
    pub(crate) const OPENAT: i64 = 56;
    pub(crate) const CLOSE: i64 = 57;
    pub(crate) const READ: i64 = 63;
    pub(crate) const NEWFSTATAT: i64 = 79;
    pub(crate) const EXIT_GROUP: i64 = 94;
    pub(crate) const MUNMAP: i64 = 215;
    pub(crate) const MMAP: i64 = 222;
}

pub(crate) use numbers::{EXIT_GROUP, MMAP, MUNMAP, NEWFSTATAT};

use numbers::{CLOSE, OPENAT, READ};

pub(crate) const AT_FDCWD: c_int = -100;

/// Handle of all libraries of the process.
const RTLD_DEFAULT: *mut c_void = ptr::null_mut();

/// The function or variable of a name; null if there is none.
pub(crate) fn found(name: &CStr) -> *mut c_void {
    // SAFETY: a name that ends with a zero.
    unsafe { dlsym(RTLD_DEFAULT, name.as_ptr()) }
}

/// Opens a file; the result is negative if that fails.
///
/// # Safety
/// The path ends with a zero.
pub(crate) unsafe fn open(path: *const c_char, flags: c_int) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { syscall(OPENAT, AT_FDCWD, path, flags, 0) as c_int }
}

/// Reads a part of a file; the result is negative if that fails.
///
/// # Safety
/// There is room for `len` bytes.
pub(crate) unsafe fn read(file: c_int, into: *mut c_void, len: usize) -> isize {
    // SAFETY: the caller's promise.
    unsafe { syscall(READ, file, into, len) as isize }
}

/// Closes a file.
///
/// # Safety
/// The caller owns it.
pub(crate) unsafe fn close(file: c_int) {
    // SAFETY: the caller's promise.
    unsafe { syscall(CLOSE, file) };
}

#[link(name = "c")]
unsafe extern "C" {
    pub(crate) fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    pub(crate) fn syscall(number: c_long, ...) -> c_long;
    pub(crate) fn mmap(
        at: *mut c_void,
        len: usize,
        protection: c_int,
        flags: c_int,
        file: c_int,
        offset: c_long,
    ) -> *mut c_void;
    pub(crate) fn madvise(at: *mut c_void, len: usize, advice: c_int) -> c_int;
}
