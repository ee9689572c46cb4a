//! `furlong compare`: any commands, from their command lines to a verdict.
#![forbid(unsafe_code)]

mod names;
mod subject;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::rc::Rc;

use serde_json::{Map, Value, json};

use super::enough::Enough;
use crate::error::Error;
use crate::fleet::{On, Where, submit};
use crate::measure::campaign::End;
use crate::measure::commands::comparison::Timed;
use crate::measure::commands::parameter::Parameter;
use crate::measure::commands::pattern::Printed;
use crate::measure::interrupt::Interrupt;
use crate::measure::launch::command::Shell;
use crate::measure::sampler::{Pass, Sampler};
use crate::model::Counters;
use crate::model::result::Better;
use crate::model::schedule::{Batch, Schedule, ScheduledExperiment, ScheduledWorkload};
use crate::model::{Profile, Workload};
use crate::options::Settings;
use crate::options::{FailOn, Marks, RESUME, Showing, percent, seconds};
use crate::publish;
use crate::session::{Session, new_seed};
use crate::talk::Voice;
use furlong_stats::stopping::Stopping;
use furlong_stats::verdict::BLOCKS_MIN;
use subject::{Filled, Ready, Subject, counted};

/// Name of the experiment.
const EXPERIMENT: &str = "compare";

/// Default number of blocks on a fleet.
const BLOCKS: u32 = 10;

/// Default seconds of a comparison.
const ANSWER_S: f64 = 30.0;

/// Most blocks of a comparison without a number of them.
const ANSWER_BLOCKS: u32 = 5000;

/// Fact about a workload: a sweep's values for its commands, by arm.
const PARAMETERS: &str = "parameters";

/// Fact about a workload whose commands may fail.
const IGNORE_FAILURE: &str = "ignore_failure";

/// Commands to compare, the amount of measuring, and the destinations of the result.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Two or more commands, or one with a parameter; the first is the baseline of the others
    #[arg(value_name = "COMMAND", conflicts_with = RESUME)]
    pub commands: Vec<String>,
    /// A name for each command [default: the command itself]
    #[arg(short, long, value_name = "A,B,..", value_delimiter = ',', conflicts_with = RESUME)]
    pub names: Vec<String>,
    /// Runs of each command, or their maximum; a verdict needs 6 [default: until the verdict is
    /// certain, for at most 30 s or 6 runs; with --early at most 30, with --until at most 1000]
    #[arg(long, visible_alias = "runs", value_name = "N", conflicts_with = RESUME)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub blocks: Option<u32>,
    /// Run each command this many times before the first run that counts
    #[arg(short, long, value_name = "N", default_value_t = 0, conflicts_with = RESUME)]
    pub warmup: u32,
    /// Run this (by sh) before every run of a command; once for all, or once for each
    #[arg(short, long, value_name = "COMMAND", conflicts_with = RESUME)]
    pub prepare: Vec<String>,
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
    /// it gets, or the whole match; the last match counts, and the first --metric decides the
    /// verdict
    #[arg(short, long, value_name = "REGEX", allow_hyphen_values = true, conflicts_with = RESUME)]
    pub metric: Vec<String>,
    /// Unit of the figure of --metric
    #[arg(long, value_name = "UNIT", requires = "metric", conflicts_with = RESUME)]
    pub unit: Vec<String>,
    /// Better direction of --metric: lower or higher [default: lower]
    #[arg(long, value_name = "WAY", requires = "metric", value_parser = better)]
    #[arg(conflicts_with = RESUME)]
    pub better: Vec<Better>,
    /// Require the same output from all commands; a difference ends the comparison
    #[arg(long, conflicts_with = RESUME)]
    pub same_output: bool,
    /// Conditions under which it ends.
    #[command(flatten)]
    pub enough: Enough,
    /// Run the commands by a shell, sh if none is named; `none` forbids it [default: sh, for all
    /// commands, if one of them needs a shell]
    #[arg(short = 'S', long, value_name = "SHELL", conflicts_with = RESUME)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "sh")]
    pub shell: Option<String>,
    /// File to use as the standard input of the commands
    #[arg(long, value_name = "FILE", default_value = "/dev/null", conflicts_with = RESUME)]
    pub input: PathBuf,
    /// Stop a command that takes longer, as failed [default: no limit]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_hyphen_values = true)]
    pub timeout: Option<f64>,
    /// Count runs that end with an exit code other than 0, or by a signal
    #[arg(short, long, conflicts_with = RESUME)]
    pub ignore_failure: bool,
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
    /// Resume a comparison that was interrupted or killed; a prefix of its name is enough
    #[arg(long, value_name = "ID")]
    pub resume: Option<String>,
    /// Words for the record.
    #[command(flatten)]
    pub marks: Marks,
    /// Exit with 3 if a command gets this verdict in wall time, or in the first --metric
    #[arg(long, value_name = "VERDICT", value_delimiter = ',')]
    pub fail_on: Vec<FailOn>,
    /// Source and destinations of the result.
    #[command(flatten)]
    pub showing: Showing,
    /// Place of measurement.
    #[command(flatten)]
    pub place: Where,
}

