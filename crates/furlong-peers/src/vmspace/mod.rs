//! Maps of ranges, which keep the areas of an address space if there is no special tree.
//!
//! # Files
//!
//! - `btree_map`: our own version of code that others write by hand; `brie`, `range_map`,
//!   `nodit_map`, `interval_map`: crates, a file each.
//! - `arms`: their arms in `vmspace-index`.

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
