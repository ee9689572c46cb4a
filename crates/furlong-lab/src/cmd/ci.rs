//! `furlong ci`: judges a pull request by the benchmarks of its two revisions, within a time.

use std::env;
use std::process::ExitCode;

use serde_json::json;

use super::ab::layouts;
use super::ab::repository::{Base, Repository};
use super::ab::suite;
use super::compare::benchmarks::{SAMPLE_S, experiment};
use super::compare::subject::kept;
use super::compare::{Sides, measure};
use crate::error::Error;
use crate::fleet::{On, Where, submit};
use crate::measure::instructions::metric_of_benchmarks;
use crate::measure::launch::callgrind::Callgrind;
use crate::model::result::CONTROL;
use crate::model::schedule::Schedule;
use crate::model::{Counters, MetricPlan, Profile};
use crate::options::{FailOn, Marks, RESUME, SECONDS_MAX, Settings, Showing, percent};
use crate::session::new_seed;
use furlong_stats::budget::{BLOCKS_MAX, BUDGET_S, PILOT};
use furlong_stats::judge::MARGIN_PCT;
use furlong_stats::stopping::{STOPPING, Stopping};

/// Timed samples of a block: base, head, and the base again.
const SAMPLES: f64 = 3.0;

/// Most blocks on the nodes of a cluster, where each is a task.
const NODE_BLOCKS_MAX: u32 = 60;

/// Two revisions, and the time to judge them.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Baseline [default: what the CI names, else the last common commit with the remote's default
    /// branch]
    #[arg(conflicts_with = RESUME)]
    pub base: Option<String>,
    /// Revision to judge
    #[arg(default_value = "HEAD", conflicts_with = RESUME)]
    pub head: String,
    /// Time for all benchmarks together, besides building: 300, 90s, 5m or 1h
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    #[arg(allow_hyphen_values = true, conflicts_with = RESUME)]
    pub budget: f64,
    /// Build each revision by this (sh, in its checkout) [default: cargo bench --no-run]
    #[arg(long, value_name = "COMMAND", conflicts_with = RESUME)]
    pub build: Option<String>,
    /// Link each revision in several code layouts.
    #[command(flatten)]
    pub layouts: layouts::Several,
    /// Only benchmarks whose name contains this
    #[arg(long, value_name = "TEXT", conflicts_with = RESUME)]
    pub bench: Vec<String>,
    /// Margin: a difference in time within this many per cent does not matter [default: 1]
    #[arg(long, value_name = "PCT", value_parser = percent, allow_hyphen_values = true)]
    #[arg(conflicts_with = RESUME)]
    pub margin: Option<f64>,
    /// Margin of instruction counts, which are exact
    #[arg(long, value_name = "PCT", value_parser = percent, allow_hyphen_values = true)]
    #[arg(default_value = "0.1", conflicts_with = RESUME)]
    pub instructions: f64,
    /// Seed of every order and every input [default: a random one]
    #[arg(long, value_name = "S", conflicts_with = RESUME)]
    pub seed: Option<u64>,
    /// Resume a run that was interrupted or killed, with as much time again
    #[arg(long, value_name = "ID", conflicts_with = "on")]
    pub resume: Option<String>,
    /// Words for the record.
    #[command(flatten)]
    pub marks: Marks,
    /// Destinations of the result.
    #[command(flatten)]
    pub showing: Showing,
    /// Place of measurement.
    #[command(flatten)]
    pub place: Where,
}

const EXAMPLES: &str = "\
Examples:
  furlong ci main
  furlong ci main HEAD --budget 10m --md comment.md
  furlong ci main HEAD --layouts 16
  furlong ci main HEAD --on slurm
  furlong ci v1.2 v1.3 --bench sort --build 'cargo bench --no-run -p parser'

Both revisions are built, each in a checkout in the cache, and all benchmarks of furlong-bench that
both have are measured in turns, until each is decided or the time is over. Where valgrind is
installed, instructions are counted too, without those of threads that a benchmark starts. All
benchmarks together raise a false alarm in at most 5 % of runs.

With --on slurm, each block of all benchmarks is a task on a node of its own. There are as many as
the budget allows one node, at most 60. The checkouts are in the cache (XDG_CACHE_HOME), which every
node must see by the same path.

Without BASE, it is $CI_MERGE_REQUEST_DIFF_BASE_SHA (GitLab), or the last common commit with
$GITHUB_BASE_REF (GitHub) or with the default branch of the remote `origin`.

Exit codes: 0 no regression was found, 1 a build or a run failed, 2 bad usage, 3 a regression: a
benchmark is slower by more than the margin, or takes more instructions and is not faster.";

