//! Ordered trees, which keep extents in order without subtree summaries.
//!
//! # Files
//!
//! - `intrusive`: links in the user's structs, as in kernels; `brie`, `interval_map`: crates, a
//!   file each.
//! - `arms`: their arms in `tree-order`.

mod arms;
mod brie;
mod interval_map;
mod intrusive;

pub use arms::{EXPERIMENT, arms};
pub use brie::Brie;
pub use interval_map::Overlaps;
pub use intrusive::ByNode;
