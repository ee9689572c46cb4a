//! The indexes that are arms.

pub(super) mod owned;
pub(super) mod rcu;
pub(super) mod shared_space;
pub(super) mod tree;
