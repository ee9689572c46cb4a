//! The seam `tier`: when it is decided whether a class goes through the heap's cache.
//!
//! The policy is the profile's: how many blocks of a class a heap keeps, perhaps none. Asking it
//! for every call is what the model's report measured; its next step, never taken, was to decide
//! once for many.
#![forbid(unsafe_code)]

use super::policy::Policy;

mod sealed {
    pub trait Sealed {}
}

/// When the policy is asked.
pub trait Tier: sealed::Sealed + 'static {
    /// Whether this call may use the heap's cache for a class, by its number.
    fn cached(policy: &Policy, class: u8) -> bool;
}

/// For every call.
#[derive(Clone, Copy, Debug, Default)]
pub struct PerCall;

impl sealed::Sealed for PerCall {}

impl Tier for PerCall {
    #[inline(always)]
    fn cached(policy: &Policy, class: u8) -> bool {
        policy.keeps(class)
    }
}

/// Once for many: the answer is in the shape of the heap's stacks, of which one that keeps nothing
/// is empty and full at once. It is renewed when a stack is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Batched;

impl sealed::Sealed for Batched {}

impl Tier for Batched {
    #[inline(always)]
    fn cached(_: &Policy, _: u8) -> bool {
        true
    }
}
