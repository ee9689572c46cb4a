//! The front: the interface of the allocator, its gates and their slow paths.
//!
//! [`Malloc`](malloc::Malloc) holds nothing but a [`Central`](super::central::state::Central). Its
//! methods pin the caller, and then use the caller's heap and the shared state.
//!
//! - `malloc`: [`Malloc`](malloc::Malloc); its gates, and blocks of any size and alignment.
//! - `resize`: usable sizes, and blocks that grow or shrink.
//! - `maintain`: limits, trimming, the end of a thread, forks, checks and statistics.
//! - `global`, `api2`: Rust's allocator traits.

#[cfg(feature = "allocator-api2")]
mod api2;
pub(crate) mod global;
mod maintain;
pub(crate) mod malloc;
mod resize;
