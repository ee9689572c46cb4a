//! `malloc-gate`: the benefit of inlining the entries of malloc and free.
#![forbid(unsafe_code)]

use super::malloc::{Library, Pair, pair};
use furlong_lab::model::Experiment;

/// The library without the gate, and as shipped.
struct Gate;

impl Pair for Gate {
    const PLAN: &str = include_str!("../experiments/malloc-gate/plan.toml");
    const ARMS: [(&str, Library); 2] = [
        ("outlined", Library::Shipped("furlong_malloc_outlined")),
        ("inlined", Library::Shipped("furlong_malloc")),
    ];
}

/// Builds the experiment.
#[must_use]
pub fn experiment() -> Experiment {
    pair::<Gate>()
}
