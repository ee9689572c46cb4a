//! The experiments on physical memory, address spaces, allocators and the lab itself, built on the
//! lab's public interface; and the list of all experiments, with those on device addresses and
//! bounce buffers from `furlong-experiments-devices`.
//!
//! # Files
//! - a file or folder for each experiment, by its name
//! - `malloc/`: parts that the three experiments on allocators share; `computing.rs`, `process.rs`:
//!   other shared parts
//! - `malloc-work/` beside this folder: the program that measures allocators
#![forbid(unsafe_code)]

use furlong_lab::model::Experiment;

pub use malloc::shipped_library;

mod computing;
pub mod lab_honesty;
mod malloc;
pub mod malloc_gate;
pub mod malloc_suite;
pub mod malloc_tier;
pub mod phys_lookup;
mod process;
pub mod vmspace_index;

/// Every experiment, in the order in which they are listed.
#[must_use]
pub fn all() -> Vec<Experiment> {
    let mut all = furlong_experiments_devices::all();
    all.extend([
        phys_lookup::experiment(),
        vmspace_index::experiment(),
        malloc_gate::experiment(),
        malloc_tier::experiment(),
        malloc_suite::experiment(),
        lab_honesty::experiment(),
    ]);
    all
}
