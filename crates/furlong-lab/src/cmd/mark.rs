//! `furlong mark`: a stored run's tag, note and pin, and the judgement that it changed nothing.

use std::process::ExitCode;

use crate::archive::{find, open_database};
use crate::error::{Error, Exit};
use crate::options::{Database, Settings, Talk};

const EXAMPLES: &str = "\
Examples:
  furlong mark latest --tag before --note 'as released'
  furlong mark latest --pin
  furlong mark latest --not-a-change";

/// A run, and the marks to change.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(group = clap::ArgGroup::new("marks").required(true).multiple(true))]
pub struct Args {
    /// A prefix of the run's name, `latest`, `pinned` or `tag:NAME`
    pub run: String,
    /// A name to find the run by; an empty one removes the old one
    #[arg(long, value_name = "NAME", group = "marks")]
    pub tag: Option<String>,
    /// A remark to keep with the run; an empty one removes the old one
    #[arg(long, value_name = "TEXT", group = "marks")]
    pub note: Option<String>,
    /// Make this run the one that `furlong diff` compares the runs of its machine with; `furlong
    /// prune` keeps it
    #[arg(long, group = "marks", conflicts_with = "unpin")]
    pub pin: bool,
    /// Remove the pin: no run is compared with this one by default any more
    #[arg(long, group = "marks")]
    pub unpin: bool,
    /// Find no step at this run: the history joins the levels on both sides (figures that were
    /// sampled; exact ones always show their steps)
    #[arg(long, group = "marks", conflicts_with = "a_change")]
    pub not_a_change: bool,
    /// Let the history find a step at this run again
    #[arg(long, group = "marks")]
    pub a_change: bool,
    /// Location of the record.
    #[command(flatten)]
    pub database: Database,
    /// Amount of messages.
    #[command(flatten)]
    pub talk: Talk,
}

/// Marks a run.
///
/// # Errors
///
/// The run does not exist or cannot be changed.
pub fn run(args: &Args) -> Result<ExitCode, Error> {
    let settings = Settings::of_here()?;
    let mut store = open_database(&args.database, &settings)?;
    let id = find(&store, &args.run, settings.machine_class.as_deref())?;
    store.mark(&id, args.tag.as_deref(), args.note.as_deref())?;
    if args.pin {
        store.pin(&id)?;
    }
    if args.unpin {
        store.unpin(&id)?;
    }
    if args.not_a_change || args.a_change {
        store.dismiss(&id, args.not_a_change)?;
    }
    args.talk
        .voice(&settings)
        .note(&format!("run {id} is marked"));
    Ok(Exit::Done.into())
}
