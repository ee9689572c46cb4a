//! `furlong show`: shows a stored run again.

use std::process::ExitCode;

use crate::archive::{find, open_database};
use crate::error::{Error, Exit};
use crate::options::{Options, Settings, Showing};
use crate::publish;
use crate::record::judged::judged;
use crate::record::store::Status;
use crate::report::{Exports, Targets};

const EXAMPLES: &str = "\
Examples:
  furlong show
  furlong show tag:before --html before.html
  furlong show latest --csv -
  furlong show latest --export-json -";

/// A run, and the destinations of its reports.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A prefix of the run's name, `latest` for this machine's, `pinned` or `tag:NAME` [default:
    /// the latest run of any machine]
    pub run: Option<String>,
    /// Source and destinations of the result.
    #[command(flatten)]
    pub showing: Showing,
    /// Exports in another tool's formats.
    #[command(flatten)]
    pub exports: Exports,
}

/// Shows a run and writes the requested reports.
///
/// # Errors
///
/// The run does not exist, or cannot be read or written.
pub fn run(args: &Args) -> Result<ExitCode, Error> {
    let settings = Settings::of_here()?;
    let options = Options {
        // Reports by default are for new runs. Showing an old run must not overwrite a newer one's.
        targets: Targets {
            exports: args.exports.clone(),
            ..args.showing.reports.targets(&Settings::default())
        },
        page: false,
        ..args.showing.options(&settings, &[])
    };
    options.targets.check()?;
    let store = open_database(options.database, &settings)?;
    let id = match &args.run {
        Some(prefix) => find(&store, prefix, settings.machine_class.as_deref())?,
        None => {
            let path = store.location();
            let none = || Error::usage(format!("{path} has no run yet: `furlong run` makes one"));
            let latest = store.latest_runs(1)?.into_iter().next();
            latest.ok_or_else(none)?.id
        }
    };
    let saved = store.load(&id)?;
    if saved.status != Status::Finished {
        options.voice.warn(&incomplete(&id, saved.status));
    }
    let result = judged(&saved.result, saved.margin_pct);
    args.exports.check(&result)?;
    publish::publish(&result, &options.targets, options.details)?;
    Ok(Exit::Done.into())
}

/// Returns a message about an incomplete run, with a remedy.
fn incomplete(id: &str, status: Status) -> String {
    let (why, goes_on) = match status {
        Status::Running => ("it is being measured, or its process was killed", true),
        Status::Interrupted => ("interrupted", true),
        Status::Failed | Status::Finished => (status.name(), false),
    };
    let rest = if goes_on {
        format!("; `--resume {id}` continues it")
    } else {
        String::new()
    };
    format!("run {id} is not complete: {why}{rest}")
}
