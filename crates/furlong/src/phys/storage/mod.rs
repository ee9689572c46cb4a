//! Memory of a table, and the arrays and descriptors in it. The memory is built in, donated, taken
//! from the heap, or part of a plugged range.
//!
//! - `memory`: the sources of memory; `pool`: pieces of regions; `by_address`: the tree that finds
//!   a piece's pool; `avl`: the balance of trees; `deferred`: unlinked memory that waits for a
//!   grace period.
//! - `inline_vec`, `raw_array`, `bits`: a short list, an array that grows by copying, a bitmap.
//! - `slab`: arrays of descriptors that segments share; `pages`: addresses in them; `construct`:
//!   descriptors while they are made or dropped.
pub(super) mod avl;
pub(super) mod bits;
pub(super) mod by_address;
pub(super) mod construct;
pub(super) mod deferred;
pub(super) mod inline_vec;
pub(super) mod memory;
pub(super) mod pages;
pub(super) mod pool;
pub(super) mod raw_array;
pub(super) mod slab;
