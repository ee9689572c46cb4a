//! How a call ends: with 0, or with the negative number of an error.
#![forbid(unsafe_code)]

use core::ffi::c_int;
use core::mem::MaybeUninit;

use crate::errno::Errno;

/// What C is told of `work`.
pub(crate) fn answer(work: impl FnOnce() -> Result<(), Errno>) -> c_int {
    match work() {
        Ok(()) => 0,
        Err(errno) => -errno.number(),
    }
}

/// An argument that must not be null.
pub(crate) trait Given<T> {
    /// It, or that it is missing.
    fn given(self) -> Result<T, Errno>;
}

impl<T> Given<T> for Option<T> {
    fn given(self) -> Result<T, Errno> {
        self.ok_or(Errno::INVALID)
    }
}

/// Writes `value` where C wants it, if it does.
pub(crate) fn put<T>(out: Option<&mut MaybeUninit<T>>, value: T) {
    if let Some(out) = out {
        out.write(value);
    }
}
