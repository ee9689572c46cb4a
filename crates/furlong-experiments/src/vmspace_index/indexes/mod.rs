//! The indexes that are arms.
#![forbid(unsafe_code)]

pub(super) mod owned;
pub(super) mod rcu;
pub(super) mod shared_space;
pub(super) mod tree;
