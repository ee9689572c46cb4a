//! furlong's systems behind the traits and types of other projects' crates.
//!
//! Only this crate depends on such crates before version 1.0. So their releases change only a
//! façade here.
//!
//! | module | interface |
//! |---|---|
//! | [`free_list`] | `free_list::FreeList`, Hermit's pages and frames |
//! | [`range_alloc`] | Asterinas' `RangeAllocator` of kernel addresses |
//! | [`range_map`] | `rangemap`'s maps and sets, over the maple tree |
//! | [`virtio`] | `virtio_drivers::Hal` over a pool of bounce buffers |
//! | [`vm_allocator`] | rust-vmm's `AddressAllocator` over a space of device addresses |
//!
//! Each module has a feature of its name, and `serde` is for [`range_map`]; by default all are on.
//!
//! # Left out
//! `dma-api` 0.10 (`DmaOp`, `DeviceDma`) was tried. A pool of bounce buffers can implement its
//! calls, but its users would lose the benefits of the pool:
//! - Its arrays and boxes make references (`&mut [u8]`) to memory that a device or a host changes
//!   meanwhile. This crate reaches such memory only by raw copies, and decides on the copy.
//! - A new mapping must be filled at once. Otherwise a device that writes less than requested gives
//!   back the data of an earlier owner. That interface also fills a mapping when it is *prepared*,
//!   so every transfer to a device is copied twice.
//! - The caller chooses the range to copy back outside of the pool, through a pointer to its
//!   memory. So the pool cannot enforce the bounds of a mapping.
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
