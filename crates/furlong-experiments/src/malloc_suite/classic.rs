//! The classic benchmarks, run by our own program.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::path::Path;

use super::GLIBC;
use crate::malloc::{Done, Library, Program, Work, file};
use furlong_lab::model::{Failure, Outcome, Request, Workload};

/// Works, by the prefix of a workload's name.
const WORKS: [(&str, &str); 12] = [
    ("alloc-test", "alloc-test"),
    ("cache-", "cache"),
    ("cfrac", "cfrac"),
    ("espresso", "espresso"),
    ("larson", "larson"),
    ("mstress", "mstress"),
    ("phases", "phases"),
    ("producer-consumer", "batches"),
    ("random-", "mixed"),
    ("returns", "returns"),
    ("sh", "sh"),
    ("xmalloc", "batches"),
];

/// The workload that compares two threads with one.
const SCALING: &str = "scaling";

/// Runs a workload with a library preloaded.
pub(super) fn run(library: &Library, request: &Request) -> Result<Outcome, Failure> {
    let library = file(library)?;
    let program = Program::new()?;
    let load = &request.workload;
    if load.name == SCALING {
        return scaling("mixed", &program, &library, request);
    }
    let known = WORKS.iter().find(|(name, _)| load.name.starts_with(name));
    let (_, name) =
        known.ok_or_else(|| Failure(format!("there is no workload `{}`", load.name)))?;
    let done = program.run(&work(name, &library, request, &[]), &[])?;
    Ok(outcome(&done))
}

/// Runs the allocator that does nothing.
pub(super) fn nothing(request: &Request) -> Result<Outcome, Failure> {
    let library = file(&GLIBC)?;
    scaling("mixed-nothing", &Program::new()?, &library, request)
}

/// The reason if a workload makes no sense with the allocator that does nothing, otherwise `None`.
pub(super) fn nothing_missing(workload: &Workload) -> Option<String> {
    (workload.name != SCALING).then(|| "every block that it hands out is the same".to_owned())
}

/// Builds the program's work, with the workload's parameters.
fn work<'a>(name: &str, library: &'a Path, request: &Request, more: &[(&str, u64)]) -> Work<'a> {
    let mut arguments = vec![name.to_owned()];
    let given = request.workload.params.iter();
    let given = given.map(|(name, value)| (name.as_str(), *value));
    let mut parameters: BTreeMap<&str, u64> = given.collect();
    parameters.entry("operations").or_insert(request.operations);
    parameters.extend(more.iter().copied());
    let spelled = parameters
        .iter()
        .map(|(name, value)| format!("{name}={value}"));
    arguments.extend(spelled);
    Work {
        arguments,
        preload: library,
        input: None,
        settings: vec![],
    }
}

fn outcome(done: &Done) -> Outcome {
    let usage = &done.usage;
    let mut metrics = done.more.clone();
    metrics.extend(super::real::figures(
        usage.user_s + usage.sys_s,
        usage.wall_s,
        usage.maxrss_kib,
    ));
    Outcome {
        metrics,
        operations: done.operations,
        elapsed_s: done.elapsed_s,
        digest: done.digest,
    }
}

/// Runs one thread, then two threads with the same work each. The result is the ratio of their
/// operations per second. Both runs form one sample, so that a slow machine slows both.
fn scaling(
    name: &str,
    program: &Program,
    library: &Path,
    request: &Request,
) -> Result<Outcome, Failure> {
    let one = program.run(&work(name, library, request, &[("threads", 1)]), &[])?;
    let two = program.run(&work(name, library, request, &[("threads", 2)]), &[])?;
    let speed = |done: &Done| done.operations as f64 / done.elapsed_s;
    // An allocator that does nothing also returns the requested lengths, so the digests agree.
    let mut sum = outcome(&two);
    sum.metrics
        .insert("speedup".to_owned(), speed(&two) / speed(&one));
    sum.operations = one.operations;
    sum.elapsed_s = one.elapsed_s;
    Ok(sum)
}
