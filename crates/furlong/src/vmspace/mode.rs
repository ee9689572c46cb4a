//! The seam `mode`: what an operation over a range leaves behind where it fails in the middle.
//!
//! | arm | what it stands for |
//! |---|---|
//! | [`Atomic`] | `Err` means that nothing has changed, here as everywhere in this library |
//! | [`Linux`] | what comes before the failure is done: `mprotect` and `madvise` over a hole, \
//! `mremap` onto what it then unmaps in vain |
#![forbid(unsafe_code)]

mod sealed {
    pub trait Sealed {}
}

/// An arm of the seam.
pub trait Mode: sealed::Sealed {
    /// Whether what comes before a failure is done.
    #[doc(hidden)]
    fn keeps_part() -> bool;
}

/// An operation that fails has changed nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Atomic;

/// An operation over a range that fails has done what comes before the failure.
///
/// What Linux cuts in two before it fails for the number of areas is left whole.
#[derive(Clone, Copy, Debug, Default)]
pub struct Linux;

impl sealed::Sealed for Atomic {}
impl Mode for Atomic {
    fn keeps_part() -> bool {
        false
    }
}

impl sealed::Sealed for Linux {}
impl Mode for Linux {
    fn keeps_part() -> bool {
        true
    }
}
