//! `furlong compare`: any commands, from their command lines to a verdict.

mod amount;
pub(super) mod benchmarks;
mod duet;
mod names;
mod other_names;
mod ready;
pub(super) mod subject;
mod values;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::{Map, Value, json};

use super::enough::Enough;
use crate::error::Error;
use crate::fleet::{On, Where, submit};
use crate::measure::commands::parameter::Parameter;
use crate::measure::commands::pattern::Printed;
use crate::measure::instructions::{callgrind, metrics_of_commands};
use crate::measure::launch::command::Shell;
use crate::measure::launch::launcher::Output;
use crate::measure::sampler::When;
use crate::model::command_fact::{COMMANDS, CommandFact, DUET, PARAMETERS};
use crate::model::result::Better;
use crate::model::schedule::{Batch, Schedule, ScheduledExperiment, ScheduledWorkload};
use crate::model::{Counters, MetricPlan, Workload};
use crate::nearest::named;
use crate::options::{FailOn, Marks, Options, RESUME, Settings, Showing};
use crate::options::{percent, seconds};
use crate::record::comparison::{COMPARE, name_of};
use crate::report::Exports;
use crate::talk::Voice;
use amount::{Amount, Usual};
pub(super) use benchmarks::Suite;
use furlong_stats::layouts::LAYOUTS;
use names::{Name, Names};
use other_names::OtherNames;
pub(crate) use ready::at_work;
pub(super) use ready::measure;
use subject::{Filled, Subject, counted};
use values::Ignored;

/// Fact about a workload whose commands may fail.
const IGNORE_FAILURE: &str = "ignore_failure";

/// Commands to compare, and how.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Commands; the first is the baseline of the others, and a single one is only timed
    #[arg(value_name = "COMMAND", conflicts_with = RESUME)]
    pub commands: Vec<String>,
    /// All other options.
    #[command(flatten)]
    pub how: How,
}

/// Commands that are compared, and what is known about them beforehand.
#[derive(Debug, Default)]
pub(super) struct Sides {
    pub(super) commands: Vec<String>,
    /// The folder in which each runs; none for furlong's own.
    pub(super) folders: Vec<PathBuf>,
    /// Names of the comparison and of its commands, unless the user gives others.
    pub(super) comparison: Option<String>,
    pub(super) names: Vec<String>,
    /// Benchmarks instead of commands.
    pub(super) suite: Option<Suite>,
    /// Code layouts in which the programs of the folders were linked, 0 for one alone.
    pub(super) layouts: u32,
    /// Further facts for the record.
    pub(super) facts: BTreeMap<String, Value>,
}

