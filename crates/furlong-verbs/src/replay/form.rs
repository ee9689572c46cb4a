//! Seam: the forms of traces. A form recognises its traces by content and runs them. A further
//! system's traces are one more entry of the table.

use super::input::Input;
use super::outcome::Outcome;
use super::{malloc, phys, vmspace};
use furlong_lab::error::Error;
use furlong_lab::nearest::named;

/// Selects the named subjects from all of a form, in the order given. Without names, the form's own
/// are selected.
///
/// # Errors
/// A name that is not a subject.
pub(super) fn chosen<S>(
    names: &[String],
    all: &'static [S],
    name: fn(&S) -> &'static str,
    is_default: fn(&S) -> bool,
) -> Result<Vec<&'static S>, Error> {
    if names.is_empty() {
        return Ok(all.iter().filter(|one| is_default(one)).collect());
    }
    let mut chosen: Vec<&S> = vec![];
    for wanted in names {
        let subject = named("subject", wanted, all, |one| name(one))?;
        if !chosen.iter().any(|one| name(one) == wanted) {
            chosen.push(subject);
        }
    }
    Ok(chosen)
}

/// A form of trace.
pub(super) struct Form {
    /// Description for a file of no known form.
    pub(super) described: &'static str,
    /// True if an input is of this form, valid or not.
    pub(super) is_one: fn(&Input) -> bool,
    /// Runs it on the selected subjects.
    pub(super) replay: fn(&Input, &[String]) -> Result<Outcome, Error>,
}

/// All forms.
const FORMS: [Form; 4] = [
    phys::RECORDING,
    malloc::RECORDING,
    vmspace::RECORDING,
    phys::MAP,
];

/// Runs a trace of any form.
///
/// # Errors
/// The form is unknown, the trace has nothing to run, or a subject is not known. A trace that is
/// wrong from some line on is run up to there, and the outcome reports the fault.
pub fn replay(input: &Input, subjects: &[String]) -> Result<Outcome, Error> {
    match FORMS.iter().find(|form| (form.is_one)(input)) {
        Some(form) => (form.replay)(input, subjects),
        None => Err(unknown(input)),
    }
}

fn unknown(input: &Input) -> Error {
    let name = &input.name;
    let line = 1 + input
        .bytes
        .iter()
        .take_while(|byte| **byte != 0)
        .filter(|b| **b == b'\n')
        .count();
    let known = || {
        let known: Vec<&str> = FORMS.iter().map(|form| form.described).collect();
        known.join("; ")
    };
    Error::usage(if input.is_packed() && input.beginning(1).is_empty() {
        format!(
            "{name}: the zstd data cannot be unpacked: it is empty, truncated or damaged; copy it \
             again"
        )
    } else if input.is_packed() {
        let known = known();
        format!("{name}: the unpacked data is not a known trace; known are: {known}")
    } else if input.bytes.iter().all(u8::is_ascii_whitespace) {
        format!("{name}: is empty")
    } else if input.bytes.contains(&0) {
        format!("{name}: line {line}: holds a NUL byte; name a text file")
    } else {
        let known = known();
        format!("{name}: is not a known trace; known are: {known}")
    })
}
