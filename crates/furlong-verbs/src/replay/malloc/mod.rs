//! Traces of `malloc`: programs' requests to their allocator. Its answers are addresses, which
//! differ between allocators. The replay therefore checks that each block keeps its data, has the
//! requested alignment, and is zeroed if requested.

#[cfg(test)]
mod tests;
mod trace;

use std::fs;
use std::path::Path;

use self::trace::unpacked;
pub(crate) use self::trace::{HEADING, Life, PROBE, Script, parse};
use super::form::{Form, chosen};
use super::input::Input;
use super::outcome::{Count, Judge, Outcome, SCHEMA, SubjectOutcome};
use furlong_experiments::malloc_suite::{Named, SUBJECTS};
use furlong_lab::error::{Error, cause};

/// Traces `*.malloctrace`, compressed or not.
pub(super) const RECORDING: Form = Form {
    described: "a recording of allocations (malloctrace 1, packed with zstd or not)",
    is_one: |input| input.begins_with(HEADING),
    replay,
};

fn replay(input: &Input, subjects: &[String]) -> Result<Outcome, Error> {
    let subjects = chosen(subjects, &SUBJECTS, |subject| subject.name, |_| true)?;
    let (text, cut) = unpacked(&input.bytes, input.is_packed());
    let (script, fault) = parse(&text);
    let cut = cut.map(|error| format!("is incomplete: {}", cause(&error)));
    let fault = fault.or(cut).map(|why| format!("{}: {why}", input.name));
    if script.steps.is_empty() {
        let why = fault.unwrap_or_else(|| format!("{}: holds no call", input.name));
        return Err(Error::usage(why));
    }
    let lost = |error: std::io::Error| {
        Error::failed(format!("cannot create a temporary file: {}", cause(&error)))
    };
    let home = tempfile::tempdir().map_err(lost)?;
    let steps = home.path().join("steps");
    fs::write(&steps, &script.steps).map_err(lost)?;
    let subjects = subjects
        .iter()
        .map(|subject| carry_out(subject, &script, &steps));
    Ok(Outcome {
        schema: SCHEMA,
        trace: input.name.clone(),
        form: format!("recording of allocations, {}", &HEADING[2..]),
        described: described(&script),
        judge: Judge::Specification,
        fault,
        subjects: subjects.collect(),
    })
}

/// Describes a script in a sentence.
fn described(script: &Script) -> String {
    let totals = &script.totals;
    let plural = |count: u64| if count == 1 { "" } else { "s" };
    format!(
        "{} program{}, {} thread{}: {} allocations, {} resizes, {} frees, at most {} bytes live",
        totals.programs.max(1),
        plural(totals.programs.max(1)),
        script.threads,
        plural(u64::from(script.threads)),
        totals.allocations,
        totals.resizes,
        totals.frees,
        totals.live_bytes_max
    )
}

/// Runs a script on an allocator, in a process of its own.
fn carry_out(subject: &Named, script: &Script, steps: &Path) -> SubjectOutcome {
    let mut outcome = SubjectOutcome {
        name: subject.name.to_owned(),
        na: subject.missing(),
        ..SubjectOutcome::default()
    };
    if outcome.na.is_some() {
        return outcome;
    }
    let totals = &script.totals;
    outcome.answers = totals.allocations + totals.resizes + totals.frees;
    match subject.replay(steps, script.threads, script.slots) {
        Err(failure) => {
            outcome.wrong = 1;
            outcome.first_wrong = Some(failure.0);
        }
        Ok(done) => {
            let usage = &done.usage;
            let calls = outcome.answers as f64;
            let counts = [
                ("time_ns_per_call", done.elapsed_s * 1e9 / calls),
                ("cpu_ms", (usage.user_s + usage.sys_s) * 1e3),
                ("peak_rss_kib", usage.maxrss_kib as f64),
            ];
            outcome.counts = counts.map(|(name, value)| Count { name, value }).into();
        }
    }
    outcome
}
