//! `furlong show`: a stored run again.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use crate::archive::{find, open};
use crate::cli::{Database, Reports, Talk};
use crate::error::{Error, Exit};
use crate::publish;
use crate::record::judged::judged;
use crate::record::store::Status;
use crate::report::Form;
use crate::session::Options;
use crate::settings::Settings;

const EXAMPLES: &str = "\
Examples:
  furlong show
  furlong show tag:before --html before.html
  furlong show latest --format benchstat";

/// Which run, and where it goes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The beginning of a run's name, `latest` for this machine's, `pinned` or `tag:NAME`
    /// [default: the latest run of any machine]
    pub run: Option<String>,
    /// What is printed on standard output [default: table]
    #[arg(long, value_name = "FORM")]
    pub format: Option<Form>,
    /// Where the reports go.
    #[command(flatten)]
    pub reports: Reports,
    /// Where the record is.
    #[command(flatten)]
    pub database: Database,
    /// How much is said.
    #[command(flatten)]
    pub talk: Talk,
}

/// Shows a run and writes the reports that were asked for.
///
/// # Errors
///
/// There is no such run, or it cannot be read or written.
pub fn run(args: &Args) -> Result<ExitCode, Error> {
    let settings = Settings::of_here()?;
    // Reports by default are for new runs: showing an old one must not overwrite a newer one's.
    let targets = args.reports.targets(&Settings::default());
    let form = settings.form(args.format);
    publish::check(&targets, form)?;
    let voice = args.talk.voice(&settings);
    let options = Options {
        settings: &settings,
        database: &args.database,
        form,
        targets,
        page: false,
        fail_on: vec![],
        voice,
    };
    let store = open(&options)?;
    let refuse = |error: crate::record::store::Fault| Error::usage(error.to_string());
    let brief = match &args.run {
        Some(prefix) => find(&store, prefix)?,
        None => store
            .runs("")
            .map_err(refuse)?
            .into_iter()
            .next()
            .ok_or_else(|| {
                let path = store.location();
                Error::usage(format!(
                    "there is no run in {path} yet: `furlong run` makes one"
                ))
            })?,
    };
    let saved = store.load(&brief.id).map_err(refuse)?;
    if saved.status != Status::Finished {
        let status = saved.status.name();
        voice.warn(&format!("run {} is not complete: {status}", brief.id));
    }
    let result = judged(&saved.result, saved.margin_pct);
    publish::publish(&result, options.form, &options.targets)?;
    Ok(Exit::Done.into())
}
