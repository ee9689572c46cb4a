//! Ordered trees: what keeps extents in order where nobody keeps a summary of a subtree.
//!
//! # Files
//!
//! - `intrusive`: links in structs of the user's, as kernels have them; `brie`, `interval_map`:
//!   crates, a file each.
//! - `arms`: what they are in `tree-order`.
#![deny(unsafe_code)]

mod arms;
mod brie;
mod interval_map;
mod intrusive;

pub use arms::{EXPERIMENT, arms};
pub use brie::Brie;
pub use interval_map::Overlaps;
pub use intrusive::ByNode;
