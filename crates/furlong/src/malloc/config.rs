//! What may differ between allocators: one type with everything.
#![forbid(unsafe_code)]

use super::{
    current::CurrentHeap, gate::Gate, hardening::Hardening, policy::Profile, source::PageSource,
    tier::Tier,
};

/// An allocator's parts.
pub trait Config: 'static {
    /// The system under it.
    type Source: PageSource;
    /// Where the current heap is kept.
    type Current: CurrentHeap;
    /// What is done against misuse.
    type Hardening: Hardening;
    /// How it is entered.
    type Gate: Gate;
    /// When its policy is asked.
    type Tier: Tier;

    /// What it keeps, before [`follow`](super::Malloc::follow) says otherwise.
    const PROFILE: Profile = Profile::STANDARD;
}
