//! The common part of the experiments with allocators. Each preloads the library that a user would
//! preload, into a small program of ours.
#![forbid(unsafe_code)]

mod environment;
mod figures;
mod library;
mod program;
mod shipped;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

pub(super) use environment::{environment, variables};
use figures::{countable, figures};
pub(super) use library::Library;
pub use library::shipped_library;
pub use program::Done;
pub(super) use program::{Program, Work};

use furlong_lab::model::{Arm, Experiment, Failure, Plan};

/// Returns the files of the libraries that are there, each with the name of its arm. None is built:
/// a run that goes on compares them with those with which it began.
pub(super) fn found<const N: usize>(
    libraries: [(&'static str, Library); N],
) -> Vec<(&'static str, PathBuf)> {
    let found = libraries
        .into_iter()
        .filter_map(|(arm, library)| Some((arm, library.find().ok()?)));
    found.collect()
}

/// Returns the file of a library.
pub(super) fn file(library: &Library) -> Result<PathBuf, Failure> {
    library.find().map_err(Failure)
}

/// An experiment that compares two libraries on the work `mixed`.
pub(super) trait Pair {
    /// Text of the plan.
    const PLAN: &'static str;
    /// The arms and their libraries, the baseline first.
    const ARMS: [(&'static str, Library); 2];
}

/// Builds such an experiment.
pub(super) fn pair<P: Pair>() -> Experiment {
    fn arm<P: Pair, const AT: usize>() -> Arm {
        Arm {
            na: |_| P::ARMS[AT].1.missing(),
            ..Arm::new(P::ARMS[AT].0, |request| figures(&P::ARMS[AT].1, request))
        }
    }
    Experiment {
        plan: countable(Plan::compiled_in(P::PLAN)),
        arms: vec![arm::<P, 0>(), arm::<P, 1>()],
        files: || found(P::ARMS),
    }
}