const EXAMPLES: &str = "\
Examples:
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
    let settings = Settings::of_here()?;
    let options = args.showing.options(&settings, &args.fail_on);
    publish::check(&options.targets)?;
    let voice = options.voice;
    args.place.check()?;
    if args.place.on == On::Slurm {
        let schedule = args.schedule(&settings)?;
        Subject::of(&schedule)?.patterns()?;
        return submit(&args.place, schedule, args.marks.words(&settings), options);
    }
    let interrupt = Interrupt::listen()?;
    let (session, ready) = match &args.resume {
        Some(id) => {
            let mut made = None;
            let session = Session::resume(id, options, |schedule| {
                made = Some(Ready::new(schedule, &interrupt)?);
                Ok(())
            })?;
            (session, made)
        }
        None => {
            let schedule = args.schedule(&settings)?;
            let ready = Ready::new(&schedule, &interrupt)?;
            if let Some(note) = &ready.note {
                voice.note(note);
            }
            if let Some(limit) = limit(&schedule) {
                voice.note(&limit);
            }
            let (tag, note) = args.marks.words(&settings);
            (Session::begin(schedule, tag, note, options)?, Some(ready))
        }
    };
    let ready = ready.ok_or_else(|| Error::failed("the stored run was not checked"))?;
    let comparison = Rc::clone(&ready.comparison);
    let ended = session.measure(&mut Timed(ready.comparison), ready.passes, &interrupt);
    for failure in comparison.leave() {
        voice.warn(&failure);
    }
    ended
}

