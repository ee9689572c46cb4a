//! The operations on a space, one a file.
//!
//! - `request`: requests for mappings; `place`: the choice of a place.
//! - `map`, `unmap`, `remap`: mappings made, removed and moved.
//! - `change`: protection and advice. `brk`: the heap. `fault`: the growth of stacks. `fork`:
//!   copies.
//! - `mode`: the seam of operations that fail in the middle.

pub(super) mod brk;
pub(super) mod change;
mod fault;
pub(super) mod fork;
pub(super) mod map;
pub(super) mod mode;
mod place;
pub(super) mod remap;
pub(super) mod request;
pub(super) mod unmap;
