//! The classic benchmarks, run by our own program.

use std::collections::BTreeMap;
use std::path::Path;

use super::{GLIBC, Kind};
use crate::malloc::{Done, Library, Program, Work, file};
use furlong_lab::model::{Failure, Outcome, Request, Workload};

/// Runs a work of our program with a library preloaded.
pub(super) fn run(name: &str, library: &Library, request: &Request) -> Result<Outcome, Failure> {
    let library = file(library)?;
    let done = Program::new()?.run(&work(name, &library, request, &[]), &[])?;
    Ok(outcome(&done))
}

/// Runs the allocator that does nothing.
pub(super) fn nothing(request: &Request) -> Result<Outcome, Failure> {
    scaling("mixed-nothing", &GLIBC, request)
}

/// The reason if a workload makes no sense with the allocator that does nothing, otherwise `None`.
pub(super) fn nothing_missing(workload: &Workload) -> Option<String> {
    let is_scaling = workload.read() == Ok(Kind::Scaling);
    (!is_scaling).then(|| "every block that it hands out is the same".to_owned())
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
    done.outcome(metrics)
}

/// Runs one thread, then two threads with the same work each. The result is the ratio of their
/// operations per second. Both runs form one sample, so that a slow machine slows both.
pub(super) fn scaling(
    name: &str,
    library: &Library,
    request: &Request,
) -> Result<Outcome, Failure> {
    let (program, library) = (Program::new()?, file(library)?);
    let on = |threads| program.run(&work(name, &library, request, &[("threads", threads)]), &[]);
    let (one, two) = (on(1)?, on(2)?);
    let speed = |done: &Done| done.operations as f64 / done.elapsed_s;
    // An allocator that does nothing also returns the requested lengths, so the digests agree.
    let mut sum = outcome(&two);
    sum.metrics
        .insert("speedup".to_owned(), speed(&two) / speed(&one));
    sum.operations = one.operations;
    sum.elapsed_s = one.elapsed_s;
    Ok(sum)
}
