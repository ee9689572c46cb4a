//! The experiments on device addresses and bounce buffers, built on the lab's public interface.
//!
//! They are a crate beside `furlong-experiments` so that two processors compile them at once.
//!
//! # Files
//! - a file or folder for each experiment, by its name; `bounce/` serves both on bounce buffers
//! - `workload/`: parts that several experiments share

use furlong_lab::model::Experiment;

pub mod bounce;
pub mod bounce_area;
pub mod bounce_order;
pub mod iova_gap;
pub mod iova_magazine;
pub mod iova_propagation;
pub mod tree_order;
mod workload;

use workload::{batches, cpu_binding, threads};
pub use workload::{gas, ordered, traffic};

/// The experiments, in the order in which they are listed.
#[must_use]
pub fn all() -> Vec<Experiment> {
    vec![
        iova_propagation::experiment(),
        iova_gap::experiment(),
        iova_magazine::experiment(),
        bounce_order::experiment(),
        bounce_area::experiment(),
        tree_order::experiment(),
    ]
}
