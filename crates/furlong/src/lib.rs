//! Memory ranges for kernels, hypervisors, drivers and runtimes: `no_std`, measured.
//!
//! Layer 0, which every system may use: [`addr`], [`check`], [`error`], [`sync`], [`rcu`]. Above it
//! are two ordered structures: [`rbtree`], augmented trees, and [`maple`], ranges in a B-tree whose
//! readers never wait. Above those are the systems. Already using an equivalent of one? Begin with
//! its guide:
//!
//! | system | what it is | replacement table |
//! |---|---|---|
//! | [`iova`] | allocator of device addresses | [guide](guides::iova) |
//! | [`phys`] | table of physical segments | [guide](guides::phys) |
//! | [`vmspace`] | address space | [guide](guides::vmspace) |
//! | [`bounce`] | pool of bounce buffers | [guide](guides::bounce) |
//! | [`malloc`] | general-purpose allocator | [guide](guides::malloc) |
//!
//! [`maple`], [`phys`], [`bounce`] and [`malloc`] need atomics of 64 bits, [`malloc`] pointers of
//! as many, and [`vmspace`] needs `alloc`.
//!
//! Features: `alloc` (default) adds structures that own their memory. `std` adds all parts that
//! need an operating system, and `linux` those that need only the C library. `lock_api` adapts that
//! crate's locks. `allocator-api2` offers the allocator to that crate's collections. `serde`
//! serialises saved states. Without any feature the library works over memory that the caller
//! passes in.
#![cfg_attr(not(any(feature = "std", test)), no_std)]
// On docs.rs, labels each item with the feature that it needs.
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "alloc")]
extern crate alloc;

pub mod addr;
#[cfg(target_has_atomic = "64")]
pub mod bounce;
pub mod check;
pub mod error;
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
#[cfg(any(all(test, not(loom)), prove))]
pub mod proofs;
pub mod rbtree;
pub mod rcu;
pub mod sync;
#[cfg(feature = "alloc")]
pub mod vmspace;
