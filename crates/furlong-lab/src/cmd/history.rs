//! `furlong history`: the runs so far, and the points where their figures changed.

use std::process::ExitCode;

use crate::archive::{here, open_database};
use crate::error::{Error, Exit};
use crate::history::machine_history::{ExperimentSeries, History};
use crate::history::page::page;
use crate::history::series::series;
use crate::model::result::Machine;
use crate::nearest::unknown;
use crate::options::{Database, Pages, Settings};
use crate::publish;
use crate::record::class::told;
use crate::record::comparison::COMPARE;
use crate::record::store::{Saved, Store};
use crate::talk::Voice;

const EXAMPLES: &str = "\
Examples:
  furlong history
  furlong history iova-gap
  furlong history iova-gap --metric nodes_visited_per_op --html history.html
  furlong history iova-gap --json -";

/// Selection of the history.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Experiments, and comparisons by their name; `compare` means all comparisons [default: all
    /// that have runs]
    #[arg(value_name = "EXPERIMENT")]
    pub experiments: Vec<String>,
    /// Show this metric [default: the primary one of each workload]
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,
    /// Show only these workloads
    #[arg(long, value_name = "W,..", value_delimiter = ',')]
    pub workloads: Vec<String>,
    /// Show only these arms
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub arms: Vec<String>,
    /// Show the runs of another machine, given by its name, its class or a prefix of its
    /// identifier; runs of different machines are never put into one series [default: this machine]
    #[arg(long, value_name = "HOST")]
    pub machine: Option<String>,
    /// Show at most this many runs, the latest
    #[arg(long, value_name = "N", default_value_t = 200)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub last: u32,
    /// Destinations of the page.
    #[command(flatten)]
    pub pages: Pages,
    /// Location of the record.
    #[command(flatten)]
    pub database: Database,
}

/// Maximum number of runs in the list.
const LISTED: u32 = 20;

/// Shows the history.
///
/// # Errors
///
/// There are no runs, there is no such experiment, or something cannot be read or written.
pub fn run(args: &Args) -> Result<ExitCode, Error> {
    let settings = Settings::of_here()?;
    publish::check_pages(&args.pages)?;
    let store = open_database(&args.database, &settings)?;
    let history = args.history(&store, settings.machine_class.as_deref())?;
    publish::sheet(&page(&history), &history, &args.pages)?;
    Ok(Exit::Done.into())
}

impl Args {
    fn history(&self, store: &Store, class: Option<&str>) -> Result<History, Error> {
        let machine = machine(store, self.machine.as_deref(), class)?;
        let known = store.experiments_of(&machine.id)?;
        let names: Vec<&str> = known.iter().map(String::as_str).collect();
        for name in &self.experiments {
            if !known.iter().any(|filed| fits(filed, name)) {
                return Err(unknown(
                    "experiment with runs (smoke runs aside)",
                    name,
                    &names,
                ));
            }
        }
        let runs = match self.experiments.is_empty() {
            true => store.listed(&machine.id, LISTED.min(self.last)),
            false => Ok(vec![]),
        };
        let mut history = History {
            runs: runs?,
            experiments: vec![],
            machine,
        };
        let wanted = known.iter().filter(|filed| {
            let mut named = self.experiments.iter();
            self.experiments.is_empty() || named.any(|name| fits(filed, name))
        });
        for filed in wanted {
            let past = store.past(&history.machine.id, filed, self.last);
            let experiment = self.series(&past?);
            history.experiments.extend(experiment);
        }
        match history.experiments.is_empty() && (history.runs.is_empty() || self.is_choosy()) {
            true => Err(Error::usage(
                "no stored run has this figure: `furlong history` lists the figures",
            )),
            false => Ok(history),
        }
    }

    /// True if figures were selected by name.
    fn is_choosy(&self) -> bool {
        self.metric.is_some() || !self.workloads.is_empty() || !self.arms.is_empty()
    }

    /// Returns the selected series of an experiment, if there are any.
    fn series(&self, past: &[Saved]) -> Option<ExperimentSeries> {
        let mut series = series(past, self.metric.as_deref());
        series.retain(|one| {
            let among = |names: &[String], name| names.is_empty() || names.contains(name);
            // A single run makes no series. It is shown only if it was selected.
            let is_asked = !self.experiments.is_empty() || self.is_choosy();
            let is_shown = is_asked || one.points.len() > 1;
            is_shown && among(&self.workloads, &one.workload) && among(&self.arms, &one.arm)
        });
        let latest = past.last()?.result.experiments.first()?;
        (!series.is_empty()).then(|| ExperimentSeries {
            name: latest.name.clone(),
            comparison: latest.comparison.clone(),
            question: latest.question.clone(),
            series,
        })
    }
}

/// True if the user's name means an experiment that is filed under another: a comparison by its
/// own name, or all comparisons.
fn fits(filed: &str, name: &str) -> bool {
    let comparison = filed
        .strip_prefix(COMPARE)
        .and_then(|own| own.strip_prefix(' '));
    filed == name || comparison.is_some_and(|own| own == name || name == COMPARE)
}

/// Returns the selected machine. If none is named and this one has no runs, it is the machine with
/// the latest run, with a note.
fn machine(store: &Store, named: Option<&str>, class: Option<&str>) -> Result<Machine, Error> {
    let all = store.machines()?;
    let list = || {
        let listed = all.iter().map(|(machine, runs)| {
            let (name, id) = (told(machine), &machine.id);
            format!("{name} ({id}, {runs} runs)")
        });
        listed.collect::<Vec<_>>().join("; ")
    };
    let Some((latest, _)) = all.first() else {
        return Err(Error::usage(format!(
            "{} has no run yet: `furlong run` makes one",
            store.location()
        )));
    };
    let Some(name) = named else {
        let (here, _) = here(store, class)?;
        if let Some((found, _)) = all.iter().find(|(machine, _)| machine.id == here.id) {
            return Ok(found.clone());
        }
        let shown = told(latest);
        Voice::Normal.note(&format!(
            "this store has no run of this machine: showing {shown}; choose with --machine one \
             of: {}",
            list()
        ));
        return Ok(latest.clone());
    };
    let mut fitting = all.iter().map(|(machine, _)| machine).filter(|machine| {
        let own = machine.class.as_ref().unwrap_or(&machine.host);
        own == name || (!name.is_empty() && machine.id.starts_with(name))
    });
    match (fitting.next(), fitting.next()) {
        (Some(found), None) => Ok(found.clone()),
        (None, _) => Err(Error::usage(format!(
            "machine `{name}` has no runs here; these have: {}",
            list()
        ))),
        (Some(_), Some(_)) => Err(Error::usage(format!(
            "several machines are named `{name}`: give the beginning of an identifier: {}",
            list()
        ))),
    }
}
