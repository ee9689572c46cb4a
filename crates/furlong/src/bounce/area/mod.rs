//! Areas: the free slots that some CPUs share, and the search for a run of them.
//!
//! - `contract`: the trait of areas; `locked`, `lock_free`: its two implementations.
//! - `need`: the runs that a mapping permits; `run`: runs in a word of slots.
//! - `order`: the next area if the CPU's own one has no room.
#![forbid(unsafe_code)]

pub(super) mod contract;
mod lock_free;
mod locked;
pub(super) mod need;
pub(super) mod order;
pub(super) mod run;