/// The amount of measuring, and the destinations of the result.
#[derive(Debug, clap::Args)]
pub struct How {
    /// Names of the commands.
    #[command(flatten)]
    pub names: Names,
    /// A name for the comparison: `furlong history` keeps its runs apart from those of others
    /// [default: the commands]
    #[arg(long, value_name = "NAME", value_parser = values::name, conflicts_with = RESUME)]
    pub name: Option<String>,
    /// Number of runs.
    #[command(flatten)]
    pub amount: Amount,
    /// Run this (by sh) before every run of a command; once for all, or once for each
    #[arg(short, long, value_name = "COMMAND", conflicts_with = RESUME)]
    pub prepare: Vec<String>,
    /// Run this (by sh) after every run of a command; once for all, or once for each
    #[arg(short = 'C', long, value_name = "COMMAND", conflicts_with = RESUME)]
    pub conclude: Vec<String>,
    /// Run this (by sh) once before everything else
    #[arg(short, long, value_name = "COMMAND", conflicts_with = RESUME)]
    pub setup: Option<String>,
    /// Run this (by sh) once after everything else, even if that failed
    #[arg(short, long, value_name = "COMMAND", conflicts_with = RESUME)]
    pub cleanup: Option<String>,
    /// Replace {NAME} by every number from MIN to MAX: each is a workload or, with a single
    /// command, an arm
    #[arg(short = 'P', long, num_args = 3, value_names = ["NAME", "MIN", "MAX"])]
    #[arg(allow_hyphen_values = true, conflicts_with = RESUME)]
    pub parameter_scan: Vec<String>,
    /// Step of -P [default: 1]
    #[arg(short = 'D', long, value_name = "STEP", requires = "parameter_scan")]
    #[arg(allow_hyphen_values = true, conflicts_with = RESUME)]
    pub parameter_step_size: Vec<String>,
    /// Replace {NAME} by every value of a list
    #[arg(short = 'L', long, num_args = 2, value_names = ["NAME", "A,B,.."])]
    #[arg(allow_hyphen_values = true, conflicts_with = RESUME)]
    pub parameter_list: Vec<String>,
    /// Find a figure in the output of the commands: a group of this regular expression, whose name
    /// it gets, or the whole match; the last match counts
    #[arg(long, value_name = "REGEX", allow_hyphen_values = true, conflicts_with = RESUME)]
    pub metric: Vec<String>,
    /// Unit of the figure of --metric
    #[arg(long, value_name = "UNIT", requires = "metric", conflicts_with = RESUME)]
    pub unit: Vec<String>,
    /// Better direction of --metric: lower or higher [default: lower]
    #[arg(long, value_name = "WAY", requires = "metric", value_parser = values::better)]
    #[arg(conflicts_with = RESUME)]
    pub better: Vec<Better>,
    /// Metric that decides the verdict [default: the first --metric, else wall_s]
    #[arg(long, value_name = "METRIC", conflicts_with = RESUME)]
    pub primary: Option<String>,
    /// Require the same output from all commands; a difference ends the comparison
    #[arg(long, conflicts_with = RESUME)]
    pub same_output: bool,
    /// Run both commands at once, each on a core of its own, and swap the cores in every block:
    /// sharper beside other work. Refused where planted changes do not come out right
    #[arg(long, conflicts_with_all = ["metric", "same_output", "show_output", RESUME])]
    pub duet: bool,
    /// Conditions under which it ends.
    #[command(flatten)]
    pub enough: Enough,
    /// Run the commands by this shell, sh if none is named; `none` forbids it [default: sh, for all
    /// commands, if one of them needs a shell]
    #[arg(short = 'S', long, value_name = "SHELL", conflicts_with = RESUME)]
    #[arg(num_args = 0..=1, default_missing_value = "default", value_parser = values::shell)]
    pub shell: Option<Shell>,
    /// Run the commands without a shell, as --shell=none
    #[arg(short = 'N', conflicts_with_all = ["shell", RESUME])]
    pub no_shell: bool,
    /// File to use as the standard input of the commands; `null` is empty
    #[arg(long, value_name = "FILE", default_value = "null", value_parser = values::input)]
    #[arg(conflicts_with = RESUME)]
    pub input: PathBuf,
    /// Destination of the commands' standard output: null, pipe (read and discarded), inherit or a
    /// file; once for all, or once for each [default: null]
    #[arg(long, value_name = "WHERE", value_parser = values::output)]
    #[arg(conflicts_with_all = ["metric", "same_output", RESUME])]
    pub output: Vec<Output>,
    /// Show the output of the commands, as --output inherit
    #[arg(long, conflicts_with_all = ["output", "metric", "same_output", RESUME])]
    pub show_output: bool,
    /// Stop a command that takes longer, as failed [default: no limit]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_hyphen_values = true)]
    #[arg(conflicts_with = RESUME)]
    pub timeout: Option<f64>,
    /// Count runs that end with an exit code other than 0, or by a signal; with CODES only those
    #[arg(short, long, value_name = "CODES", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "all-non-zero", value_parser = values::ignored)]
    #[arg(conflicts_with = RESUME)]
    pub ignore_failure: Option<Ignored>,
    /// Seed of the order of the commands in every block [default: a random one]
    #[arg(long, value_name = "S", conflicts_with = RESUME)]
    pub seed: Option<u64>,
    /// Margin: a difference within this many per cent does not matter [default: 1, of memory 2, of
    /// counts 0.1]
    #[arg(long, value_name = "PCT", value_parser = percent, allow_hyphen_values = true)]
    #[arg(conflicts_with = RESUME)]
    pub margin: Option<f64>,
    /// Counters besides the system's own figures of every process; `auto` counts instructions if
    /// times give no verdict
    #[arg(long, value_name = "WHICH", conflicts_with = RESUME)]
    pub counters: Option<Counters>,
    /// Name the functions behind a difference: count the instructions of every function by
    /// callgrind, after the blocks
    #[arg(long, conflicts_with = RESUME)]
    pub why: bool,
    /// Resume a comparison that was interrupted or killed; a prefix of its name is enough
    #[arg(long, value_name = "ID", conflicts_with = "on")]
    pub resume: Option<String>,
    /// Words for the record.
    #[command(flatten)]
    pub marks: Marks,
    /// Exit with 3 if a command gets this verdict in the primary metric
    #[arg(long, value_name = "VERDICT", value_delimiter = ',')]
    pub fail_on: Vec<FailOn>,
    /// Options with another name here.
    #[command(flatten)]
    pub other_names: OtherNames,
    /// Source and destinations of the result.
    #[command(flatten)]
    pub showing: Showing,
    /// Exports in another tool's formats.
    #[command(flatten)]
    pub exports: Exports,
    /// Place of measurement.
    #[command(flatten)]
    pub place: Where,
}

