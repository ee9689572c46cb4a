//! The seam `hardening`: how much an allocator does against the mistakes of its callers.
//!
//! Blocks have no links and no headers in them whatever the arm; what differs is what is looked at
//! and what is overwritten.
#![forbid(unsafe_code)]

mod sealed {
    pub trait Sealed {}
}

/// What is checked, and what is overwritten.
///
/// Its secrets are made of one number of the system: see
/// [`PageSource::random`](super::PageSource::random).
pub trait Hardening: sealed::Sealed + 'static {
    /// Whether a free checks that the pointer is a block's start and that the block is not free:
    /// a free block carries a secret mark in its first word.
    const CHECK: bool;
    /// Whether freed blocks are overwritten with zeros, and are looked at again before reuse; then
    /// each block ends with a word that says where its contents end.
    const SCRUB: bool;
    /// Whether blocks are handed out in random order, and freed ones late.
    const SHUFFLE: bool;
    /// Whether the ends of arenas are inaccessible.
    const GUARD: bool;
}

/// Nothing that costs an instruction.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHardening;

impl sealed::Sealed for NoHardening {}

impl Hardening for NoHardening {
    const CHECK: bool = false;
    const SCRUB: bool = false;
    const SHUFFLE: bool = false;
    const GUARD: bool = false;
}

/// What is nearly free: double, interior and foreign frees stop the program.
#[derive(Clone, Copy, Debug, Default)]
pub struct Checked;

impl sealed::Sealed for Checked {}

impl Hardening for Checked {
    const CHECK: bool = true;
    const SCRUB: bool = false;
    const SHUFFLE: bool = false;
    const GUARD: bool = false;
}

/// Everything: freed memory is zeroed, waits, and is checked before reuse; placement is random;
/// arenas end in memory that nobody can touch.
#[derive(Clone, Copy, Debug, Default)]
pub struct Secure;

impl sealed::Sealed for Secure {}

impl Hardening for Secure {
    const CHECK: bool = true;
    const SCRUB: bool = true;
    const SHUFFLE: bool = true;
    const GUARD: bool = true;
}
