//! Released extents that wait for a flush of the device's TLB.
//!
//! - `flush_queue`: the queue of released extents; `ring`: its bounded storage.
//! - `token`: the states of an extent after its grant; `tag`: identity of the owner.
#![forbid(unsafe_code)]

pub(super) mod flush_queue;
pub(super) mod ring;
pub(super) mod tag;
pub(super) mod token;
