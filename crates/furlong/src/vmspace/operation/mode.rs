//! The seam `mode`: the effect of a range operation that fails in the middle.
//!
//! | arm | behaviour |
//! |---|---|
//! | [`Atomic`] | `Err` means that nothing has changed, here as everywhere in this library |
//! | [`Linux`] | the part before the failure stays done: `mprotect` and `madvise` over a hole, \
//! `mremap` onto mappings that it then unmaps in vain |

use crate::forms::Sealed;

/// An arm of the seam.
pub trait Mode: Sealed {
    /// True if the part before a failure stays done.
    #[doc(hidden)]
    fn keeps_part() -> bool;
}

/// An operation that fails has changed nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Atomic;

/// A range operation that fails has done the part before the failure.
///
/// Linux may cut an area in two before it fails for the number of areas; this leaves it whole.
#[derive(Clone, Copy, Debug, Default)]
pub struct Linux;

impl Sealed for Atomic {}
impl Mode for Atomic {
    fn keeps_part() -> bool {
        false
    }
}

impl Sealed for Linux {}
impl Mode for Linux {
    fn keeps_part() -> bool {
        true
    }
}
