//! The subject of a comparison: the commands with everything that belongs to them, as stored with
//! the run and as executed.

use std::env;
use std::fs::{self, File};
use std::io::IsTerminal as _;
use std::iter;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::How;
use crate::error::{Error, cause};
use crate::hash::fingerprint;
use crate::measure::commands::comparison::{CommandArm, CommandWorkload};
use crate::measure::commands::parameter::{Parameter, Setting, combinations, fill, label, takes};
use crate::measure::commands::pattern::{Pattern, Printed};
use crate::measure::counters;
use crate::measure::launch::command::{self, Command, Commands, Shell, in_shell};
use crate::measure::launch::launcher::Output;
use crate::measure::launch::pmu::{self, Event};
use crate::measure::layouts::view;
use crate::measure::sampler::When;
use crate::model::schedule::{Schedule, ScheduledExperiment};
use crate::model::{Counters, MetricPlan, Profile};
use crate::options::Settings;
use crate::session::new_seed;

/// Name of the only workload, if there is no sweep over several commands.
const WORKLOAD: &str = "commands";

/// Data that a resumed comparison needs besides the schedule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Subject {
    /// Commands, the reference first, if there is one.
    pub(super) commands: Vec<String>,
    /// Fingerprints of their programs' files, as far as they are known: a run must not mix figures
    /// of two programs.
    #[serde(default)]
    pub(super) programs: Vec<Option<u64>>,
    /// The folder in which the run began, whose files the commands may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) began_in: Option<PathBuf>,
    /// The folder in which each command runs: none, or as many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) folders: Vec<PathBuf>,
    /// Code layouts of each folder, which has a view for each; 0 for the folder itself.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) layouts: u32,
    /// True if the first command is a reference: it does not take part in a sweep.
    #[serde(default)]
    pub(super) reference: bool,
    pub(super) shell: Shell,
    /// Preparations: none, one for all commands, or one per command.
    pub(super) prepare: Vec<String>,
    /// Commands to run after each run: as many.
    #[serde(default)]
    pub(super) conclude: Vec<String>,
    /// Destinations of the commands' standard output: as many.
    #[serde(default)]
    pub(super) outputs: Vec<Output>,
    pub(super) setup: Option<String>,
    pub(super) cleanup: Option<String>,
    pub(super) warmup: u32,
    pub(super) input: PathBuf,
    pub(super) ignore_failure: bool,
    /// The codes whose runs count, if not all of them.
    #[serde(default)]
    pub(super) ignored_codes: Vec<u8>,
    pub(super) parameters: Vec<Parameter>,
    pub(super) printed: Vec<Printed>,
    /// Metrics from the counters of processor and kernel.
    pub(super) counted: Vec<String>,
    pub(super) same_output: bool,
    /// The processors of two commands that run at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) duet: Option<[usize; 2]>,
    /// Instructions are counted if times give no verdict.
    #[serde(default)]
    pub(super) count_if_undecided: bool,
    /// When the functions behind a difference are named.
    #[serde(default)]
    pub(super) why: Option<When>,
}

/// The commands of one workload with all parameters filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Filled {
    /// Name of the workload.
    pub(super) workload: String,
    /// Arms, the baseline first.
    pub(super) arms: Vec<FilledArm>,
}

/// One command of a workload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FilledArm {
    /// Default name of the arm.
    pub(super) suggested: String,
    /// Values from a sweep.
    pub(super) setting: Setting,
    /// Command to run.
    pub(super) command: String,
    /// Folder in which it runs.
    pub(super) folder: Option<PathBuf>,
    /// Command to run before each run.
    pub(super) prepare: Option<String>,
    /// Command to run after each run.
    pub(super) conclude: Option<String>,
    /// Destination of its standard output.
    pub(super) output: Output,
}

// Serde passes a reference.
fn is_zero(layouts: &u32) -> bool {
    *layouts == 0
}

/// Returns the item of a command from a list with one for all, or one per command.
fn of_command<T>(list: &[T], place: usize) -> Option<&T> {
    list.get(place).or(list.first())
}

