//! Maps of ranges: what keeps the areas of an address space where there is no tree for them.
//!
//! # Files
//!
//! - `btree_map`: what others write by hand, in our own writing; `brie`, `range_map`, `nodit_map`,
//!   `interval_map`: crates, a file each.
//! - `arms`: what they are in `vmspace-index`.
#![forbid(unsafe_code)]

mod arms;
mod brie;
mod btree_map;
mod interval_map;
mod nodit_map;
mod range_map;

pub use arms::{EXPERIMENT, arms};
pub use brie::ByLast;
pub use btree_map::ByStart;
pub use interval_map::Overlaps;
pub use nodit_map::Intervals;
pub use range_map::Ranges;
