//! `furlong doctor`: conditions on this machine that would spoil a measurement, with remedies.

use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use clap::ValueEnum;
use serde::Serialize;

use crate::doctor::{DuetCheck, Finding, Floor, State, checks};
use crate::error::{Error, Exit};
use crate::measure::interrupt::Interrupt;
use crate::model::result::Machine;
use crate::options::{Settings, Talk, seconds};
use crate::record::machine::Files;
use crate::report::{Target, json};
use crate::talk;

/// Time over which stolen time is observed if nothing is measured.
const LOOK: Duration = Duration::from_millis(500);

const EXAMPLES: &str = "\
Examples:
  furlong doctor
  furlong doctor --seconds 5
  furlong doctor --no-floor --json -
  furlong doctor --fail-on bad && furlong run";

/// A finding that fails the command (`--fail-on`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// Something may spoil a measurement, or cannot be measured.
    Bad,
}

/// Time to measure, and the destination of the findings.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Measure the noise floor for at most this time
    #[arg(long, value_name = "SECONDS", default_value = "20", value_parser = seconds)]
    #[arg(allow_hyphen_values = true)]
    pub seconds: f64,
    /// Check the machine only, without measuring
    #[arg(long)]
    pub no_floor: bool,
    /// Write the findings as JSON (`furlong.doctor/1`); `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Exit with 3 if there is such a finding
    #[arg(long, value_name = "STATE")]
    pub fail_on: Option<FailOn>,
    /// Check whether two commands at once are compared fairly here (compare --duet)
    #[arg(long)]
    pub duet: bool,
    /// Amount of messages.
    #[command(flatten)]
    pub talk: Talk,
}

/// Contents of the file of `--json`.
#[derive(Serialize)]
#[serde(tag = "schema", rename = "furlong.doctor/1")]
struct Findings<'a> {
    machine: &'a Machine,
    findings: &'a [Finding],
    #[serde(skip_serializing_if = "Option::is_none")]
    floor: Option<Floor>,
}

/// Examines the machine.
///
/// # Errors
///
/// A process cannot be run, or the output cannot be written.
pub fn run(args: &Args) -> Result<ExitCode, Error> {
    let settings = Settings::of_here()?;
    let voice = args.talk.voice(&settings);
    let option = "--json";
    let target = args.json.as_deref().map(|path| Target { option, path });
    if let Some(target) = target {
        target.check()?;
    }
    let files = Files::default();
    let since = files.cpu_time();
    let interrupt = Interrupt::listen()?;
    let machine = files.machine();
    let floor = if args.no_floor {
        thread::sleep(LOOK);
        None
    } else {
        let seconds = args.seconds;
        voice.note(&format!(
            "measuring the noise floor, for {seconds} s at most"
        ));
        Floor::measure(seconds, &interrupt)?
    };
    let mut findings = checks::all(&files, since);
    findings.extend(floor.map(|floor| floor.finding()));
    if args.duet {
        voice.note("comparing planted changes in two programs at once, for at most a minute");
        let check = DuetCheck::measure(&interrupt)?;
        findings.extend(check.map(|check| check.finding()));
    }
    let lines: String = findings.iter().map(|one| format!("{one}\n")).collect();
    let bad = findings.iter().filter(|one| one.state == State::Bad);
    let bad = bad.count();
    let exit = match args.fail_on {
        Some(FailOn::Bad) if bad > 0 => Exit::Condition,
        _ => Exit::Done,
    };
    let Some(target) = target else {
        talk::data(&lines)?;
        return Ok(exit.into());
    };
    let report = Findings {
        machine: &machine,
        findings: &findings,
        floor,
    };
    if target.is_stdout() {
        voice.note(&format!("{bad} of {} findings are bad", findings.len()));
    } else {
        talk::data(&lines)?;
    }
    target.put(json::figures(&report).as_bytes())?;
    Ok(exit.into())
}
