//! `malloc-gate`: the benefit of inlining the entries of malloc and free.
#![forbid(unsafe_code)]

use super::malloc::{Library, countable, figures, found};
use furlong_lab::model::{Arm, Experiment, Failure, Outcome, Plan, Request};

const PLAN: &str = include_str!("../experiments/malloc-gate/plan.toml");

/// The library as shipped.
const INLINED: Library = Library::Shipped("furlong_malloc");

/// The same library without the gate.
const OUTLINED: Library = Library::Shipped("furlong_malloc_outlined");

/// Builds the experiment.
#[must_use]
pub fn experiment() -> Experiment {
    let arms = vec![
        Arm {
            na: |_| OUTLINED.missing(),
            ..Arm::new("outlined", outlined)
        },
        Arm {
            na: |_| INLINED.missing(),
            ..Arm::new("inlined", inlined)
        },
    ];
    Experiment {
        plan: countable(Plan::compiled_in(PLAN)),
        arms,
        files: || found([("outlined", OUTLINED), ("inlined", INLINED)]),
    }
}

fn outlined(request: &Request) -> Result<Outcome, Failure> {
    figures(&OUTLINED, request)
}

fn inlined(request: &Request) -> Result<Outcome, Failure> {
    figures(&INLINED, request)
}
