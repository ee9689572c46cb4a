//! Names and places of the process's libraries, and `errno`.

use core::ffi::{CStr, c_void};
use core::mem;

/// The function or variable of a name that all libraries of the process see; null if there is none.
pub(crate) fn found(name: &CStr) -> *mut c_void {
    // SAFETY: a name that ends with a zero.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
}

/// The place of the library that has a function; null if it is of none.
pub(crate) fn base_of(function: *const c_void) -> *const c_void {
    // SAFETY: all zeros are a value.
    let mut found: libc::Dl_info = unsafe { mem::zeroed() };
    // SAFETY: a place for the result, which stays null if there is none.
    unsafe { libc::dladdr(function, &raw mut found) };
    found.dli_fbase
}

/// Runs a closure, and restores this thread's `errno` after it.
pub(crate) fn keeping_errno<T>(run: impl FnOnce() -> T) -> T {
    // SAFETY: it always returns this thread's errno.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { errno.read() };
    let done = run();
    // SAFETY: as above.
    unsafe { errno.write(before) };
    done
}
