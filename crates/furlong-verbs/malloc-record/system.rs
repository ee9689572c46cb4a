//! Functions of the C library that several files call.

use core::ffi::{c_char, c_int, c_long, c_void};

#[link(name = "c")]
unsafe extern "C" {
    pub(crate) fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    pub(crate) fn read(file: c_int, into: *mut c_void, len: usize) -> isize;
    pub(crate) fn close(file: c_int) -> c_int;
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