const EXAMPLES: &str = "\
Examples:
  furlong compare 'sort big.txt'
  furlong compare 'sort big.txt' 'sort --parallel=1 big.txt'
  furlong compare --names old,new --warmup 1 ./server-old ./server-new
  furlong compare --prepare 'sync' --input data.json 'jq .' 'gojq .'
  furlong compare --counters callgrind ./a.out ./b.out
  furlong compare -P jobs 1 8 -D 7 'xz -T{jobs} -c big' --until 0.5
  furlong compare -L level 1,9 --setup 'cp big copy' 'gzip -{level} -c copy' 'zstd -{level} -c copy'
  furlong compare --metric '(?<mb_per_s>[0-9.]+) MB/s' --unit MB/s --better higher './io a' './io b'
  furlong compare --blocks 6 --prepare 'make clean' 'make -j8' 'make -j16'";

/// Compares the commands, or resumes a comparison.
///
/// # Errors
///
/// Bad input, before anything is measured; afterwards a failed command or another failure.
pub fn run(args: &Args) -> Result<ExitCode, Error> {
    let sides = Sides {
        commands: args.commands.clone(),
        ..Sides::default()
    };
    compare(&sides, &args.how)
}

/// Compares two sides, or resumes a comparison.
pub(super) fn compare(sides: &Sides, how: &How) -> Result<ExitCode, Error> {
    let settings = Settings::of_here()?;
    let mut options = how.showing.options(&settings, &how.fail_on);
    options.targets.exports = how.exports.clone();
    options.targets.check()?;
    how.prepare_terminal(&mut options)?;
    how.place.check()?;
    if how.place.nodes.on == On::Slurm {
        let schedule = how.schedule(sides, &settings)?;
        if sides.suite.is_none() {
            Subject::of(&schedule)?.patterns()?;
        }
        return submit(&how.place, schedule, how.marks.words(&settings), options);
    }
    measure(
        how.resume.as_deref(),
        options,
        how.marks.words(&settings),
        || how.schedule(sides, &settings),
    )
}

impl How {
    /// The amount of messages before the comparison.
    pub(super) fn voice(&self) -> Voice {
        match self.showing.talk.quiet {
            true => Voice::Quiet,
            false => Voice::Normal,
        }
    }

    /// Leaves the terminal to the commands if they print there.
    fn prepare_terminal(&self, options: &mut Options<'_>) -> Result<(), Error> {
        if !self.outputs().contains(&Output::Inherit) {
            return Ok(());
        }
        if options.targets.uses_stdout() {
            return Err(Error::usage(
                "the commands print to standard output, and so does a report: write that to a file",
            ));
        }
        if options.voice == Voice::Normal {
            options.voice = Voice::Steady;
        }
        Ok(())
    }

