//! The index: the ordered set of a space's areas, with a search for gaps. The seam is a trait with
//! two arms, a red-black tree and a B-tree of ranges.
//!
//! - `contract`: the trait. `tree`: a balanced tree of areas; `gaps`: its gap search.
//! - `maple_index`: a B-tree of areas; `ranges`: its interface to the tree of ranges.
//! - `ranges_owned`, `slab`: with one owner, and its records in one array.
//! - `ranges_shared`: beside readers.

pub(super) mod contract;
pub(super) mod gaps;
pub(super) mod maple_index;
pub(super) mod ranges;
pub(super) mod ranges_owned;
pub(super) mod ranges_shared;
mod slab;
pub(super) mod tree;
