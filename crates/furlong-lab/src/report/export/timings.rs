//! The times of commands in the formats of hyperfine, for scripts that read those.
//!
//! Facts about the formats: `src/export/` and `scripts/` of hyperfine 1.20.

use std::collections::{BTreeMap, BTreeSet};

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use super::csv::written;
use super::json::figures;
use crate::model::command_fact::{CommandFact, PARAMETERS};
use crate::model::result::{ArmResult, ResultFile, WorkloadResult};
use crate::report::finite::finite;
use crate::report::outline::values;
use crate::report::quantity::TimeUnit;
use crate::report::text::plain;

/// Order of the rows of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum RowOrder {
    /// That of the commands.
    #[default]
    Auto,
    /// That of the commands.
    Command,
    /// The fastest command first.
    MeanTime,
}

/// The times of one command, in seconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Timing {
    /// The user's name of the command, else its command line.
    command: String,
    mean: f64,
    stddev: Option<f64>,
    median: f64,
    user: f64,
    system: f64,
    min: f64,
    max: f64,
    /// One for each run, as are memory and exit codes.
    times: Vec<f64>,
    memory_usage_byte: Vec<u64>,
    exit_codes: Vec<u8>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    parameters: BTreeMap<String, String>,
    #[serde(skip)]
    is_reference: bool,
}

impl Timing {
    /// The times of an arm that is a command.
    fn of(w: &WorkloadResult, arm: &ArmResult) -> Timing {
        let fact = CommandFact::of(&w.params)
            .remove(&arm.name)
            .unwrap_or_default();
        let wall = &arm.summary["wall_s"];
        let times = values(arm, "wall_s");
        let codes = match arm.samples.contains_key("exit_code") {
            true => values(arm, "exit_code"),
            // Any other code would have ended the comparison.
            false => vec![0.0; times.len()],
        };
        let swept = w.params.get(PARAMETERS);
        let swept = swept.and_then(|all| BTreeMap::deserialize(all.get(&arm.name)?).ok());
        let is_named = fact.named || fact.command.is_empty();
        Timing {
            command: match is_named {
                true => arm.name.clone(),
                false => fact.command,
            },
            mean: wall.mean,
            stddev: wall.stddev,
            median: wall.median,
            user: arm.summary["user_s"].mean,
            system: arm.summary["sys_s"].mean,
            min: wall.min,
            max: wall.max,
            times,
            memory_usage_byte: whole(&values(arm, "maxrss_kib"), 1024.0),
            exit_codes: whole(&codes, 1.0),
            parameters: swept.unwrap_or_default(),
            is_reference: fact.reference,
        }
    }
}

/// True if an arm is a command that ran: it has all times of one.
pub(in crate::report) fn is_command(arm: &ArmResult) -> bool {
    ["wall_s", "user_s", "sys_s"]
        .iter()
        .all(|metric| arm.summary.contains_key(*metric))
}

/// The values, which are whole numbers, times a factor.
fn whole<T: TryFrom<u64>>(values: &[f64], factor: f64) -> Vec<T> {
    // Counts are below 2^53.
    let whole = values.iter().map(|value| (value * factor) as u64);
    whole.filter_map(|value| T::try_from(value).ok()).collect()
}

/// The times of all commands of a result.
fn timings(file: &ResultFile) -> Vec<Timing> {
    let file = finite(file);
    let arms = file
        .workloads()
        .flat_map(|w| w.arms.iter().map(move |arm| (w, arm)));
    let commands = arms.filter(|(_, arm)| is_command(arm));
    commands.map(|(w, arm)| Timing::of(w, arm)).collect()
}

/// True if the result has times of commands.
pub fn has_times(file: &ResultFile) -> bool {
    !timings(file).is_empty()
}

/// The times as `--export-json` writes them.
pub fn json(file: &ResultFile) -> String {
    #[derive(Serialize)]
    struct All {
        results: Vec<Timing>,
    }
    let results = timings(file);
    figures(&All { results })
}

/// The times as `--export-csv` writes them: a row per command, and a column per parameter.
pub fn csv(file: &ResultFile) -> String {
    let all = timings(file);
    let names = all.iter().flat_map(|one| one.parameters.keys());
    let names: BTreeSet<&String> = names.collect();
    let columns = "command mean stddev median user system min max".split(' ');
    let columns = columns.map(str::to_owned);
    let swept = names.iter().map(|name| format!("parameter_{name}"));
    let mut rows: Vec<Vec<String>> = vec![columns.chain(swept).collect()];
    for one in &all {
        let stddev = one.stddev.unwrap_or(0.0);
        let figures = [
            one.mean, stddev, one.median, one.user, one.system, one.min, one.max,
        ];
        let figures = figures.map(|value| value.to_string()).into_iter();
        let values = names.iter();
        let values = values.map(|name| one.parameters.get(*name).cloned().unwrap_or_default());
        let row = [one.command.clone()].into_iter().chain(figures);
        rows.push(row.chain(values).collect());
    }
    written(rows)
}

/// The times as `--export-markdown` writes them: relative to the reference, else to the fastest.
pub fn markdown(file: &ResultFile, order: RowOrder, unit: Option<TimeUnit>) -> String {
    let mut all = timings(file);
    let fastest = || all.iter().min_by(|a, b| a.mean.total_cmp(&b.mean));
    let base = all.iter().find(|one| one.is_reference).or_else(fastest);
    let base = base.cloned();
    if order == RowOrder::MeanTime {
        all.sort_by(|a, b| a.mean.total_cmp(&b.mean));
    }
    let unit = unit.unwrap_or_else(|| TimeUnit::fitting(all.first().map_or(1.0, |one| one.mean)));
    let symbol = unit.symbol();
    let mut text = format!(
        "| Command | Mean [{symbol}] | Min [{symbol}] | Max [{symbol}] | Relative |\n\
         |:---|---:|---:|---:|---:|\n"
    );
    for one in &all {
        let spread = one
            .stddev
            .map(|stddev| format!(" ± {}", unit.number(stddev)));
        let relative = base.as_ref().map(|base| relative(one, base));
        text.push_str(&format!(
            "| `{}` | {}{} | {} | {} | {} |\n",
            plain(&one.command).replace('|', "\\|"),
            unit.number(one.mean),
            spread.unwrap_or_default(),
            unit.number(one.min),
            unit.number(one.max),
            relative.unwrap_or_default(),
        ));
    }
    text
}

/// A ratio of means with its spread, by the propagation of errors: `1.25 ± 0.03`.
fn relative(one: &Timing, base: &Timing) -> String {
    let ratio = one.mean / base.mean;
    let share = |timing: &Timing| timing.stddev.map(|stddev| stddev / timing.mean);
    match (share(one), share(base)) {
        _ if one == base => "1.00".to_owned(),
        (Some(a), Some(b)) => format!("{ratio:.2} ± {:.2}", ratio * a.hypot(b)),
        _ => format!("{ratio:.2}"),
    }
}
