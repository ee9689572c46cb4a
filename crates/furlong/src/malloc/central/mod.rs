//! The memory that all heaps share, and the records of it.
//!
//! [`Central`](state::Central) owns it all: the map of records, the pool under its latch, the
//! limits in force, and the system below.
//!
//! - `state`: [`Central`](state::Central), its latches, and support for `fork`.
//! - `pool`: the arenas, the list of heaps, and all counts.
//! - `arena`: an arena, and where to look in it; `units`: taking and giving units, and arenas that
//!   come and go; `fit`: the first arena with room.
//! - `map`: the lookup of a record by address; `span`: the record of a unit.
//! - `purge`: memory that returns to the system.
//! - `large`: objects above the size classes; `mapping_cache`: the mappings of freed ones.
//! - `empty`: blocks of no bytes; `guarded`: blocks with guard pages.
//! - `seal`: the words behind blocks that reveal overruns; `fence`: the inaccessible ends of spans
//!   and objects.
//! - `check`: walks over everything, for the invariants and for the memory in use.
#![deny(unsafe_code)]

pub(crate) mod arena;
pub(crate) mod check;
pub(crate) mod empty;
pub(crate) mod fence;
mod fit;
pub(crate) mod guarded;
pub(crate) mod large;
pub(crate) mod map;
mod mapping_cache;
pub(crate) mod pool;
mod purge;
pub(crate) mod seal;
pub(crate) mod span;
pub(crate) mod state;
pub(crate) mod units;
