//! The seam `gate`: inlining of allocate and free.
//!
//! The first allocation report among this library's models forced both gates inline and reported 10
//! % more throughput. Both arms run the same body; one calls it through a function of its own.
#![forbid(unsafe_code)]

mod sealed {
    pub trait Sealed {}
}

/// The manner in which the gates are entered.
pub trait Gate: sealed::Sealed + 'static {
    /// Runs the body of a gate.
    fn enter<T>(body: impl FnOnce() -> T) -> T;
}

/// The gate is inlined in its caller.
#[derive(Clone, Copy, Debug, Default)]
pub struct Inlined;

impl sealed::Sealed for Inlined {}

impl Gate for Inlined {
    #[inline(always)]
    fn enter<T>(body: impl FnOnce() -> T) -> T {
        body()
    }
}

/// The gate is a function that its caller calls.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outlined;

impl sealed::Sealed for Outlined {}

impl Gate for Outlined {
    #[inline(never)]
    fn enter<T>(body: impl FnOnce() -> T) -> T {
        body()
    }
}
