//! Read access: views of a tree, and the searches in it. None of them writes to a node.
//!
//! - `view`: a tree as its readers see it; `cursor`: a place that stays valid across changes.
//! - `iter`: entries in order; `beside`: the entries around an index; `gaps`: free places.

mod beside;
pub(super) mod cursor;
pub(super) mod gaps;
pub(super) mod iter;
pub(super) mod view;
