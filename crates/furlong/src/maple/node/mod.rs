//! Nodes: leaves with extents and entries, inner nodes with children, and the links between them.
//!
//! - `leaf`, `inner`: the two kinds of nodes; `geometry`: their sizes.
//! - `link`: pointers to nodes; `tree`: the root, and the descent from it.
//! - `entry`, `heap`: values of one word, and those that own memory; `typed`: words and entries.
pub(super) mod entry;
pub(super) mod geometry;
#[cfg(feature = "alloc")]
pub(super) mod heap;
pub(super) mod inner;
pub(super) mod leaf;
pub(super) mod link;
pub(super) mod tree;
pub(super) mod typed;
