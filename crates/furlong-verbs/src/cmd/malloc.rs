//! `furlong malloc`: advice on allocators.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::SIGINT;
use signal_hook::flag;

use super::record::outlive_interrupts;
use crate::prescribe::{Outcome, live_kib, page, record};
use crate::recorder::{Program, malloc};
use furlong_experiments::malloc_suite::{Candidate, Pace, candidates};
use furlong_lab::error::{Error, Exit, cause};
use furlong_lab::nearest::named;
use furlong_lab::options::Settings;
use furlong_lab::options::Talk;
use furlong_lab::peers;
use furlong_lab::publish;
use furlong_lab::report::Target;
use furlong_lab::talk::{self, Voice};

/// Says which allocator and which setting suit a program.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The advice.
    #[command(subcommand)]
    pub advice: Advice,
}

/// Kinds of advice.
#[derive(Debug, clap::Subcommand)]
pub enum Advice {
    /// Run a program once, and forecast its memory with every allocator and setting
    Prescribe(PrescribeArgs),
}

/// The allocator that others are compared with.
const BASE: &str = "glibc";

const EXAMPLES: &str = "\
Examples:
  furlong malloc prescribe -- ls -l
  furlong malloc prescribe --subject glibc,furlong --check --json memory.json -- ls -l";

/// Options of `malloc prescribe`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct PrescribeArgs {
    /// Allocators, by the names of the experiment malloc-suite; glibc is always one of them
    /// [default: all of them]
    #[arg(long = "subject", value_name = "S", value_delimiter = ',')]
    pub subjects: Vec<String>,
    /// Other people's allocators too, from the command furlong-peers
    #[arg(long)]
    pub peers: bool,
    /// Also run the program with each candidate, and compare the forecasts with its real peaks
    #[arg(long)]
    pub check: bool,
    /// Maximum number of recorded calls, 32 bytes each while the command runs
    #[arg(long, value_name = "N", default_value_t = malloc::EVENTS)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    pub events: u64,
    /// Write the result, with the memory over time, as JSON (`furlong.prescription/1`); `-` is
    /// standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Amount of output.
    #[command(flatten)]
    pub talk: Talk,
    /// The command, and its arguments
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true)]
    pub command: Vec<OsString>,
}

/// Gives the advice. `further` are the caller's libraries with allocators, by name.
///
/// # Errors
///
/// The command cannot be run or recorded, or the result cannot be written.
pub fn run(args: &Args, further: &[(&'static str, &Path)]) -> Result<ExitCode, Error> {
    let Advice::Prescribe(args) = &args.advice;
    if args.peers {
        peers::join()?;
    }
    let settings = Settings::of_here()?;
    let voice = args.talk.voice(&settings);
    let json = Target::json(args.json.as_deref())?;
    let program = Program::new(&args.command)?;
    let candidates = chosen(args, further, voice)?;
    outlive_interrupts()?;
    let recording = record(&program, args.events)?;
    // From here on Ctrl-C ends this command again.
    let refused = |error| Error::failed(format!("cannot listen for Ctrl-C: {}", cause(&error)));
    flag::register_conditional_default(SIGINT, Arc::new(AtomicBool::new(true))).map_err(refused)?;
    for missed in &recording.missed {
        voice.warn(missed);
    }
    let count = candidates.len();
    let is_paced = recording.pace() == Pace::Recorded;
    let pace = if is_paced {
        ", the first of each as long as the program"
    } else {
        ""
    };
    voice.note(&format!("replays on {count} allocators and settings{pace}"));
    if !is_paced {
        voice.warn(
            "the replays are faster than the program, which took long: allocators that return \
             memory after a delay seem to keep more of it",
        );
    }
    let mut forecasts = recording.forecasts(&candidates)?;
    if args.check {
        voice.note("runs of the program with each of them");
        for (forecast, candidate) in forecasts.iter_mut().zip(&candidates) {
            match live_kib(&program, candidate) {
                Ok(kib) => forecast.live_peak_kib = Some(kib),
                Err(why) => forecast.live_na = Some(why),
            }
        }
    }
    if recording.is_preload_unknown(&candidates) {
        voice.warn("LD_PRELOAD names none of these allocators: it was left out");
    }
    let present = recording.present(&candidates).unwrap_or_else(|| {
        voice.warn("the program's own allocator is no candidate: compared with glibc's");
        0
    });
    let outcome = Outcome::new(
        program.line(),
        recording.described(),
        recording.busy_ms(),
        forecasts,
        present,
    );
    if json.is_some_and(|json| json.is_stdout()) {
        talk::say(page(&outcome, &publish::style(false)).trim_end());
    } else {
        talk::data(&page(&outcome, &publish::style(talk::colour())))?;
    }
    if let Some(json) = json {
        json.put(outcome.json().as_bytes())?;
    }
    Ok(Exit::Done.into())
}

/// The allocators to replay on, the C library's first, each with its settings.
fn chosen(
    args: &PrescribeArgs,
    further: &[(&'static str, &Path)],
    voice: Voice,
) -> Result<Vec<Candidate>, Error> {
    let (mut all, missing) = candidates(further);
    let is_chosen = |name: &str| {
        let names = &args.subjects;
        name == BASE || names.is_empty() || names.iter().any(|chosen| chosen == name)
    };
    let known = all.iter().map(|candidate| candidate.allocator);
    let mut known: Vec<&str> = known.chain(missing.iter().map(|(name, _)| *name)).collect();
    known.dedup();
    for name in &args.subjects {
        named("subject", name, &known, |one| one)?;
    }
    for (name, remedy) in missing.iter().filter(|(name, _)| is_chosen(name)) {
        voice.note(&format!("without {name}: {remedy}"));
    }
    all.retain(|candidate| is_chosen(candidate.allocator));
    match all.first() {
        Some(first) if first.allocator == BASE => Ok(all),
        _ => Err(Error::failed(
            "programs are recorded and replayed on Linux with glibc; it was not found",
        )),
    }
}
