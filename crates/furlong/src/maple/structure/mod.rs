//! Changes of a tree's structure: nodes that are written anew, and nodes that are taken out.
//!
//! - `rebuild`: copies, splits, mergers, and stores that span leaves; `split`: full leaves that
//!   stay.
//! - `build`: new nodes, filled from left to right.
//! - `unlink_subtree`: removal of replaced nodes and of all nodes below them.
//! - `bulk`, `duplicate`: whole trees from sorted entries and from another tree.

mod build;
pub(super) mod bulk;
pub(super) mod duplicate;
pub(super) mod rebuild;
mod split;
mod unlink_subtree;
