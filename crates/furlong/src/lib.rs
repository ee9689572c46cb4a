//! Memory ranges for kernels, hypervisors, drivers and runtimes: `no_std`, measured.
//!
//! Layer 0, which every system may use: [`addr`], [`check`], [`sync`], [`rcu`]. Above it
//! [`rbtree`], augmented trees, and [`maple`], ranges in a B-tree with readers that never wait;
//! then the systems. Who has one of these already begins with its guide:
//!
//! | system | what it is | what stands for what |
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
//! Features: `alloc` (default) adds structures that own their memory; `std` adds what needs an
//! operating system, and `linux` the part of it that needs no more than the C library; `lock_api`
//! takes its locks; `allocator-api2` gives the allocator to collections of that crate; `serde`
//! serialises saved states. Without any the library works over memory that the caller hands in.
#![cfg_attr(not(any(feature = "std", test)), no_std)]
// Labels with the feature that an item needs, where documents are made for readers elsewhere.
#![cfg_attr(docsrs, feature(doc_cfg))]

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
#[cfg(any(all(test, not(loom)), prove))]
pub mod proofs;
pub mod rbtree;
pub mod rcu;
pub mod sync;
#[cfg(feature = "alloc")]
pub mod vmspace;
