//! `furlong export`: stored runs as files.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::archive::{find, open_database};
use crate::error::{Error, Exit};
use crate::options::{Database, Settings, Talk};
use crate::record::judged::judged;
use crate::report::{Target, json};
use crate::talk;

const EXAMPLES: &str = "\
Examples:
  furlong export latest
  furlong export --all --to .";

/// Runs to write, and their destination.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A prefix of the run's name, `latest`, `pinned` or `tag:NAME`
    #[arg(value_name = "RUN", required_unless_present = "all")]
    pub runs: Vec<String>,
    /// Write every run
    #[arg(long, requires = "to", conflicts_with = "runs")]
    pub all: bool,
    /// Write a file NAME.json for each into this directory [default: one run, to standard output]
    #[arg(long, value_name = "DIR")]
    pub to: Option<PathBuf>,
    /// Location of the record.
    #[command(flatten)]
    pub database: Database,
    /// Amount of messages.
    #[command(flatten)]
    pub talk: Talk,
}

/// Writes runs as `furlong.result/1`.
///
/// # Errors
///
/// A run does not exist, or cannot be read or written.
pub fn run(args: &Args) -> Result<ExitCode, Error> {
    let settings = Settings::of_here()?;
    if args.to.is_none() && args.runs.len() > 1 {
        return Err(Error::usage(
            "one file holds one run: name a directory with --to",
        ));
    }
    let store = open_database(&args.database, &settings)?;
    let class = settings.machine_class.as_deref();
    let ids: Vec<String> = match args.all {
        true => {
            let all = store.runs("")?;
            all.into_iter().map(|run| run.id).collect()
        }
        false => {
            let found = args.runs.iter().map(|name| find(&store, name, class));
            found.collect::<Result<_, Error>>()?
        }
    };
    let voice = args.talk.voice(&settings);
    for id in &ids {
        let saved = store.load(id)?;
        let text = json::render(&judged(&saved.result, saved.margin_pct));
        match &args.to {
            None => talk::data(&text)?,
            Some(dir) => {
                let path = dir.join(format!("{id}.json"));
                let target = Target {
                    option: "--to",
                    path: &path,
                };
                target.put(text.as_bytes())?;
                voice.note(&format!("{}", path.display()));
            }
        }
    }
    Ok(Exit::Done.into())
}
