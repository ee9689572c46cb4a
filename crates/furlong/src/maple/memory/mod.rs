//! Memory for nodes: its source, the nodes that are ready for a change, and those given up.
//!
//! - `source`: the user's allocator; `block`: one node or many in a piece of memory.
//! - `pool`: nodes outside of any tree; `reservation`: nodes obtained before the lock is taken.
pub(super) mod block;
pub(super) mod pool;
pub(super) mod reservation;
pub(super) mod source;
