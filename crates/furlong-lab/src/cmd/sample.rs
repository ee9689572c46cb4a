//! `furlong sample`: one sample of one arm, for the lab itself. Prints a line of JSON on stdout.

use std::panic;
use std::process::ExitCode;

use crate::error::{Error, Exit};
use crate::model::{Experiment, Outcome, Profile, Request};
use crate::nearest::named;
use crate::talk;

/// One sample to take.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name of the experiment
    pub experiment: String,
    /// Name of the workload
    pub workload: String,
    /// Name of the arm
    pub arm: String,
    /// Profile of the workload's parameters
    #[arg(long, default_value = "quick")]
    pub profile: Profile,
    /// Seed of the input
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Number of operations
    #[arg(long, default_value_t = 1)]
    pub operations: u64,
    /// Count instead of timing
    #[arg(long)]
    pub exact: bool,
    /// Print no times: the instructions that print a time vary with it, and they are being counted
    #[arg(long)]
    pub untimed: bool,
}

/// Takes the sample in this process.
///
/// # Errors
///
/// An unknown name, or the arm's own failure.
pub fn run(args: &Args, experiments: &[Experiment]) -> Result<ExitCode, Error> {
    say_panics_in_a_line();
    let experiment = named("experiment", &args.experiment, experiments, |one| {
        &one.plan.name
    })?;
    let workloads = &experiment.plan.workloads;
    let workload = named("workload", &args.workload, workloads, |load| &load.name)?;
    let arm = named("arm", &args.arm, &experiment.arms, |arm| arm.name)?;
    let request = Request {
        workload: workload.under(args.profile),
        seed: args.seed,
        operations: args.operations,
        exact: args.exact,
    };
    let mut outcome = (arm.run)(&request).map_err(|failure| Error::failed(failure.0))?;
    if args.untimed {
        outcome = Outcome {
            operations: outcome.operations,
            ..Outcome::default()
        };
    }
    let line = line(&outcome)?;
    talk::data(&line)?;
    Ok(Exit::Done.into())
}

/// Formats the outcome for the parent.
fn line(outcome: &Outcome) -> Result<String, Error> {
    if let Some((name, value)) = outcome.metrics.iter().find(|(_, value)| !value.is_finite()) {
        return Err(Error::failed(format!(
            "the arm measured {value} for `{name}`"
        )));
    }
    match serde_json::to_string(outcome) {
        Ok(line) => Ok(line + "\n"),
        Err(error) => Err(Error::failed(format!(
            "the outcome cannot be written: {error}"
        ))),
    }
}

/// Prints a panic in one line, because the parent shows the last line of stderr.
fn say_panics_in_a_line() {
    panic::set_hook(Box::new(|panic| {
        let place = panic
            .location()
            .map_or_else(String::new, |at| format!(" at {at}"));
        let text = panic.payload_as_str().unwrap_or("a value that is not text");
        talk::say(&format!("panicked{place}: {}", text.replace('\n', " ")));
    }));
}

#[cfg(test)]
mod tests {
    use super::line;
    use crate::model::Outcome;

    #[test]
    fn a_number_that_json_cannot_hold_is_refused_by_name() {
        let mut outcome = Outcome {
            operations: 3,
            digest: u64::MAX,
            ..Outcome::default()
        };
        outcome.metrics.insert("time".to_owned(), 1.0);
        let read: Outcome = serde_json::from_str(&line(&outcome).unwrap()).unwrap();
        assert_eq!(read, outcome);
        outcome.metrics.insert("ratio".to_owned(), f64::NAN);
        assert!(line(&outcome).unwrap_err().message.contains("`ratio`"));
    }
}
