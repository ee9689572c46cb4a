//! `malloc-suite`: allocators on our versions of the classic benchmarks, and on real programs.
#![forbid(unsafe_code)]

mod candidate;
mod classic;
mod inputs;
mod public;
mod real;
mod redis;
#[cfg(test)]
mod tests;

use std::path::Path;

pub use super::malloc::Done;
use super::malloc::{Library, Program, Work, file, found};
pub use candidate::{Candidate, Pace, candidates};
use furlong_lab::model::{Arm, Experiment, Failure, Outcome, Request, Workload};
use public::Public;
use real::Real;
use serde::Deserialize;

const PLAN: &str = include_str!("../experiments/malloc-suite/plan.toml");

const GLIBC: Library = Library::Packaged("libc.so.6", "libc6");

/// Kinds of workloads, as the plan names them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    /// A work of our own program, by its name.
    Classic(String),
    /// Its work `mixed`, on two threads compared with one.
    Scaling,
    Real(Real),
    /// A program that others wrote to compare allocators.
    Public(Public),
}

/// An allocator that can be preloaded.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    /// The name of its arm.
    pub name: &'static str,
    preload: Library,
}

impl Named {
    const fn new(name: &'static str, preload: Library) -> Self {
        Self { name, preload }
    }

    /// The reason if it cannot be preloaded here, otherwise `None`. Builds this project's libraries
    /// where possible.
    #[must_use]
    pub fn missing(&self) -> Option<String> {
        self.preload.missing()
    }

    /// Carries out the steps in a file; `malloc-work/replay.rs` documents them.
    ///
    /// # Errors
    ///
    /// The allocator is not installed, or the program that carries the steps out fails.
    pub fn replay(&self, steps: &Path, threads: u32, slots: u32) -> Result<Done, Failure> {
        replayed(&file(&self.preload)?, vec![], steps, [threads, slots, 0, 0])
    }
}

/// Carries out steps with a library and settings; the numbers are of threads, of slots, 1 if memory
/// is sampled, and 1 if samples wait for their time.
fn replayed(
    library: &Path,
    settings: Vec<(&'static str, &'static str)>,
    steps: &Path,
    [threads, slots, samples, paced]: [u32; 4],
) -> Result<Done, Failure> {
    let work = Work {
        arguments: vec![
            "replay".to_owned(),
            format!("threads={threads}"),
            format!("slots={slots}"),
            format!("samples={samples}"),
            format!("paced={paced}"),
        ],
        preload: library,
        input: Some(steps),
        settings,
    };
    Program::new()?.run(&work, &[])
}

/// All allocators of the suite.
pub const SUBJECTS: [Named; 8] = [
    Named::new(
        "mimalloc",
        Library::Packaged("libmimalloc.so.2.0", "libmimalloc2.0"),
    ),
    Named::new("glibc", GLIBC),
    Named::new(
        "jemalloc",
        Library::Packaged("libjemalloc.so.2", "libjemalloc2"),
    ),
    Named::new(
        "tcmalloc",
        Library::Packaged("libtcmalloc_minimal.so.4", "libtcmalloc-minimal4"),
    ),
    Named::new("furlong", Library::Shipped("furlong_malloc")),
    Named::new("furlong-plain", Library::Shipped("furlong_malloc_plain")),
    Named::new(
        "furlong-checked",
        Library::Shipped("furlong_malloc_checked"),
    ),
    Named::new("furlong-secure", Library::Shipped("furlong_malloc_secure")),
];

/// Builds the experiment.
#[must_use]
pub fn experiment() -> Experiment {
    let arms = vec![
        arm::<0>(),
        arm::<1>(),
        arm::<2>(),
        arm::<3>(),
        arm::<4>(),
        arm::<5>(),
        arm::<6>(),
        arm::<7>(),
        Arm {
            na: classic::nothing_missing,
            ..Arm::new("nothing", classic::nothing)
        },
    ];
    let experiment = Experiment::compiled_in(PLAN, arms);
    Experiment {
        files: || found(SUBJECTS.map(|subject| (subject.name, subject.preload))),
        plan: public::there(experiment.plan),
        ..experiment
    }
}

/// The arm of an allocator, by its place.
fn arm<const AT: usize>() -> Arm {
    Arm {
        na: |load| missing(&SUBJECTS[AT].preload, load),
        ..Arm::new(SUBJECTS[AT].name, |request| {
            run(&SUBJECTS[AT].preload, request)
        })
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
    let program = match workload.read() {
        Ok(Kind::Real(real)) => real.missing(),
        Ok(Kind::Public(public)) => public.missing(),
        _ => None,
    };
    program.or_else(|| library.missing())
}

fn run(library: &Library, request: &Request) -> Result<Outcome, Failure> {
    match request.workload.read()? {
        Kind::Classic(work) => classic::run(&work, library, request),
        Kind::Scaling => classic::scaling("mixed", library, request),
        Kind::Real(real) => real.run(library, request),
        Kind::Public(public) => public.run(library, request),
    }
}
