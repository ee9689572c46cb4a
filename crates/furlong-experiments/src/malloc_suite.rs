//! `malloc-suite`: allocators on our versions of the classic benchmarks, and on real programs.
#![forbid(unsafe_code)]

mod classic;
mod inputs;
mod real;
mod redis;
#[cfg(test)]
mod tests;

use std::path::Path;

use super::malloc::{Done, Library, Program, Work, file, found};
use furlong_lab::model::{Arm, Experiment, Failure, Outcome, Request, Workload};
use real::Real;

const PLAN: &str = include_str!("../experiments/malloc-suite/plan.toml");

const MIMALLOC: Library = Library::Packaged("libmimalloc.so.2.0", "libmimalloc2.0");
const GLIBC: Library = Library::Packaged("libc.so.6", "libc6");
const JEMALLOC: Library = Library::Packaged("libjemalloc.so.2", "libjemalloc2");
const TCMALLOC: Library = Library::Packaged("libtcmalloc_minimal.so.4", "libtcmalloc-minimal4");
const FURLONG: Library = Library::Shipped("furlong_malloc");
const PLAIN: Library = Library::Shipped("furlong_malloc_plain");
const SECURE: Library = Library::Shipped("furlong_malloc_secure");

/// An allocator, by the name of its arm.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named {
    pub(crate) name: &'static str,
    pub(crate) preload: Library,
}

impl Named {
    const fn new(name: &'static str, preload: Library) -> Self {
        Self { name, preload }
    }

    /// Carries out the steps in a file; `malloc-work/replay.rs` documents them.
    pub(crate) fn replay(&self, steps: &Path, threads: u32, slots: u32) -> Result<Done, Failure> {
        let work = Work {
            arguments: vec![
                "replay".to_owned(),
                format!("threads={threads}"),
                format!("slots={slots}"),
            ],
            preload: &file(&self.preload)?,
            input: Some(steps),
            settings: vec![],
        };
        Program::new()?.run(&work, &[])
    }
}

/// All allocators of the suite.
pub(crate) const SUBJECTS: [Named; 7] = [
    Named::new("mimalloc", MIMALLOC),
    Named::new("glibc", GLIBC),
    Named::new("jemalloc", JEMALLOC),
    Named::new("tcmalloc", TCMALLOC),
    Named::new("furlong", FURLONG),
    Named::new("furlong-plain", PLAIN),
    Named::new("furlong-secure", SECURE),
];

/// Builds the experiment.
#[must_use]
pub fn experiment() -> Experiment {
    let arms = vec![
        Arm {
            na: |load| missing(&MIMALLOC, load),
            ..Arm::new("mimalloc", |request| run(&MIMALLOC, request))
        },
        Arm {
            na: |load| missing(&GLIBC, load),
            ..Arm::new("glibc", |request| run(&GLIBC, request))
        },
        Arm {
            na: |load| missing(&JEMALLOC, load),
            ..Arm::new("jemalloc", |request| run(&JEMALLOC, request))
        },
        Arm {
            na: |load| missing(&TCMALLOC, load),
            ..Arm::new("tcmalloc", |request| run(&TCMALLOC, request))
        },
        Arm {
            na: |load| missing(&FURLONG, load),
            ..Arm::new("furlong", |request| run(&FURLONG, request))
        },
        Arm {
            na: |load| missing(&PLAIN, load),
            ..Arm::new("furlong-plain", |request| run(&PLAIN, request))
        },
        Arm {
            na: |load| missing(&SECURE, load),
            ..Arm::new("furlong-secure", |request| run(&SECURE, request))
        },
        Arm {
            na: classic::nothing_missing,
            ..Arm::new("nothing", classic::nothing)
        },
    ];
    Experiment {
        files: || found(SUBJECTS.map(|subject| (subject.name, subject.preload))),
        ..Experiment::compiled_in(PLAN, arms)
    }
}

/// Runs a workload with the caller's library preloaded.
///
/// # Errors
/// As for any arm.
pub fn preloaded(library: &'static str, request: &Request) -> Result<Outcome, Failure> {
    run(&Library::File(library), request)
}

/// The reason if a workload cannot run with such a library, otherwise `None`.
#[must_use]
pub fn missing_file(library: &'static str, workload: &Workload) -> Option<String> {
    missing(&Library::File(library), workload)
}

/// The reason if an arm cannot run a workload, otherwise `None`.
fn missing(library: &Library, workload: &Workload) -> Option<String> {
    let program = Real::of(workload).and_then(Real::missing);
    program.or_else(|| library.missing())
}

fn run(library: &Library, request: &Request) -> Result<Outcome, Failure> {
    match Real::of(&request.workload) {
        Some(real) => real.run(library, request),
        None => classic::run(library, request),
    }
}
