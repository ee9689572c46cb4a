//! `furlong prune`: removes stored runs that are no longer needed.

use std::process::ExitCode;

use jiff::{Timestamp, ToSpan};

use crate::archive::open_database;
use crate::error::{Error, Exit};
use crate::history::page;
use crate::options::{Database, Settings, Talk};
use crate::publish::{self, style};
use crate::record::store::{Listed, Status};
use crate::report::sheet::Sheet;
use crate::talk;

const EXAMPLES: &str = "\
Pinned runs, tagged runs and runs in progress are kept. A removed run's HTML page in the user's
data directory goes with it.

Examples:
  furlong prune --smoke --dry-run
  furlong prune --keep 100
  furlong prune --older-than 90";

/// Rules for the runs to remove.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(group = clap::ArgGroup::new("rules").required(true).multiple(true))]
pub struct Args {
    /// Remove all runs but the latest N of each machine
    #[arg(long, value_name = "N", group = "rules")]
    pub keep: Option<usize>,
    /// Remove runs that began more than this many days ago
    #[arg(long, value_name = "DAYS", group = "rules")]
    #[arg(value_parser = clap::value_parser!(u32).range(..=36_500))]
    pub older_than: Option<u32>,
    /// Remove smoke runs
    #[arg(long, group = "rules")]
    pub smoke: bool,
    /// Only list the runs that would be removed
    #[arg(long)]
    pub dry_run: bool,
    /// Location of the record.
    #[command(flatten)]
    pub database: Database,
    /// Amount of messages.
    #[command(flatten)]
    pub talk: Talk,
}

/// Removes the runs that match a rule.
///
/// # Errors
///
/// The store cannot be read or changed.
pub fn run(args: &Args) -> Result<ExitCode, Error> {
    let settings = Settings::of_here()?;
    let mut store = open_database(&args.database, &settings)?;
    let mut going = vec![];
    for (machine, _) in store.machines()? {
        let listed = store.listed(&machine.id, u32::MAX);
        going.extend(args.fitting(listed?)?);
    }
    let voice = args.talk.voice(&settings);
    if going.is_empty() {
        voice.note("no run matches: nothing is removed");
        return Ok(Exit::Done.into());
    }
    let verb = if args.dry_run {
        "that would be removed"
    } else {
        "removed"
    };
    let mut sheet = Sheet::new(format!("Runs {verb}: {}", going.len()));
    sheet.table(page::runs(&going));
    if !args.dry_run {
        let ids: Vec<&str> = going.iter().map(|run| run.id.as_str()).collect();
        let before = store.bytes();
        // Pages first: a run that is still listed can be pruned again, a page alone cannot.
        let (pages, of_pages) = publish::remove_pages(&ids, voice);
        store.remove(&ids)?;
        store.compact()?;
        let of_store = before.saturating_sub(store.bytes());
        let freed = of_store + of_pages;
        sheet.text(format!(
            "Freed {freed} bytes: {of_store} of the database, {of_pages} of {pages} HTML pages."
        ));
    }
    talk::data(&sheet.terminal(&style(talk::colour())))?;
    Ok(Exit::Done.into())
}

impl Args {
    /// Returns those of a machine's runs, the latest first, that are to be removed.
    fn fitting(&self, listed: Vec<Listed>) -> Result<Vec<Listed>, Error> {
        let limit = match self.older_than {
            Some(days) => {
                let hours = i64::from(days) * 24;
                let limit = Timestamp::now().checked_sub(hours.hours());
                let limit = limit.map_err(|error| Error::usage(error.to_string()))?;
                Some(limit.as_millisecond())
            }
            None => None,
        };
        let fits = |(place, run): &(usize, Listed)| {
            let late = self.keep.is_some_and(|keep| *place >= keep);
            let old = limit.is_some_and(|limit| run.began_ms < limit);
            let kept = run.pinned || run.tag.is_some() || run.status == Status::Running;
            !kept && (late || old || (self.smoke && run.profile == "smoke"))
        };
        let all = listed.into_iter().enumerate();
        Ok(all.filter(fits).map(|(_, run)| run).collect())
    }
}
