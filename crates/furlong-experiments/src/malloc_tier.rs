//! `malloc-tier`: the benefit of a heap that caches its policy's answers for a batch.
#![forbid(unsafe_code)]

use super::malloc::{Library, countable, figures, found};
use furlong_lab::model::{Arm, Experiment, Failure, Outcome, Plan, Request};

const PLAN: &str = include_str!("../experiments/malloc-tier/plan.toml");

/// The library as shipped.
const BATCHED: Library = Library::Shipped("furlong_malloc");

/// The same library without the tier.
const PER_CALL: Library = Library::Shipped("furlong_malloc_per_call");

/// Builds the experiment.
#[must_use]
pub fn experiment() -> Experiment {
    let arms = vec![
        Arm {
            na: |_| PER_CALL.missing(),
            ..Arm::new("per-call", per_call)
        },
        Arm {
            na: |_| BATCHED.missing(),
            ..Arm::new("batched", batched)
        },
    ];
    Experiment {
        plan: countable(Plan::compiled_in(PLAN)),
        arms,
        files: || found([("per-call", PER_CALL), ("batched", BATCHED)]),
    }
}

fn per_call(request: &Request) -> Result<Outcome, Failure> {
    figures(&PER_CALL, request)
}

fn batched(request: &Request) -> Result<Outcome, Failure> {
    figures(&BATCHED, request)
}