/// Returns the real path of the commands' input, which every run opens anew: a name such as
/// `/dev/stdin` is another file in each process, and a pipe is empty after the first.
pub(super) fn input(named: &Path) -> Result<PathBuf, Error> {
    let cannot = |error: &std::io::Error| {
        let (input, why) = (named.display(), cause(error));
        Error::usage(format!("--input {input} cannot be read: {why}"))
    };
    let kind = fs::metadata(named).map_err(|error| cannot(&error))?;
    let real = fs::canonicalize(named).map_err(|error| cannot(&error))?;
    let kind = kind.file_type();
    let is_device = kind.is_block_device() || kind.is_char_device() && !is_terminal(named);
    if kind.is_dir() {
        let named = named.display();
        return Err(Error::usage(format!(
            "--input {named} cannot be read: it is a directory"
        )));
    }
    if !kind.is_file() && !is_device {
        return Err(Error::usage(format!(
            "--input {} can be read only once, and every run reads it: write it to a file first",
            named.display()
        )));
    }
    File::open(&real).map_err(|error| cannot(&error))?;
    Ok(real)
}

fn is_terminal(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| file.is_terminal())
}

/// The fingerprint of the file of the program that a command names first, if that is a file.
fn program(command: &str, folder: Option<&Path>) -> Option<u64> {
    let is_setting = |word: &&str| {
        let name = word.split_once('=').map(|(name, _)| name);
        name.is_some_and(|name| name.chars().all(|one| one.is_alphanumeric() || one == '_'))
    };
    let mut words = command.split_whitespace().skip_while(is_setting);
    let word = words.next()?.trim_matches(['"', '\'']);
    let path = match folder {
        Some(folder) if word.contains('/') => folder.join(word),
        _ => command::find(word).ok()?,
    };
    fingerprint(File::open(path).ok()?).ok()
}

impl Subject {
    /// Notes the programs of its commands.
    pub(super) fn with_programs(self) -> Self {
        let programs = self.programs_now();
        let began_in = env::current_dir().ok();
        // A record is text, and the folders of revisions are their own.
        let is_kept = |folder: &PathBuf| self.folders.is_empty() && folder.to_str().is_some();
        let began_in = began_in.filter(is_kept);
        Self {
            programs,
            began_in,
            ..self
        }
    }

    fn programs_now(&self) -> Vec<Option<u64>> {
        let filled = self.filled().unwrap_or_default();
        let arms = filled.iter().flat_map(|workload| &workload.arms);
        let programs = arms.map(|arm| program(&arm.command, arm.folder.as_deref()));
        programs.collect()
    }

    /// Checks that this is the folder in which the run began.
    ///
    /// # Errors
    ///
    /// It is another one.
    pub(super) fn check_folder(&self) -> Result<(), Error> {
        match &self.began_in {
            Some(folder) if env::current_dir().ok().as_ref() != Some(folder) => {
                let folder = folder.display();
                Err(Error::usage(format!(
                    "this run began in {folder}, whose files its commands may use: resume it there"
                )))
            }
            _ => Ok(()),
        }
    }

    /// Checks that the programs that the commands name first are those of which figures are
    /// stored, unless a preparation may make them anew.
    ///
    /// # Errors
    ///
    /// A program has changed since.
    pub(super) fn check_programs(&self) -> Result<(), Error> {
        if self.setup.is_some() || !self.prepare.is_empty() {
            return Ok(());
        }
        let mut pairs = self.programs.iter().zip(self.programs_now());
        match pairs.any(|(then, now)| then.is_some() && *then != now) {
            false => Ok(()),
            true => Err(Error::usage(
                "this run cannot be resumed: a program of its commands is another one than when it \
                 began: begin a new run",
            )),
        }
    }

    /// Reads the subject of a schedule.
    pub(super) fn of(schedule: &Schedule) -> Result<Self, Error> {
        if schedule.subject.is_null() {
            return Err(Error::usage(
                "this run was started by `furlong run`: resume it with that command",
            ));
        }
        serde_json::from_value(schedule.subject.clone())
            .map_err(|error| Error::usage(format!("the stored commands cannot be read: {error}")))
    }

