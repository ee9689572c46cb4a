//! Traces of `vmspace`: programs' operations on their address spaces, and the kernel's answers.

mod clock;
mod driver;

use std::fmt::Write as _;

use furlong_spec::vmspace::trace::{HEADING, Script, Step, Trace, parse};

use self::driver::ARMS;
use super::form::{Form, chosen};
use super::input::Input;
use super::outcome::{Judge, Outcome, SCHEMA, SubjectOutcome};
use furlong_lab::error::Error;

/// Traces `*.vmtrace`, compressed or not.
pub(super) const RECORDING: Form = Form {
    described: "a recording of address spaces (vmtrace 1, packed with zstd or not)",
    is_one: |input| input.begins_with("# vmtrace"),
    replay: replay_recording,
};

fn replay_recording(input: &Input, subjects: &[String]) -> Result<Outcome, Error> {
    let arms = chosen(subjects, &ARMS, |(name, _)| name, |_| true)?;
    let Trace { events, error } = parse(&input.name, input.bytes.as_slice());
    let fault = error.map(|error| error.to_string());
    if events.is_empty() {
        let why = fault.unwrap_or_else(|| format!("{}: holds no event", input.name));
        return Err(Error::usage(why));
    }
    let script = Script::new(&events);
    let subjects = arms.iter().map(|(name, run)| SubjectOutcome {
        name: (*name).to_owned(),
        ..run(&script)
    });
    Ok(Outcome {
        schema: SCHEMA,
        trace: input.name.clone(),
        form: format!("recording of address spaces, {}", &HEADING[2..]),
        described: described(&script),
        judge: Judge::Kernel,
        fault,
        subjects: subjects.collect(),
    })
}

/// Describes a script in a sentence.
fn described(script: &Script) -> String {
    let steps = script.steps.iter();
    let faults = steps
        .filter(|at| matches!(at.step, Step::Fault(..)))
        .count();
    let mut text = format!(
        "{} events of {} spaces, {faults} of them faults",
        script.events, script.spaces
    );
    for (lines, what) in [
        (&script.no_execs, "execs as growing stacks"),
        (&script.unsaid_execs, "execs that were not recorded"),
        (&script.not_asked, "calls that were refused for their files"),
    ] {
        if !lines.is_empty() {
            let _ = write!(text, "; {} {what}", lines.len());
        }
    }
    text
}
