//! furlong's systems behind the traits of other projects' crates.
//!
//! Crates before 1.0 that belong to others' worlds are dependencies of this crate and of no other,
//! so that a release of theirs changes nothing but a façade here.
//!
//! | module | what it is for |
//! |---|---|
//! | [`free_list`] | `free_list::FreeList`, Hermit's pages and frames |
//! | [`range_alloc`] | Asterinas' `RangeAllocator` of kernel addresses |
//! | [`range_map`] | `rangemap::RangeMap`'s usual calls over the maple tree |
//! | [`virtio`] | `virtio_drivers::Hal` over a pool of bounce buffers |
//! | [`vm_allocator`] | rust-vmm's `AddressAllocator` over a space of device addresses |
//!
//! Each is a feature of its name; by default all are on.
//!
//! # What was tried and left out
//! `dma-api` 0.10 (`DmaOp`, `DeviceDma`). A pool of bounce buffers can stand behind its calls, and
//! its users would lose what the pool is for:
//! - its arrays and boxes make references (`&mut [u8]`) of memory that a device or a host changes
//!   meanwhile; here such memory is reached by raw copies alone, and decisions are made on the
//!   copy;
//! - a mapping is to be filled when it is made, or a device that writes less than it was asked for
//!   gives back what an earlier owner has left; there a mapping is filled when it is *prepared* as
//!   well, so that every transfer to a device is copied twice;
//! - what is copied back is chosen outside of the pool, through a pointer to its memory, so that
//!   the pool can hold nobody to the bounds of his mapping.
#![cfg_attr(not(test), no_std)]

#[cfg(any(
    feature = "free-list",
    feature = "range-alloc",
    feature = "range-map",
    feature = "vm-allocator"
))]
extern crate alloc;

#[cfg(feature = "free-list")]
pub mod free_list;
#[cfg(feature = "range-alloc")]
pub mod range_alloc;
#[cfg(feature = "range-map")]
pub mod range_map;
#[cfg(feature = "virtio")]
pub mod virtio;
#[cfg(feature = "vm-allocator")]
pub mod vm_allocator;
