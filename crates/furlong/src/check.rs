//! `check()`: every structure can verify all its invariants and return the broken one.
#![forbid(unsafe_code)]

/// A structure that can check itself.
///
/// A broken invariant is a defect of this library or of an unsafe caller, never a consequence of
/// bad input. `check` is for tests, debug builds, and kernels that verify their own state.
pub trait Check {
    /// The broken invariant, and its place.
    type Broken: core::error::Error;

    /// Verifies every invariant.
    ///
    /// # Errors
    /// The first broken invariant found.
    fn check(&self) -> Result<(), Self::Broken>;
}