    /// Returns the workloads. With a single command besides the reference, the settings of a sweep
    /// are the arms; else each setting is a workload.
    pub(super) fn filled(&self) -> Result<Vec<Filled>, Error> {
        self.check()?;
        let settings = combinations(&self.parameters).map_err(Error::usage)?;
        let arm = |place: usize, setting: &Setting, suggested: String| FilledArm {
            suggested,
            setting: setting.clone(),
            command: fill(&self.commands[place], setting),
            folder: self.folders.get(place).cloned(),
            prepare: of_command(&self.prepare, place).map(|text| fill(text, setting)),
            conclude: of_command(&self.conclude, place).map(|text| fill(text, setting)),
            output: of_command(&self.outputs, place)
                .cloned()
                .unwrap_or_default(),
        };
        let first = usize::from(self.reference);
        if self.commands.len() == first + 1 && !self.parameters.is_empty() {
            let reference = self.commands[..first].iter();
            let reference = reference.map(|text| arm(0, &Setting::new(), text.clone()));
            let settings = settings.iter();
            let swept = settings.map(|setting| arm(first, setting, label(setting)));
            return Ok(vec![Filled {
                workload: WORKLOAD.to_owned(),
                arms: reference.chain(swept).collect(),
            }]);
        }
        let workload = |setting: &Setting| {
            let commands = self.commands.iter().enumerate();
            Filled {
                workload: if setting.is_empty() {
                    WORKLOAD.to_owned()
                } else {
                    label(setting)
                },
                arms: commands
                    .map(|(place, text)| arm(place, setting, text.clone()))
                    .collect(),
            }
        };
        Ok(settings.iter().map(workload).collect())
    }

    fn check(&self) -> Result<(), Error> {
        let commands = self.commands.len();
        if commands == usize::from(self.reference) {
            return Err(Error::usage(
                "give a command in quotes, or several to compare; the same one twice shows the \
                 noise",
            ));
        }
        let repeated = [
            ("--prepare", self.prepare.len()),
            ("--conclude", self.conclude.len()),
            ("--output", self.outputs.len()),
        ];
        for (option, given) in repeated {
            if given > 1 && given != commands {
                return Err(Error::usage(format!(
                    "{option} is given {given} times for {commands} commands: give one for all, \
                     or one per command"
                )));
            }
        }
        let texts = || {
            let steps = [&self.prepare, &self.conclude].into_iter().flatten();
            let once = self.setup.iter().chain(&self.cleanup);
            self.commands.iter().chain(steps).chain(once)
        };
        let unused = |parameter: &&Parameter| !texts().any(|text| takes(text, &parameter.name));
        if let Some(Parameter { name, .. }) = self.parameters.iter().find(unused) {
            return Err(Error::usage(format!(
                "no command contains {{{name}}}: write it in the place of the value"
            )));
        }
        Ok(())
    }

    /// Returns the figures to find in the output of the commands.
    pub(super) fn patterns(&self) -> Result<Vec<Pattern>, Error> {
        let code = self.ignore_failure.then(command::exit_code);
        let own = command::metrics().into_iter().chain(code);
        let mut known: Vec<String> = own.map(|metric| metric.name).collect();
        let mut patterns = vec![];
        for printed in &self.printed {
            let mut pattern = Pattern::new(printed).map_err(Error::usage)?;
            let name = pattern.metric.name.clone();
            if known.contains(&name) && name != "value" {
                return Err(Error::usage(format!(
                    "--metric `{}`: {name} is measured already: give the group another name",
                    printed.regex
                )));
            }
            let mut names = (2..).map(|copy| format!("{name}_{copy}"));
            if known.contains(&name) {
                pattern.metric.name = names.find(|name| !known.contains(name)).unwrap_or(name);
            }
            known.push(pattern.metric.name.clone());
            patterns.push(pattern);
        }
        Ok(patterns)
    }

    /// Returns the metrics of every sample. Printed figures come first, so they decide.
    pub(super) fn metrics(&self) -> Result<Vec<MetricPlan>, Error> {
        let printed = self.patterns()?.into_iter().map(|pattern| pattern.metric);
        let counted = self.events()?.into_iter().map(Event::plan);
        let code = self.ignore_failure.then(command::exit_code);
        let always = command::metrics();
        Ok(printed.chain(always).chain(counted).chain(code).collect())
    }

