//! Tools that are run to their end.
#![forbid(unsafe_code)]

use std::process::Command;

use furlong_lab::model::Failure;

/// Runs a tool, which must succeed, and returns its output.
pub(crate) fn finished(command: &mut Command) -> Result<String, Failure> {
    let tool = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .map_err(|error| Failure(format!("{tool} cannot be run: {error}")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().last().unwrap_or_default();
    let status = output.status;
    Err(Failure(format!("{tool} ended with {status}: {last}")))
}
