//! Storage of nodes, behind one trait over which the algorithm is written.
//!
//! - `nodes`: the link trait. `arena`: nodes in an array; `intrusive`: nodes in the caller's
//!   structs.
//! - `store`: arrays that may grow; `chunks`: an array that grows without moving a node.
pub(super) mod arena;
#[cfg(feature = "alloc")]
pub(super) mod chunks;
pub(super) mod intrusive;
pub(super) mod nodes;
pub(super) mod store;