    /// Returns the counters to read for every sample; all of them must be available.
    pub(super) fn events(&self) -> Result<Vec<&'static Event>, Error> {
        let event = |metric: &String| {
            let event = pmu::event(metric);
            let event = event.ok_or_else(|| {
                Error::usage(format!(
                    "the stored run counted {metric}, which is unknown here"
                ))
            })?;
            match event.missing() {
                None => Ok(event),
                Some(why) => Err(Error::usage(format!("{metric} cannot be counted: {why}"))),
            }
        };
        self.counted.iter().map(event).collect()
    }

    /// Returns the workloads with the schedule's names of the arms, and a note about the shell.
    pub(super) fn workloads(
        &self,
        schedule: &Schedule,
    ) -> Result<(Vec<CommandWorkload>, Option<String>), Error> {
        let filled = self.filled()?;
        let arms = filled.iter().flat_map(|one| &one.arms);
        let each = self.layouts.max(1) as usize;
        let places = arms
            .clone()
            .flat_map(|arm| (0..each as u32).map(|one| self.place(arm, one)));
        let places: Vec<Option<PathBuf>> = places.collect();
        let lines = arms.flat_map(|arm| iter::repeat_n(arm.command.as_str(), each));
        let texts = lines.zip(places.iter().map(Option::as_deref));
        let commands = Commands::new(&texts.collect::<Vec<_>>(), &self.shell)?;
        let mut list = commands.list.into_iter();
        let names = schedule.experiments.iter().flat_map(|entry| &entry.arms);
        let names: Vec<&String> = names.collect();
        let mut workloads = vec![];
        for one in filled {
            let mut workload = CommandWorkload {
                name: one.workload,
                setup: self.steps(self.setup.as_deref(), &one.arms)?,
                cleanup: self.steps(self.cleanup.as_deref(), &one.arms)?,
                arms: vec![],
            };
            for (arm, name) in one.arms.iter().zip(&names) {
                let step = |text: &Option<String>| {
                    let folder = arm.folder.as_deref();
                    let step = text.as_deref().map(|text| in_shell("sh", text, folder));
                    step.transpose()
                };
                workload.arms.push(CommandArm {
                    name: (*name).clone(),
                    commands: list.by_ref().take(each).collect(),
                    prepare: step(&arm.prepare)?,
                    conclude: step(&arm.conclude)?,
                    output: arm.output.clone(),
                });
            }
            workloads.push(workload);
        }
        Ok((workloads, commands.note))
    }

    /// Returns the folder in which an arm runs in a layout.
    fn place(&self, arm: &FilledArm, layout: u32) -> Option<PathBuf> {
        let folder = arm.folder.as_deref()?;
        Some(match self.layouts {
            0 => folder.to_owned(),
            _ => view(folder, layout),
        })
    }

    /// Returns the commands that run once for the arms: the text with each arm's setting, without
    /// duplicates.
    fn steps(&self, text: Option<&str>, arms: &[FilledArm]) -> Result<Vec<Command>, Error> {
        let mut texts: Vec<String> = vec![];
        for arm in arms {
            let filled = text.map(|text| fill(text, &arm.setting));
            texts.extend(filled.filter(|text| !texts.contains(text)));
        }
        let steps = texts.iter().map(|text| in_shell("sh", text, None));
        steps.collect()
    }
}

/// Returns the metrics of the requested counters that are available, and notes about the others.
pub(super) fn counted(counters: Counters) -> Result<(Vec<String>, Vec<String>), Error> {
    let (there, notes) = counters::events(counters)?;
    let metrics = there.iter().map(|event| event.metric.to_owned());
    Ok((metrics.collect(), notes))
}

impl How {
    /// Returns the schedule of an experiment; `subject` is what a resumed comparison needs besides.
    pub(super) fn planned(
        &self,
        settings: &Settings,
        counters: Counters,
        experiment: ScheduledExperiment,
        subject: &impl Serialize,
    ) -> Result<Schedule, Error> {
        Ok(Schedule {
            profile: Profile::Quick,
            seed: self.seed.or(settings.seed).map_or_else(new_seed, Ok)?,
            margin_pct: self.margin.or(settings.margin),
            timeout_s: self.timeout.or(settings.timeout),
            budget_s: None,
            counters,
            experiments: vec![experiment],
            subject: kept(subject)?,
        })
    }
}

/// Returns what a resumed comparison needs, as it is stored.
pub(in crate::cmd) fn kept(subject: &impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(subject)
        .map_err(|error| Error::failed(format!("cannot keep the subject: {error}")))
}
