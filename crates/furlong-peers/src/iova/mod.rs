//! Allocators of addresses, which reserve and release ranges of a space.
//!
//! # Files
//!
//! - `peer`: a peer's interface to the specification; `subject`: any peer as its `Subject`.
//! - `vm_allocator`, `range_alloc`, `offset_allocator`, `range_map`, `buddy`: crates, a file each.
//! - `free_map`: our own version of code that others write by hand.
//! - `starts`: places in a gap; `extents`: lists of extents; `arms`: the peers in `iova-gap`.

mod arms;
mod buddy;
mod extents;
mod free_map;
mod offset_allocator;
mod peer;
mod range_alloc;
mod range_map;
mod starts;
mod subject;
mod vm_allocator;

pub use arms::{EXPERIMENT, arms};
pub use buddy::Buddy;
pub use free_map::FreeMap;
pub use offset_allocator::OffsetAllocator;
pub use peer::{Align, Offers, Peer};
pub use range_alloc::RangeAlloc;
pub use range_map::RangeMap;
pub use subject::{Bluntly, PeerSubject};
pub use vm_allocator::VmAllocator;