    fn outputs(&self) -> Vec<Output> {
        match self.show_output {
            true => vec![Output::Inherit],
            false => self.output.clone(),
        }
    }

    fn schedule(&self, sides: &Sides, settings: &Settings) -> Result<Schedule, Error> {
        if sides.facts.contains_key(LAYOUTS) && self.enough.until.is_some() {
            let why = "--until asks for more blocks, and --layouts decides by layouts: leave one \
                       of them out";
            return Err(Error::usage(why));
        }
        let counters = self.counters.or(settings.counters).unwrap_or_default();
        if let Some(suite) = &sides.suite {
            duet::refuse_if(self.duet, "benchmarks")?;
            return self.schedule_of(suite, sides, settings);
        }
        let mut subject = self.subject(sides, counters)?;
        let filled = subject.filled()?;
        let names = match filled.first() {
            Some(first) => self.names.arms(first, &sides.names)?,
            None => vec![],
        };
        let usual = match (&names[..], self.place.nodes.on) {
            (_, On::Slurm) => Usual::Fleet,
            ([_], _) => Usual::Alone,
            _ => Usual::Answer,
        };
        let (blocks, rule) = self.amount.rule(settings, &self.enough, usual)?;
        subject.duet = self.processors(&subject, names.len())?;
        let metrics = self.metrics(&subject, counters)?;
        let workloads = filled.iter().map(|one| {
            let mut scheduled = self.scheduled(one, &names, blocks);
            scheduled.facts.extend(sides.facts.clone());
            let duet = subject.duet.map(|processors| json!(processors));
            scheduled
                .facts
                .extend(duet.map(|fact| (DUET.to_owned(), fact)));
            self.enough.note(&mut scheduled, rule);
            self.amount.note(&mut scheduled, settings, usual);
            scheduled
        });
        let comparison = self.name.as_ref().or(sides.comparison.as_ref()).cloned();
        // Their times are those of two commands at once, so they have a history of their own.
        let duet = if self.duet { " at once" } else { "" };
        let comparison = comparison.unwrap_or_else(|| name_of(&subject.commands) + duet);
        let entry = ScheduledExperiment {
            name: COMPARE.to_owned(),
            comparison: Some(comparison),
            question: names::question(&subject.commands, &names, &metrics),
            metrics,
            workloads: workloads.collect(),
            arms: names.iter().map(|name| name.text.clone()).collect(),
            exact_operations: 1,
            ..ScheduledExperiment::default()
        };
        self.planned(settings, counters, entry, &subject)
    }

    /// Returns the metrics, the primary one first.
    fn metrics(&self, subject: &Subject, counters: Counters) -> Result<Vec<MetricPlan>, Error> {
        let mut metrics = subject.metrics()?;
        let Some(primary) = &self.primary else {
            return Ok(metrics);
        };
        let mut all = metrics.clone();
        if matches!(counters, Counters::Callgrind | Counters::Cachesim) {
            all.extend(metrics_of_commands(counters == Counters::Cachesim));
        }
        let first = named("metric", primary, &all, |metric| &metric.name)?;
        metrics.retain(|metric| metric.name != *primary);
        metrics.insert(0, first.clone());
        Ok(metrics)
    }

    fn subject(&self, sides: &Sides, counters: Counters) -> Result<Subject, Error> {
        let (counted, missing) = counted(counters)?;
        for note in &missing {
            Voice::Normal.warn(note);
        }
        let reference = self.names.reference.iter();
        let ignored = self.ignore_failure.as_ref();
        Ok(Subject {
            commands: reference.chain(&sides.commands).cloned().collect(),
            programs: vec![],
            began_in: None,
            folders: sides.folders.clone(),
            layouts: sides.layouts,
            reference: self.names.reference.is_some(),
            shell: match self.no_shell {
                true => Shell::Never,
                false => self.shell.clone().unwrap_or(Shell::AsNeeded),
            },
            prepare: self.prepare.clone(),
            conclude: self.conclude.clone(),
            outputs: self.outputs(),
            setup: self.setup.clone(),
            cleanup: self.cleanup.clone(),
            warmup: self.amount.warmup,
            input: subject::input(&self.input)?,
            ignore_failure: ignored.is_some(),
            ignored_codes: ignored.map_or(vec![], |ignored| ignored.codes.clone()),
            parameters: self.parameters().map_err(Error::usage)?,
            printed: self.printed()?,
            counted,
            same_output: self.same_output,
            duet: None,
            count_if_undecided: self.counters == Some(Counters::Auto),
            why: self.why(sides)?,
        }
        .with_programs())
    }

