//! The files of a fleet's directory.
//!
//! # Files
//!
//! - `order.rs`, `part.rs`: the files; `dir.rs`: their paths.

pub(super) mod dir;
pub mod order;
pub mod part;
