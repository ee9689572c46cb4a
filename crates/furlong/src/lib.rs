//! Memory ranges for kernels, hypervisors, drivers and runtimes: `no_std`, measured.
#![doc = ""]
// One of its examples needs `std`.
#![cfg_attr(all(doc, any(not(doctest), feature = "std")), doc = include_str!("../README.md"))]
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
mod forms;
#[cfg(any(doc, doctest))]
pub mod guides;
pub mod iova;
#[cfg(all(target_has_atomic = "64", target_pointer_width = "64", not(loom)))]
pub mod malloc;
#[cfg(not(any(loom, all(target_has_atomic = "64", target_pointer_width = "64"))))]
#[path = "malloc/portable.rs"]
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
#[cfg(all(feature = "alloc", target_has_atomic = "64"))]
pub mod vmspace;
