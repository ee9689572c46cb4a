//! Memory ranges for kernels, hypervisors, drivers and runtimes: `no_std`, measured.
//!
//! Layer 0, which every system may use: [`addr`], [`check`], [`sync`], [`rcu`]. Above it
//! [`rbtree`], augmented trees, and `maple`, ranges in a B-tree with readers that never wait; then
//! the systems: [`iova`], device addresses; `phys`, physical segments; `vmspace`, address spaces;
//! `bounce`, bounce buffers; `malloc`, a general-purpose allocator. What has no link needs atomics
//! of 64 bits, or `alloc`. Who has one of these already begins with its guide, in `guides`.
//!
//! Features: `alloc` (default) adds structures that own their memory; `std` adds what needs an
//! operating system, and `linux` the part of it that needs no more than the C library; `lock_api`
//! takes its locks; `allocator-api2` gives the allocator to collections of that crate; `serde`
//! serialises saved states. Without any the library works over memory that the caller hands in.
#![cfg_attr(not(any(feature = "std", test)), no_std)]

#[cfg(feature = "alloc")]
extern crate alloc;

pub mod addr;
#[cfg(target_has_atomic = "64")]
pub mod bounce;
pub mod check;
#[cfg(any(doc, doctest))]
pub mod guides;
pub mod iova;
#[cfg(all(target_has_atomic = "64", target_pointer_width = "64", not(loom)))]
pub mod malloc;
#[cfg(loom)]
#[path = "malloc/under_loom.rs"]
pub mod malloc;
#[cfg(target_has_atomic = "64")]
pub mod maple;
#[cfg(target_has_atomic = "64")]
pub mod phys;
pub mod rbtree;
pub mod rcu;
pub mod sync;
#[cfg(feature = "alloc")]
pub mod vmspace;
