//! `malloc-tier`: the benefit of a heap that caches its policy's answers for a batch.
#![forbid(unsafe_code)]

use super::malloc::{Library, Pair, pair};
use furlong_lab::model::Experiment;

/// The library without the tier, and as shipped.
struct Tier;

impl Pair for Tier {
    const PLAN: &str = include_str!("../experiments/malloc-tier/plan.toml");
    const ARMS: [(&str, Library); 2] = [
        ("per-call", Library::Shipped("furlong_malloc_per_call")),
        ("batched", Library::Shipped("furlong_malloc")),
    ];
}

/// Builds the experiment.
#[must_use]
pub fn experiment() -> Experiment {
    pair::<Tier>()
}
