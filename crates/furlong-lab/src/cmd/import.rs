//! `furlong import`: adds runs that were measured elsewhere to the store.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::archive::foreign::{self, IMPORTED};
use crate::archive::make_database;
use crate::error::{Error, Exit};
use crate::model::result::ResultFile;
use crate::options::{Database, Settings, Talk};
use crate::record::class::this_machine;
use crate::record::judged::judged;
use crate::record::store::Store;

const EXAMPLES: &str = "\
Examples:
  furlong import result.json
  furlong export latest --db old.db | furlong import -
  furlong import --here --tag before old-bench.txt

Besides results of furlong, it reads files of hyperfine, criterion (sample.json), divan, Go's
benchmarks, benchstat, Google Benchmark, pytest-benchmark, JMH, BenchmarkDotNet and perf stat. The
record names the tool, its version and the file. Such a run has no control, so a difference of two
has an interval and no verdict. If a file has outputs of perf for several commands, or several jobs
of a .NET benchmark, the names begin with these. A second benchmark of one name is NAME #2.";

/// Files to import.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Results in the format of --json (`furlong.result/1`), or other tools' files; `-` is standard
    /// input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// A name to find the runs by, unless they have one
    #[arg(long, value_name = "NAME")]
    pub tag: Option<String>,
    /// Say that other tools' files were measured on this machine: `latest`, `history` and `diff`
    /// then take them for its own
    #[arg(long)]
    pub here: bool,
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
    let read = args.files.iter().map(|path| foreign::read(path));
    let mut results = read.collect::<Result<Vec<ResultFile>, Error>>()?;
    for run in results.iter_mut().map(|result| &mut result.run) {
        run.tag = run.tag.take().or(args.tag.clone());
        if args.here && run.profile == IMPORTED {
            run.machine = this_machine(settings.machine_class.as_deref());
        }
    }
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

/// Adds a result to the store; false if it was there already.
fn import(store: &mut Store, result: &ResultFile) -> Result<bool, Error> {
    let id = &result.run.id;
    if store.is_there(id)? {
        let saved = store.load(id)?;
        let stored = judged(&saved.result, saved.margin_pct);
        let [here, there] = [&stored, result].map(blocks);
        return match stored.run.started == result.run.started {
            true if here < there => Err(Error::usage(format!(
                "{} has run {id} with {here} blocks, and this copy has {there}: import this one \
                 into another store with --db",
                store.location()
            ))),
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

/// The blocks of a run.
fn blocks(result: &ResultFile) -> usize {
    let workloads = result.experiments.iter().flat_map(|one| &one.workloads);
    workloads.map(|workload| workload.blocks.len()).sum()
}
