//! The seam `tier`: the point at which the cacheability of a class is decided.
//!
//! The profile sets how many blocks of a class a heap keeps, perhaps none. The model's report
//! measured reading this policy at every call. Its next step, never taken, was to decide once for
//! many calls.
#![forbid(unsafe_code)]

use super::policy::Policy;

mod sealed {
    pub trait Sealed {}
}

/// The point at which the policy is read.
pub trait Tier: sealed::Sealed + 'static {
    /// True if this call may use the heap's cache for a class, given by number.
    fn cached(policy: &Policy, class: u8) -> bool;
}

/// At every call.
#[derive(Clone, Copy, Debug, Default)]
pub struct PerCall;

impl sealed::Sealed for PerCall {}

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

impl sealed::Sealed for Batched {}

impl Tier for Batched {
    #[inline(always)]
    fn cached(_: &Policy, _: u8) -> bool {
        true
    }
}
