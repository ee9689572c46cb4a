//! The front: the interface of the allocator, and the gates with their slow paths.
//!
//! - `malloc`: [`Malloc`](malloc::Malloc), its gates, and allocation of any size and alignment.
//! - `resize`: usable sizes, and resizing in place or elsewhere.
//! - `seal`: the words behind blocks that show overruns.
//! - `global`, `api2`: Rust's allocator traits.

#[cfg(feature = "allocator-api2")]
mod api2;
pub(crate) mod global;
pub(crate) mod malloc;
mod resize;
mod seal;
