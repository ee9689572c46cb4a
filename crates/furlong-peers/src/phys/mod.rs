//! Indexes of segments, with which others look a frame up.
//!
//! # Files
//!
//! - `btree_map`: our own version of code that others write by hand; `brie`, `guest_memory`,
//!   `nodit_map`, `range_map`: crates, a file each.
//! - `arms`: their arms in `phys-lookup`.

mod arms;
mod brie;
mod btree_map;
mod guest_memory;
mod nodit_map;
mod range_map;

pub use arms::{EXPERIMENT, arms};
pub use brie::Brie;
pub use btree_map::ByStart;
pub use guest_memory::Regions;
pub use nodit_map::Intervals;
pub use range_map::Ranges;
