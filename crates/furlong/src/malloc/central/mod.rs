//! The memory that all heaps share: arenas, their units, and the records of all addresses.
//!
//! - `pool`: the arenas and heaps, and the counts. `arena`: an arena, and runs of its units.
//! - `map`: from an address to its record. `span`: the record of a unit.
//! - `grow`: arenas come and go. `purge`: memory goes back to the system.
//! - `large`: objects above the size classes. `mapping_cache`: mappings of freed ones.
//! - `fork`: latches, and a process that forks. `check`, `stats`: walks over everything.

pub(crate) mod arena;
pub(crate) mod check;
mod fork;
mod grow;
pub(crate) mod large;
pub(crate) mod map;
pub(crate) mod mapping_cache;
pub(crate) mod pool;
pub(crate) mod purge;
pub(crate) mod span;
pub(crate) mod stats;