    /// Returns when the functions behind a difference are named. Two revisions of a program always
    /// have functions to compare, if valgrind is there.
    pub(super) fn why(&self, sides: &Sides) -> Result<Option<When>, Error> {
        if self.why {
            callgrind()?;
            return Ok(Some(When::After));
        }
        let revisions = sides.suite.is_some() || !sides.folders.is_empty();
        Ok((revisions && callgrind().is_ok()).then_some(When::IfDifferent))
    }

    fn parameters(&self) -> Result<Vec<Parameter>, String> {
        let (scans, _) = self.parameter_scan.as_chunks::<3>();
        let (lists, _) = self.parameter_list.as_chunks::<2>();
        let steps = &self.parameter_step_size;
        if steps.len() > scans.len() {
            return Err(
                "there are more steps (-D) than ranges (-P): give at most one step per range"
                    .to_owned(),
            );
        }
        let mut parameters = vec![];
        for (place, [name, min, max]) in scans.iter().enumerate() {
            // A single step applies to all ranges.
            let step = steps
                .get(place)
                .or(steps.first().filter(|_| steps.len() == 1));
            parameters.push(Parameter::range(name, min, max, step.map(String::as_str))?);
        }
        for [name, values] in lists {
            parameters.push(Parameter::list(name, values)?);
        }
        Ok(parameters)
    }

    fn printed(&self) -> Result<Vec<Printed>, Error> {
        let metrics = self.metric.len();
        for (option, count) in [("--unit", self.unit.len()), ("--better", self.better.len())] {
            if count > metrics {
                return Err(Error::usage(format!(
                    "{option} is given {count} times for {metrics} --metric: give one per metric"
                )));
            }
        }
        let printed = |(place, regex): (usize, &String)| Printed {
            regex: regex.clone(),
            unit: self.unit.get(place).cloned().unwrap_or("1".to_owned()),
            better: self.better.get(place).copied().unwrap_or(Better::Lower),
        };
        Ok(self.metric.iter().enumerate().map(printed).collect())
    }

    /// Returns a workload for the schedule.
    fn scheduled(&self, filled: &Filled, names: &[Name], blocks: u32) -> ScheduledWorkload {
        let (mut facts, mut commands, mut swept) = (BTreeMap::new(), Map::new(), Map::new());
        for (place, (arm, name)) in filled.arms.iter().zip(names).enumerate() {
            let fact = CommandFact {
                command: arm.command.clone(),
                named: name.is_given,
                reference: place == 0 && self.names.reference.is_some(),
            };
            commands.insert(name.text.clone(), json!(fact));
            if !arm.setting.is_empty() {
                let setting: BTreeMap<_, _> = arm.setting.iter().cloned().collect();
                swept.insert(name.text.clone(), json!(setting));
            }
        }
        facts.insert(COMMANDS.to_owned(), Value::Object(commands));
        if !swept.is_empty() {
            facts.insert(PARAMETERS.to_owned(), Value::Object(swept));
        }
        if self.ignore_failure.is_some() {
            facts.insert(IGNORE_FAILURE.to_owned(), json!(true));
        }
        ScheduledWorkload {
            workload: Workload {
                name: filled.workload.clone(),
                about: "one run of each command".to_owned(),
                quick: true,
                ..Workload::default()
            },
            blocks,
            batch: Batch::Operations(1),
            na: BTreeMap::new(),
            facts,
        }
    }
}
