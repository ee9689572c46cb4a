//! `furlong import`: adds runs that were measured elsewhere to the store.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::archive::make_database;
use crate::error::{Error, Exit, cause};
use crate::history::agreement::agrees;
use crate::model::result::ResultFile;
use crate::options::{Database, Settings, Talk};
use crate::record::judged::judged;
use crate::record::store::Store;
use crate::report::json;

const EXAMPLES: &str = "\
Examples:
  furlong import result.json
  furlong export latest --db old.db | furlong import -";

/// Files to import.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Results in the format of --json (`furlong.result/1`); `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Location of the record.
    #[command(flatten)]
    pub database: Database,
    /// Amount of messages.
    #[command(flatten)]
    pub talk: Talk,
}

/// Imports all named results, or none if one of the files is not a result.
///
/// # Errors
///
/// A file is not a result, or contradicts itself or the store; or the store cannot be written.
pub fn run(args: &Args) -> Result<ExitCode, Error> {
    let settings = Settings::of_here()?;
    let read = args.files.iter().map(|path| read(path));
    let results = read.collect::<Result<Vec<ResultFile>, Error>>()?;
    let mut store = make_database(&args.database, &settings)?;
    let voice = args.talk.voice(&settings);
    for result in &results {
        let id = &result.run.id;
        match import(&mut store, result)? {
            true => voice.note(&format!("run {id} of {} is stored", result.run.started)),
            false => voice.note(&format!("run {id} is stored already")),
        }
    }
    Ok(Exit::Done.into())
}

/// Hint about the source of results.
const WRITTEN: &str = "write one with the option --json of run, compare or show";

fn read(path: &Path) -> Result<ResultFile, Error> {
    let name = path.display();
    let mut text = String::new();
    let got = match path.as_os_str() == "-" {
        true => io::stdin().read_to_string(&mut text).map(drop),
        false => fs::read_to_string(path).map(|all| text = all),
    };
    got.map_err(|error| Error::usage(format!("cannot read {name}: {}", cause(&error))))?;
    if text.trim().is_empty() {
        return Err(Error::usage(format!("{name} is empty: {WRITTEN}")));
    }
    let result = json::read(&text).map_err(|error| {
        Error::usage(format!(
            "{name} is not a result of furlong ({error}): {WRITTEN}"
        ))
    })?;
    agrees(&result).map_err(|what| Error::usage(format!("{name} is inconsistent: {what}")))?;
    Ok(result)
}

/// Adds a result to the store; false if it was there already.
fn import(store: &mut Store, result: &ResultFile) -> Result<bool, Error> {
    let id = &result.run.id;
    if store.is_there(id)? {
        let saved = store.load(id)?;
        let same = judged(&saved.result, saved.margin_pct).run.started == result.run.started;
        return match same {
            true => Ok(false),
            false => Err(Error::usage(format!(
                "{} already has a different run {id}: import this one into another store with --db",
                store.location()
            ))),
        };
    }
    store.import(result)?;
    Ok(true)
}
