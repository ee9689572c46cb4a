//! Allocators that no distribution of the day has, built from the sources that their crates bring,
//! as further arms of the experiment that preloads allocators.
#![forbid(unsafe_code)]

use furlong_lab::experiments::{Arm, malloc_suite};

/// The experiment that they are in.
pub const EXPERIMENT: &str = "malloc-suite";

/// The newest mimalloc 2, built as its own build does it.
const MIMALLOC: &str = env!("FURLONG_MIMALLOC");

/// The arms.
#[must_use]
pub fn arms() -> Vec<Arm> {
    vec![Arm {
        na: |workload| malloc_suite::missing_file(MIMALLOC, workload),
        ..Arm::new("mimalloc-2.3", |request| {
            malloc_suite::preloaded(MIMALLOC, request)
        })
    }]
}
