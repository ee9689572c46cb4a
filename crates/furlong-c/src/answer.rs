//! The result of a call: 0, or a negative error number.
#![forbid(unsafe_code)]

use core::ffi::c_int;
use core::mem::MaybeUninit;

use crate::errno::Errno;

/// Converts the result of `work` to C's.
pub(crate) fn answer(work: impl FnOnce() -> Result<(), Errno>) -> c_int {
    match work() {
        Ok(()) => 0,
        Err(errno) => -errno.number(),
    }
}

/// The same for work with a result that the caller must have room for. Without that room nothing is
/// done.
pub(crate) fn answer_in<T>(
    out: Option<&mut MaybeUninit<T>>,
    work: impl FnOnce() -> Result<T, Errno>,
) -> c_int {
    answer(|| {
        let out = out.given()?;
        out.write(work()?);
        Ok(())
    })
}

/// An argument that must not be null.
pub(crate) trait Given<T> {
    /// Returns the value, or an error if it is missing.
    fn given(self) -> Result<T, Errno>;
}

impl<T> Given<T> for Option<T> {
    fn given(self) -> Result<T, Errno> {
        self.ok_or(Errno::INVALID)
    }
}

/// Writes `value` to `out`, unless that is null.
pub(crate) fn put<T>(out: Option<&mut MaybeUninit<T>>, value: T) {
    if let Some(out) = out {
        out.write(value);
    }
}
