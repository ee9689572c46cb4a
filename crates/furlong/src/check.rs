//! `check()`: every structure can walk all its invariants and name the one that is broken.
#![forbid(unsafe_code)]

/// A structure that can check itself.
///
/// A broken invariant is a defect of this library or of an unsafe caller, never a consequence of
/// bad input; `check` is for tests, for debug builds, and for a kernel that wants to know.
pub trait Check {
    /// What is broken, and where.
    type Broken: core::error::Error;

    /// Walks every invariant.
    ///
    /// # Errors
    /// The first broken one in the order of the walk.
    fn check(&self) -> Result<(), Self::Broken>;
}
