//! The seam `gate`: whether the entry of allocate and free is part of its caller.
//!
//! The first allocation report among this library's models forced the two gates inline and
//! reported 10 % more throughput. One body; one arm calls it through a function of its own.
#![forbid(unsafe_code)]

mod sealed {
    pub trait Sealed {}
}

/// How the gates are entered.
pub trait Gate: sealed::Sealed + 'static {
    /// Runs the body of a gate.
    fn enter<T>(body: impl FnOnce() -> T) -> T;
}

/// The gate is part of its caller.
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
