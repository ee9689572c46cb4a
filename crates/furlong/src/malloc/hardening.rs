//! The seam `hardening`: the strength of an allocator's checks against mistakes of its callers.
//!
//! No arm puts links or headers into blocks. The arms differ in what they check and overwrite.
#![forbid(unsafe_code)]

mod sealed {
    pub trait Sealed {}
}

/// The checks, and the overwriting of freed memory.
///
/// Its secrets are derived from one random number of the system: see
/// [`PageSource::random`](super::PageSource::random).
pub trait Hardening: sealed::Sealed + 'static {
    /// Check at each free that the pointer is a block's start and that the block is in use. A free
    /// block carries a secret mark in its first word.
    const CHECK: bool;
    /// Overwrite freed blocks with zeros and check them again before reuse. Each block then ends
    /// with a word that says where its contents end.
    const SCRUB: bool;
    /// Hand out blocks in random order, and reuse freed ones late.
    const SHUFFLE: bool;
    /// Make the ends of arenas inaccessible.
    const GUARD: bool;
}

/// No checks.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHardening;

impl sealed::Sealed for NoHardening {}

impl Hardening for NoHardening {
    const CHECK: bool = false;
    const SCRUB: bool = false;
    const SHUFFLE: bool = false;
    const GUARD: bool = false;
}

/// Checks that are nearly free: double, interior and foreign frees stop the program.
#[derive(Clone, Copy, Debug, Default)]
pub struct Checked;

impl sealed::Sealed for Checked {}

impl Hardening for Checked {
    const CHECK: bool = true;
    const SCRUB: bool = false;
    const SHUFFLE: bool = false;
    const GUARD: bool = false;
}

/// All checks: freed memory is zeroed, delayed, and checked before reuse; placement is random; both
/// ends of arenas are inaccessible.
#[derive(Clone, Copy, Debug, Default)]
pub struct Secure;

impl sealed::Sealed for Secure {}

impl Hardening for Secure {
    const CHECK: bool = true;
    const SCRUB: bool = true;
    const SHUFFLE: bool = true;
    const GUARD: bool = true;
}
