//! The space: the set of reserved extents of a device's addresses, in a tree.
//!
//! - `allocator`: the type and its operations; `check`: the invariants.
//! - `bounds`: its ends, which may move outwards.
//! - `range`: free and reserved parts of a range, filled and released; `fixed`: firmware regions.
//! - `state`, `claim`: a space as data, saved and restored; its extents claimed again.
//! - `spare`: the free list of nodes; `growth`: memory for more nodes, obtained elsewhere.
//! - `recover`: repair after a panic of user code.

pub(super) mod allocator;
mod bounds;
pub(super) mod check;
pub(super) mod claim;
mod fixed;
#[cfg(feature = "alloc")]
mod growth;
pub(super) mod range;
mod recover;
pub(super) mod spare;
#[cfg(feature = "alloc")]
pub(super) mod state;
