//! Insertion and removal: the links, the ranks, and the recomputation of halves.
//!
//! - `insert`, `remove`: rebalancing; `walk`: the walk after it; `work`: the steps that they share.
//! - `ranks`: rank differences; `propagation`: the seam of the recomputation, and its three arms.
//! - `recover`: repair after a panic of user code.

mod insert;
pub(super) mod propagation;
pub(super) mod ranks;
mod recover;
mod remove;
mod walk;
pub(super) mod work;
