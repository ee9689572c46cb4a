//! Memory: the sources of bounce memory, access to it, and the storage of a pool's tables.
//!
//! - `source`: the trait; `heap`, `region`: its implementations for programs and for reserved
//!   memory.
//! - `copy`: the only code that accesses bounce memory; `zeroing`: the policy for overwriting it.
//! - `store`: tables on the heap, or in memory from the caller; `table`: a table that only grows.
pub(super) mod copy;
#[cfg(feature = "alloc")]
pub(super) mod heap;
pub(super) mod region;
pub(super) mod source;
pub(super) mod store;
pub(super) mod table;
pub(super) mod zeroing;
