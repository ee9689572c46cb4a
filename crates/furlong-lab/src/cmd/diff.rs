//! `furlong diff`: the comparison of two stored runs.

use std::path::Path;
use std::process::ExitCode;

use crate::archive::foreign::UNKNOWN;
use crate::archive::{find, foreign, open_database};
use crate::error::{Error, Exit};
use crate::history::difference::{Difference, Differences, differences};
use crate::history::difference_page;
use crate::model::result::{Kind, Machine, ResultFile, Run};
use crate::options::{Database, FailOn, Pages, Settings};
use crate::publish;
use crate::record::class::{class, told};
use crate::record::judged::judged;
use crate::talk::Voice;

const EXAMPLES: &str = "\
BEFORE and AFTER are runs: the beginning of a name, `latest`, `tag:NAME` for the latest with that
tag, or `pinned` for the one that `furlong mark --pin` pinned on this machine. Or they are files: a
result of --json, or what another tool wrote (furlong import --help names the tools). The margin is
that with which AFTER was measured.

Examples:
  furlong diff
  furlong diff tag:before tag:after
  furlong diff old-bench.txt new-bench.txt
  furlong diff pinned latest --fail-on revert --json diff.json";

/// Runs to compare, and the verdicts that fail.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The run to compare with
    #[arg(value_name = "BEFORE", default_value = "pinned")]
    pub before: String,
    /// The run that is compared
    #[arg(value_name = "AFTER", default_value = "latest")]
    pub after: String,
    /// Show this metric [default: the primary one of each workload]
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,
    /// Exit with 3 if an arm, relative to the baseline, or an exact figure gets this verdict
    #[arg(long, value_name = "VERDICT", value_delimiter = ',')]
    pub fail_on: Vec<FailOn>,
    /// Apply --fail-on to the baseline's own level too
    #[arg(long, requires = "fail_on")]
    pub levels: bool,
    /// Class of this machine, for `pinned` and `latest` [default: that of its latest run]
    #[arg(long, value_name = "NAME", value_parser = class)]
    pub machine_class: Option<String>,
    /// Compare runs of different machines, although the difference is mostly that of the machines
    #[arg(long)]
    pub across_machines: bool,
    /// Destinations of the page.
    #[command(flatten)]
    pub pages: Pages,
    /// Location of the record.
    #[command(flatten)]
    pub database: Database,
}

/// Shows the differences between two runs.
///
/// # Errors
///
/// A run does not exist, the two are of different machines, or something cannot be read or written.
pub fn run(args: &Args) -> Result<ExitCode, Error> {
    let settings = Settings::of_here()?;
    publish::check_pages(&args.pages)?;
    let class = args.machine_class.as_ref();
    let class = class.or(settings.machine_class.as_ref());
    let load = |name: &str| -> Result<ResultFile, Error> {
        if is_file(name) {
            return foreign::read(Path::new(name));
        }
        let store = open_database(&args.database, &settings)?;
        let id = find(&store, name, class.map(String::as_str))?;
        let saved = store.load(&id)?;
        Ok(judged(&saved.result, saved.margin_pct))
    };
    let (before, after) = (load(&args.before)?, load(&args.after)?);
    if before.run.id == after.run.id {
        let id = &before.run.id;
        return Err(Error::usage(format!(
            "both runs are {id}: name two different runs"
        )));
    }
    args.check_machines(&before.run, &after.run)?;
    let all = differences(&before, &after, args.metric.as_deref());
    if !args.fail_on.is_empty() && !args.judged(&all).any(|one| args.can_fail(one)) {
        let why = match all.left_out.first() {
            Some(why) => why,
            None => {
                "they share levels of single arms only, without a control (--levels counts \
                     those with one)"
            }
        };
        return Err(Error::usage(format!(
            "the two runs have no figure that can get a verdict, so --fail-on would prove \
             nothing: {why}"
        )));
    }
    let (before, after) = (&before.run, &after.run);
    let sheet = difference_page::page(before, after, &all);
    publish::sheet(&sheet, &all.figures(before, after), &args.pages)?;
    match args.fails(&all) {
        true => Ok(Exit::Condition.into()),
        false => Ok(Exit::Done.into()),
    }
}

/// True for the path of a file; names of runs have neither a dot nor a slash.
fn is_file(name: &str) -> bool {
    name.contains(['.', '/']) && !name.contains(':') || name == "-"
}

fn processor(machine: &Machine) -> &str {
    machine.cpu.as_deref().unwrap_or("unknown")
}

impl Args {
    /// Warns of runs whose difference may be that of their machines, and refuses those of two.
    fn check_machines(&self, before: &Run, after: &Run) -> Result<(), Error> {
        let (here, there) = (&before.machine, &after.machine);
        if here.id != there.id {
            let (of_here, of_there) = (told(here), told(there));
            let text = format!(
                "run {} is of {of_here}, run {} of {of_there}",
                before.id, after.id
            );
            if !self.across_machines {
                return Err(Error::usage(format!(
                    "{text}: the comparison would show the difference between the machines; use \
                     --across-machines to compare them anyway"
                )));
            }
            Voice::Normal.warn(&text);
        } else if here.host == UNKNOWN {
            Voice::Normal.warn(
                "the files do not say on which machines they were measured: a difference may be \
                 that of the machines",
            );
        } else if here.cpu != there.cpu {
            Voice::Normal.warn(&format!(
                "the machines of {} have different processors ({} and {}): a class should have \
                 one kind",
                told(here),
                processor(here),
                processor(there)
            ));
        }
        Ok(())
    }

    /// The figures that count for `--fail-on`.
    fn judged<'a>(&self, all: &'a Differences) -> impl Iterator<Item = &'a Difference> {
        let is_level = |one: &Difference| one.baseline.is_none() && one.ci95_pct.is_some();
        let with_levels = self.levels;
        let found = all.found.iter();
        found.filter(move |one| with_levels || !is_level(one))
    }

    fn fails(&self, all: &Differences) -> bool {
        self.judged(all).any(|one| self.is_failure(one))
    }

    fn is_failure(&self, one: &Difference) -> bool {
        self.fail_on.iter().any(|fail| fail.holds(one.verdict))
    }

    /// True if a figure can get any verdict, as it is exact or both runs had a control, or if it
    /// fails without one.
    fn can_fail(&self, one: &Difference) -> bool {
        one.about.kind == Kind::Exact || one.floor_pct.is_some() || self.is_failure(one)
    }
}
