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
pub(super) use figures::{countable, figures};
pub(super) use library::Library;
pub(super) use program::{Done, Program, Work};

use furlong_lab::model::{Failure, Workload};

/// Returns a required parameter of a workload.
pub(super) fn parameter(workload: &Workload, name: &str) -> Result<u64, Failure> {
    let found = workload.params.get(name).copied();
    found.ok_or_else(|| Failure(format!("`{}` has no `{name}`", workload.name)))
}

/// Returns the files of the installed libraries, each with the name of its arm.
pub(super) fn found<const N: usize>(
    libraries: [(&'static str, Library); N],
) -> Vec<(&'static str, PathBuf)> {
    let found = libraries.into_iter().filter_map(|(arm, library)| {
        library.missing().is_none().then_some(())?;
        Some((arm, library.find().ok()?))
    });
    found.collect()
}

/// Returns the file of a library.
pub(super) fn file(library: &Library) -> Result<PathBuf, Failure> {
    library.find().map_err(Failure)
}
