//! The parts that may differ between allocators, in one type.
#![forbid(unsafe_code)]

use super::{
    current::CurrentHeap, gate::Gate, hardening::Hardening, policy::Profile, source::PageSource,
    tier::Tier,
};

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
}
