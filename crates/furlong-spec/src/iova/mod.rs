//! The device-address allocator.
#![forbid(unsafe_code)]

mod pruned;
pub mod spaces;
