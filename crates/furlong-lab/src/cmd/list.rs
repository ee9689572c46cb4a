//! `furlong list`: the experiments and the comparisons, with their last verdicts.

use std::process::ExitCode;

use crate::error::{Error, Exit};
use crate::model::Experiment;
use crate::model::result::{ExperimentResult, Verdict};
use crate::options::Database;
use crate::options::Settings;
use crate::publish::style;
use crate::record::judged::{deciding, judged};
use crate::record::store::{Fault, Store};
use crate::report::text::fold;
use crate::report::wording::word;
use crate::talk::{self, Voice};

/// Most comparisons of commands in the list.
const COMPARISONS: u32 = 20;

/// Indentation of the further lines of an entry, in columns.
const INDENT: usize = 13;

const EXAMPLES: &str = "\
Examples:
  furlong list
  furlong list --db none";

/// Source of the last verdicts.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Location of the record.
    #[command(flatten)]
    pub database: Database,
}

/// Lists every experiment, and the latest comparisons.
///
/// # Errors
///
/// The list cannot be written. A database that cannot be read is only a note: the list is printed
/// without it.
pub fn run(args: &Args, experiments: &[Experiment]) -> Result<ExitCode, Error> {
    let settings = Settings::of_here()?;
    let store = store(&args.database, &settings);
    // A narrower table could not be read.
    let width = style(false).width.max(3 * INDENT);
    let mut page = String::new();
    for experiment in experiments {
        let last = store
            .as_ref()
            .map(|store| last(store, &experiment.plan.name));
        let last = told(last.transpose()).flatten();
        let last = last.map(|(_, verdicts)| verdicts);
        entry(&mut page, experiment, last.as_deref(), width);
    }
    page.push_str(
        "* runs under the quick profile; the others under --profile full, or when named\n",
    );
    if let Some(store) = &store {
        page.push_str(&comparisons(store, width));
    }
    talk::data(&page)?;
    Ok(Exit::Done.into())
}

/// Opens the database if it exists.
fn store(database: &Database, settings: &Settings) -> Option<Store> {
    let location = database.location(settings)?;
    if location.is_absent() {
        return None;
    }
    Store::open_existing(&location)
        .map_err(|fault| Voice::Normal.warn(&fault.to_string()))
        .ok()
}

/// Returns what was read; a fault is a warning.
fn told<T: Default>(read: Result<T, Fault>) -> T {
    read.unwrap_or_else(|fault| {
        Voice::Normal.warn(&fault.to_string());
        T::default()
    })
}

/// Lists the latest comparisons of commands.
fn comparisons(store: &Store, width: usize) -> String {
    let mut page = String::new();
    for filed in told(store.comparisons(COMPARISONS)) {
        if let Some((question, last)) = told(last(store, &filed)) {
            page.push_str(&format!("\n{filed}\n"));
            heading(&mut page, &question, width);
            line(&mut page, "last", &last, width);
        }
    }
    page
}

fn heading(page: &mut String, question: &str, width: usize) {
    let text = fold(question, width - 2, 0).replace('\n', "\n  ");
    page.push_str(&format!("  {text}\n"));
}

fn line(page: &mut String, word: &str, what: &str, width: usize) {
    let gap = format!("\n{:INDENT$}", "");
    let what = fold(what, width - INDENT, 0).replace('\n', &gap);
    page.push_str(&format!("  {word:<0$}{what}\n", INDENT - 2));
}

fn entry(page: &mut String, experiment: &Experiment, last: Option<&str>, width: usize) {
    let plan = &experiment.plan;
    let (baseline, others) = plan
        .arms
        .split_first()
        .map_or(("", &[][..]), |(b, o)| (b, o));
    let mut arms = vec![format!("{baseline} (baseline)")];
    arms.extend(others.iter().cloned());
    let star = |quick| if quick { "*" } else { "" };
    let loads = plan
        .workloads
        .iter()
        .map(|load| format!("{}{}", load.name, star(load.quick)));
    page.push_str(&format!("{}\n", plan.name));
    heading(page, &plan.question, width);
    let workloads = loads.collect::<Vec<_>>().join(" ");
    for (word, what) in [
        ("arms", arms.join(", ").as_str()),
        ("workloads", &workloads),
        ("last", last.unwrap_or("not run yet")),
    ] {
        line(page, word, what, width);
    }
    page.push('\n');
}

/// Returns the question and the verdicts of an experiment's latest run.
fn last(store: &Store, experiment: &str) -> Result<Option<(String, String)>, Fault> {
    let Some(id) = store.latest_of(experiment)? else {
        return Ok(None);
    };
    let saved = store.load(&id)?;
    let result = judged(&saved.result, saved.margin_pct);
    let mut all = result.experiments.iter();
    let found = all.find(|one| one.filed_as() == experiment);
    let date = result.run.started.get(..10).unwrap_or_default();
    Ok(found.map(|experiment| {
        let verdicts = format!("{date} {id}: {}", verdicts(experiment));
        (experiment.question.clone(), verdicts)
    }))
}

/// Formats verdicts: "checked keep (plain, rem), inconclusive (ins)".
fn verdicts(experiment: &ExperimentResult) -> String {
    let mut arms: Vec<&str> = vec![];
    for (_, comparison) in deciding(experiment) {
        if !arms.contains(&comparison.arm.as_str()) {
            arms.push(&comparison.arm);
        }
    }
    let told = arms.iter().map(|arm| {
        let groups = Verdict::ALL.into_iter().filter_map(|verdict| {
            let loads: Vec<&str> = deciding(experiment)
                .filter(|(_, one)| one.arm == *arm && one.verdict == verdict)
                .map(|(load, _)| load)
                .collect();
            (!loads.is_empty()).then(|| format!("{} ({})", word(verdict), loads.join(", ")))
        });
        format!("{arm} {}", groups.collect::<Vec<_>>().join(", "))
    });
    let told: Vec<String> = told.collect();
    if told.is_empty() {
        "no comparison".to_owned()
    } else {
        told.join("; ")
    }
}
