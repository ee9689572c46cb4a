//! Released extents that wait for a flush of the device's TLB.
//!
//! - `ring`: a bounded queue of them; `token`: the states of an extent after its grant.
//! - `tag`: identity of the owner.

#[cfg(feature = "alloc")]
pub(super) mod ring;
pub(super) mod tag;
#[cfg(feature = "alloc")]
pub(super) mod token;
