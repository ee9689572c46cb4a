//! The experiments on the five systems of `furlong`, built on the lab's public interface.
//!
//! # Files
//! - a file or folder for each experiment, by its name
//! - `workload/`: parts that several experiments share
//! - `malloc-work/` beside this folder: the program that measures allocators

use std::fmt::Display;

use furlong_lab::model::{Experiment, Failure};

pub mod bounce;
pub mod bounce_area;
pub mod bounce_order;
mod computing;
pub mod iova_gap;
pub mod iova_magazine;
pub mod iova_propagation;
pub mod lab_honesty;
mod malloc;
pub mod malloc_gate;
pub mod malloc_suite;
pub mod malloc_tier;
pub mod phys_lookup;
pub mod tree_order;
pub mod vmspace_index;
mod workload;

use workload::{batches, cpu_binding, threads};
pub use workload::{gas, ordered, traffic};

/// Converts any refusal into a [`Failure`].
pub(crate) fn said(refusal: impl Display) -> Failure {
    Failure(refusal.to_string())
}

/// Every experiment that this binary can run.
#[must_use]
pub fn all() -> Vec<Experiment> {
    vec![
        iova_propagation::experiment(),
        iova_gap::experiment(),
        iova_magazine::experiment(),
        phys_lookup::experiment(),
        bounce_order::experiment(),
        bounce_area::experiment(),
        tree_order::experiment(),
        vmspace_index::experiment(),
        malloc_gate::experiment(),
        malloc_tier::experiment(),
        malloc_suite::experiment(),
        lab_honesty::experiment(),
    ]
}