/// Judges a pull request.
///
/// # Errors
///
/// Unknown revisions, a build that fails, a time that is too short, and those of a measurement.
pub fn run(args: &Args) -> Result<ExitCode, Error> {
    let settings = Settings::of_here()?;
    let options = args.showing.options(&settings, &[FailOn::Regression]);
    options.targets.check()?;
    args.place.check()?;
    let words = args.marks.words(&settings);
    if args.resume.is_some() {
        let nothing = || Err(Error::failed("a resumed run has its schedule"));
        return measure(args.resume.as_deref(), options, words, nothing);
    }
    let voice = options.voice;
    let repository = Repository::here()?;
    let base = match &args.base {
        Some(name) => Base::named(name),
        None => repository.base(&args.head, |name| env::var(name).ok())?,
    };
    if let Some(why) = &base.why {
        voice.note(&format!("base: {}, {why}", base.name));
    }
    let build = suite::build(&repository, args.build.as_deref())?;
    let recipe = args.layouts.recipe(Some(&build), voice);
    let pair = repository.pair([&base.name, &args.head], recipe, voice)?;
    let mut sides = suite::sides("ci cargo bench", &pair, &args.bench, recipe.layouts)?;
    let counters = match Callgrind::new() {
        Ok(_) => Counters::Callgrind,
        Err(error) => {
            voice.note(&format!("no instructions: {error}"));
            let left_out = sides.suite.iter_mut().map(|suite| &mut suite.left_out);
            let why = "instructions: valgrind is not installed".to_owned();
            left_out.for_each(|left_out| left_out.push(why.clone()));
            Counters::None
        }
    };
    let schedule = || args.schedule(&sides, &settings, counters);
    match args.place.nodes.on {
        On::Local => measure(None, options, words, schedule),
        On::Slurm => submit(&args.place, schedule()?, words, options),
    }
}

impl Args {
    fn schedule(
        &self,
        sides: &Sides,
        settings: &Settings,
        counters: Counters,
    ) -> Result<Schedule, Error> {
        let suite = sides.suite.clone().unwrap_or_default();
        let members = suite.benchmarks.len();
        let least_s = f64::from(PILOT) * SAMPLES * SAMPLE_S * members as f64;
        if self.budget < least_s {
            let (budget, least) = (self.budget, (1.5 * least_s).ceil());
            return Err(Error::usage(format!(
                "--budget {budget} s is too short: a verdict needs {PILOT} blocks of every \
                 benchmark, and there are {members}: give --budget {least}s, or choose benchmarks \
                 with --bench"
            )));
        }
        let names = told_apart(sides.names.clone());
        let on_nodes = self.place.nodes.on == On::Slurm;
        // Nodes know nothing of each other, so every benchmark gets its share of the time.
        let shared = (f64::from(PILOT) * self.budget / least_s) as u32;
        let blocks = match on_nodes {
            true => shared.min(NODE_BLOCKS_MAX),
            false => BLOCKS_MAX,
        };
        let mut entry = experiment(&suite, sides, names, blocks);
        entry.metrics[0].margin_pct = self.margin.or(settings.margin).unwrap_or(MARGIN_PCT);
        let rule = Stopping::Answer {
            limit_s: self.budget,
        };
        if counters == Counters::Callgrind {
            entry.metrics.push(MetricPlan {
                margin_pct: self.instructions,
                ..metric_of_benchmarks()
            });
        }
        if !on_nodes {
            let facts = [(STOPPING, json!(rule)), (BUDGET_S, json!(self.budget))];
            let facts = facts.map(|(name, fact)| (name.to_owned(), fact));
            for scheduled in &mut entry.workloads {
                scheduled.facts.extend(facts.clone());
            }
        }
        Ok(Schedule {
            profile: Profile::Quick,
            seed: self.seed.or(settings.seed).map_or_else(new_seed, Ok)?,
            margin_pct: None,
            timeout_s: settings.timeout,
            budget_s: Some(self.budget),
            counters,
            experiments: vec![entry],
            subject: kept(&suite)?,
        })
    }
}

/// The names of both revisions, changed if they are the same or that of the control.
fn told_apart(mut names: Vec<String>) -> Vec<String> {
    for name in &mut names {
        if name == CONTROL {
            name.push_str(" (1)");
        }
    }
    if let [base, head] = &mut names[..]
        && base == head
    {
        head.push_str(" (2)");
    }
    names
}

/// Parses a time in seconds, minutes or hours.
fn duration(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let (number, unit_s) = match text.char_indices().last() {
        Some((at, 's')) => (&text[..at], 1.0),
        Some((at, 'm')) => (&text[..at], 60.0),
        Some((at, 'h')) => (&text[..at], 3600.0),
        _ => (text, 1.0),
    };
    let seconds = number.trim_end().parse().map(|number: f64| number * unit_s);
    match seconds {
        Ok(seconds) if seconds > 0.0 && seconds <= SECONDS_MAX => Ok(seconds),
        _ => Err("give a time above 0, for example 90s, 5m or 1h".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::{duration, told_apart};

    #[test]
    fn no_arm_has_the_name_of_the_control_or_of_the_other_one() {
        for (given, names) in [
            (["main", "HEAD"], ["main", "HEAD"]),
            (["main", "control"], ["main", "control (1)"]),
            (["control", "main"], ["control (1)", "main"]),
            (["control", "control"], ["control (1)", "control (1) (2)"]),
            (["a", "a"], ["a", "a (2)"]),
        ] {
            assert_eq!(told_apart(given.map(str::to_owned).to_vec()), names);
        }
    }

    #[test]
    fn a_time_has_a_unit_or_is_in_seconds() {
        for (text, seconds) in [
            ("300", 300.0),
            ("90s", 90.0),
            ("1.5m", 90.0),
            ("1 h", 3600.0),
        ] {
            assert_eq!(duration(text), Ok(seconds), "{text}");
        }
        for wrong in ["", "m", "0", "-1m", "nan", "inf", "5d", "1e9h", "5m5"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
