//! `furlong seeds`: shows the five documents' figures beside this machine's.

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::seeds::document::documents;
use crate::seeds::figures::figures;
use crate::seeds::measured::{Records, nearest};
use crate::seeds::page::page;
use furlong_lab::error::{Error, Exit};
use furlong_lab::options::Settings;
use furlong_lab::options::{Database, Pages};
use furlong_lab::publish;
use furlong_lab::record::store::Store;
use furlong_lab::talk::Voice;

const EXAMPLES: &str = "\
Examples:
  furlong seeds
  furlong seeds --md seeds.md --html seeds.html";

/// Options of `furlong seeds`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Read records that the store lacks from DIR/*/results/*.json [default: the nearest directory
    /// `experiments` above this one]
    #[arg(long, value_name = "DIR")]
    pub experiments: Option<PathBuf>,
    /// Destination of the page.
    #[command(flatten)]
    pub pages: Pages,
    /// Location of the store of records.
    #[command(flatten)]
    pub database: Database,
}

/// Shows the documents' figures.
///
/// # Errors
///
/// The page cannot be written, or there is no such directory. An unreadable store is only reported.
pub fn run(args: &Args) -> Result<ExitCode, Error> {
    let settings = Settings::of_here()?;
    publish::check_pages(&args.pages)?;
    let documents = documents().map_err(Error::failed)?;
    let mut records = Records::default();
    let location = args.database.location(&settings);
    if let Some(location) = location.filter(|location| !location.is_absent()) {
        let asked =
            Store::open_existing(&location).and_then(|store| records.add_store(&store, &documents));
        if let Err(fault) = asked {
            Voice::Normal.warn(&fault.to_string());
        }
    }
    let here = || nearest(&env::current_dir().ok()?);
    if let Some(dir) = args.experiments.clone().or_else(here) {
        if !dir.is_dir() {
            let dir = dir.display();
            return Err(Error::usage(format!(
                "there is no directory {dir}: name the directory of the experiments"
            )));
        }
        for left_out in records.add_files(&dir) {
            Voice::Normal.warn(&left_out);
        }
    }
    let figures = figures(&documents, &records);
    publish::sheet(&page(&documents, &records), &figures, &args.pages)?;
    Ok(Exit::Done.into())
}
