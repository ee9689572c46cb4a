//! Maps of ranges: what keeps the areas of an address space where there is no tree for them.
//!
//! # Files
//!
//! - `btree_map`: what others write by hand, in our own writing; `range_map`: a crate.
//! - `arms`: what they are in `vmspace-index`.
#![forbid(unsafe_code)]

mod arms;
mod btree_map;
mod range_map;

pub use arms::{EXPERIMENT, arms};
pub use btree_map::ByStart;
pub use range_map::Ranges;
