//! The parts that may differ between allocators, in one type, and the three seams among them.
//!
//! - `gate`, inlining of allocate and free. The first allocation report among this library's models
//!   forced both gates inline and reported 10 % more throughput. Both arms run the same body; one
//!   calls it through a function of its own.
//! - `tier`, the point at which the cacheability of a class is decided. The profile sets how many
//!   blocks of a class a heap keeps, perhaps none. The model's report measured reading this policy
//!   at every call. Its next step, never taken, was to decide once for many calls.
//! - `hardening`, the strength of the checks against mistakes of callers. No arm puts links or
//!   headers into blocks. The arms differ in what they check and overwrite.
#![forbid(unsafe_code)]

use super::{CurrentHeap, PageSource, Policy, Profile, Sampler};
use crate::forms::Sealed;

/// The parts of an allocator.
pub trait Config: 'static {
    /// The system below it.
    type Source: PageSource;
    /// The place of the current heap.
    type Current: CurrentHeap;
    /// The checks against misuse.
    type Hardening: Hardening;
    /// Inlining of the gates.
    type Gate: Gate;
    /// The point at which the policy is read.
    type Tier: Tier;

    /// The limits on kept memory, until [`follow`](super::Malloc::follow) replaces them.
    const PROFILE: Profile = Profile::STANDARD;

    /// The profile with which the allocator begins. This is called once, at the first allocation,
    /// under a latch: it must not allocate.
    #[must_use]
    fn profile() -> Profile {
        Self::PROFILE
    }

    /// The receiver of samples. Without one nothing is sampled, whatever the profile says.
    const SAMPLER: Option<&'static dyn Sampler> = None;
}

/// The manner in which the gates are entered.
pub trait Gate: Sealed + 'static {
    /// Runs the body of a gate.
    fn enter<T>(body: impl FnOnce() -> T) -> T;
}

/// The gate is inlined in its caller.
#[derive(Clone, Copy, Debug, Default)]
pub struct Inlined;

impl Sealed for Inlined {}

impl Gate for Inlined {
    #[inline(always)]
    fn enter<T>(body: impl FnOnce() -> T) -> T {
        body()
    }
}

/// The gate is a function that its caller calls.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outlined;

impl Sealed for Outlined {}

impl Gate for Outlined {
    #[inline(never)]
    fn enter<T>(body: impl FnOnce() -> T) -> T {
        body()
    }
}

/// The point at which the policy is read.
pub trait Tier: Sealed + 'static {
    /// True if this call may use the heap's cache for a class, given by number.
    fn cached(policy: &Policy, class: u8) -> bool;
}

/// At every call.
#[derive(Clone, Copy, Debug, Default)]
pub struct PerCall;

impl Sealed for PerCall {}

impl Tier for PerCall {
    #[inline(always)]
    fn cached(policy: &Policy, class: u8) -> bool {
        policy.keeps(class)
    }
}

/// Once for many calls: the shape of the heap's stacks encodes the decision. A stack that keeps
/// nothing is empty and full at once. The shape is renewed when a stack is refilled.
#[derive(Clone, Copy, Debug, Default)]
pub struct Batched;

impl Sealed for Batched {}

impl Tier for Batched {
    #[inline(always)]
    fn cached(_: &Policy, _: u8) -> bool {
        true
    }
}

/// The checks, and the overwriting of freed memory.
///
/// Its secrets are derived from one random number of the system: see
/// [`PageSource::random`].
pub trait Hardening: Sealed + 'static {
    /// Check at each free that the pointer is a block's start and that the block is in use. A free
    /// block carries a secret mark in its first word, unless blocks are scrubbed.
    const CHECK: bool = false;
    /// Overwrite freed blocks with zeros and check them again before reuse. Each block in use then
    /// ends with a word that says where its contents end.
    const SCRUB: bool = false;
    /// Hand out blocks in random order, and reuse freed ones late.
    const SHUFFLE: bool = false;
    /// Make the ends of arenas inaccessible, other units until they are taken, and the last page
    /// of each span and of each object above the size classes. All of a freed object is
    /// inaccessible until it is used again.
    const GUARD: bool = false;
}

/// No checks.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHardening;

impl Sealed for NoHardening {}

impl Hardening for NoHardening {}

/// Checks that are nearly free: double, interior and foreign frees stop the program. That of a
/// block which was never handed out is found when it goes back to its span, if not handed out
/// before.
#[derive(Clone, Copy, Debug, Default)]
pub struct Checked;

impl Sealed for Checked {}

impl Hardening for Checked {
    const CHECK: bool = true;
}

/// All checks: freed memory is zeroed, delayed, and checked before reuse; placement is random;
/// memory that was never used, freed large objects, and the ends of spans are inaccessible.
#[derive(Clone, Copy, Debug, Default)]
pub struct Secure;

impl Sealed for Secure {}

impl Hardening for Secure {
    const CHECK: bool = true;
    const SCRUB: bool = true;
    const SHUFFLE: bool = true;
    const GUARD: bool = true;
}

/// Bytes of a block's seal: see [`Hardening::SCRUB`].
pub(crate) const SEAL: usize = size_of::<usize>();

/// The size of a request with its seal. A request of no bytes has none.
#[inline(always)]
pub(crate) fn with_seal<H: Hardening>(size: usize) -> usize {
    if H::SCRUB && size != 0 {
        size.saturating_add(SEAL)
    } else {
        size
    }
}