/// Calls `work` with a sampler and passes for the commands of a schedule, then cleans up.
///
/// # Errors
///
/// Something that they need is missing.
pub(crate) fn at_work(
    schedule: &Schedule,
    interrupt: &Interrupt,
    work: impl FnOnce(&mut dyn Sampler, Vec<Pass<'static>>) -> End,
) -> Result<End, Error> {
    let ready = Ready::new(schedule, interrupt)?;
    let comparison = Rc::clone(&ready.comparison);
    let end = work(&mut Timed(ready.comparison), ready.passes);
    for failure in comparison.leave() {
        Voice::Normal.warn(&failure);
    }
    Ok(end)
}

/// Returns the longest time that the comparison takes, if its commands have no number of runs.
fn limit(schedule: &Schedule) -> Option<String> {
    let workloads = &schedule.experiments.first()?.workloads;
    let Stopping::Answer { limit_s } = workloads.first()?.stopping() else {
        return None;
    };
    let each = match workloads.len() {
        1 => String::new(),
        many => format!(" for each of {many} settings"),
    };
    Some(format!(
        "at most {limit_s} s or {BLOCKS_MIN} blocks{each}; ends when the verdict is certain"
    ))
}

/// Parses `lower` or `higher`.
fn better(text: &str) -> Result<Better, String> {
    match text {
        "lower" => Ok(Better::Lower),
        "higher" => Ok(Better::Higher),
        _ => Err("give lower or higher".to_owned()),
    }
}

impl Args {
    fn schedule(&self, settings: &Settings) -> Result<Schedule, Error> {
        let counters = self.counters.or(settings.counters).unwrap_or_default();
        let subject = self.subject(counters)?;
        let filled = subject.filled()?;
        let arms = filled.first().map_or(&[][..], |one| &one.arms);
        let suggested: Vec<String> = arms.iter().map(|arm| arm.suggested.clone()).collect();
        let names = names::arms(&suggested, &self.names)?;
        let blocks = self.blocks.or(settings.blocks);
        let blocks = blocks.or(self.enough.customary_blocks());
        let (blocks, rule) = match blocks {
            Some(blocks) => (blocks, self.enough.rule(blocks)),
            None if self.place.on == On::Slurm => (BLOCKS, Stopping::Planned),
            None => {
                let limit_s = self.enough.max_time.unwrap_or(ANSWER_S);
                (ANSWER_BLOCKS, Stopping::Answer { limit_s })
            }
        };
        let listed: Vec<String> = match &self.commands[..] {
            [one] => vec![format!("`{one}`: {}", names.join(" or "))],
            all => {
                let pairs = names.iter().zip(all);
                let told = pairs.map(|(name, command)| names::told(name, command));
                vec![told.collect::<Vec<_>>().join(" or ")]
            }
        };
        let word = if self.metric.is_empty() {
            "faster"
        } else {
            "better"
        };
        let workloads = filled
            .iter()
            .map(|one| self.scheduled(one, &names, blocks, rule));
        let entry = ScheduledExperiment {
            name: EXPERIMENT.to_owned(),
            question: format!("Which is {word}: {}?", listed.concat()),
            metrics: subject.metrics()?,
            workloads: workloads.collect(),
            arms: names.clone(),
            uncounted: vec![],
            exact_operations: 1,
            left_out: vec![],
        };
        Ok(Schedule {
            profile: Profile::Quick,
            seed: self.seed.or(settings.seed).map_or_else(new_seed, Ok)?,
            margin_pct: self.margin.or(settings.margin),
            timeout_s: self.timeout.or(settings.timeout),
            counters,
            experiments: vec![entry],
            subject: serde_json::to_value(subject)
                .map_err(|error| Error::failed(format!("cannot keep the commands: {error}")))?,
        })
    }

    fn subject(&self, counters: Counters) -> Result<Subject, Error> {
        let (counted, missing) = counted(counters)?;
        for note in &missing {
            Voice::Normal.warn(note);
        }
        Ok(Subject {
            commands: self.commands.clone(),
            shell: match self.shell.as_deref() {
                None => Shell::AsNeeded,
                Some("none") => Shell::Never,
                Some(shell) => Shell::Always(shell.to_owned()),
            },
            prepare: self.prepare.clone(),
            setup: self.setup.clone(),
            cleanup: self.cleanup.clone(),
            warmup: self.warmup,
            input: self.input.clone(),
            ignore_failure: self.ignore_failure,
            parameters: self.parameters().map_err(Error::usage)?,
            printed: self.printed()?,
            counted,
            same_output: self.same_output,
            count_if_undecided: self.counters == Some(Counters::Auto),
        })
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
    fn scheduled(
        &self,
        filled: &Filled,
        names: &[String],
        blocks: u32,
        rule: Stopping,
    ) -> ScheduledWorkload {
        let mut facts = BTreeMap::new();
        let swept: Map<String, Value> = filled
            .arms
            .iter()
            .zip(names)
            .filter(|(arm, _)| !arm.setting.is_empty())
            .map(|(arm, name)| (name.clone(), arm.setting.iter().cloned().collect()))
            .collect();
        if !swept.is_empty() {
            facts.insert(PARAMETERS.to_owned(), Value::Object(swept));
        }
        if self.ignore_failure {
            facts.insert(IGNORE_FAILURE.to_owned(), json!(true));
        }
        let mut scheduled = ScheduledWorkload {
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
        };
        self.enough.note(&mut scheduled, rule);
        scheduled
    }
}
