//! Migration guides, one per system.
#![forbid(unsafe_code)]

#[cfg(feature = "alloc")]
#[doc = include_str!("../guides/bounce.md")]
pub mod bounce {}
#[cfg(feature = "alloc")]
#[doc = include_str!("../guides/iova.md")]
pub mod iova {}
#[cfg(feature = "alloc")]
#[doc = include_str!("../guides/malloc.md")]
pub mod malloc {}
#[cfg(feature = "alloc")]
#[doc = include_str!("../guides/phys.md")]
pub mod phys {}
#[cfg(feature = "alloc")]
#[doc = include_str!("../guides/vmspace.md")]
pub mod vmspace {}
