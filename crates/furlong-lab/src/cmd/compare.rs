//! `furlong compare`: any commands, from their command lines to a verdict.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::cli::{Database, FailOn, Reports, Talk, percent, seconds};
use crate::error::{Error, cause};
use crate::experiments::{Profile, Workload};
use crate::measure::agenda::{Agenda, Batch, Entry, Load};
use crate::measure::command::{Command, CommandError, Commands, Shell, in_shell, metrics};
use crate::measure::contest::{Contest, Contestant, Failures, Rules, Timed};
use crate::measure::counters::Counters;
use crate::measure::instructions;
use crate::measure::interrupt::Interrupt;
use crate::measure::sampler::Pass;
use crate::publish;
use crate::record::result::CONTROL;
use crate::session::{Options, Session, new_seed};
use crate::settings::Settings;

/// Name of the experiment.
const EXPERIMENT: &str = "compare";

/// Name of its workload.
const WORKLOAD: &str = "commands";

/// A name that a command gets from itself is no longer than this.
const NAME_CHARS_MAX: usize = 40;

/// Blocks where nobody says how many.
const BLOCKS: u32 = 10;

/// What to compare, how often and where the result goes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Two or more commands; the first is what the others are compared with
    #[arg(value_name = "COMMAND")]
    pub commands: Vec<String>,
    /// A name for each command [default: the command itself]
    #[arg(short, long, value_name = "A,B,..", value_delimiter = ',')]
    pub names: Vec<String>,
    /// Runs of each command; a verdict needs 6 [default: 10]
    #[arg(long, visible_alias = "runs", value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub blocks: Option<u32>,
    /// Run each command so many times before the first one that counts
    #[arg(short, long, value_name = "N", default_value_t = 0)]
    pub warmup: u32,
    /// Run this (by sh) before every run of a command
    #[arg(short, long, value_name = "COMMAND")]
    pub prepare: Option<String>,
    /// Run the commands by a shell, sh if none is named; `none` forbids it [default: sh, for all
    /// commands, where one of them needs a shell]
    #[arg(short = 'S', long, value_name = "SHELL")]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "sh")]
    pub shell: Option<String>,
    /// What the commands read from standard input
    #[arg(long, value_name = "FILE", default_value = "/dev/null")]
    pub input: PathBuf,
    /// A command that takes longer is stopped and has failed [default: no limit]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_hyphen_values = true)]
    pub timeout: Option<f64>,
    /// Count runs that end with another exit code than 0, or by a signal
    #[arg(short, long)]
    pub ignore_failure: bool,
    /// Decides the order of the commands in every block [default: a random one]
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,
    /// A difference within this many per cent does not matter [default: 1, of memory 2, of
    /// counts 0.1]
    #[arg(long, value_name = "PCT", value_parser = percent, allow_hyphen_values = true)]
    pub margin: Option<f64>,
    /// Counters besides what the system says of every process
    #[arg(long, value_name = "WHICH")]
    pub counters: Option<Counters>,
    /// Go on with a comparison that was interrupted or killed; the beginning of its name is enough
    #[arg(long, value_name = "ID", conflicts_with_all = DECIDED)]
    pub resume: Option<String>,
    /// A name to find the run by
    #[arg(long, value_name = "T")]
    pub tag: Option<String>,
    /// A remark to keep with the run
    #[arg(long, value_name = "N")]
    pub note: Option<String>,
    /// Exit with 3 when a command comes to such a verdict in wall time
    #[arg(long, value_name = "VERDICT", value_delimiter = ',')]
    pub fail_on: Vec<FailOn>,
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

const EXAMPLES: &str = "\
Examples:
  furlong compare 'sort big.txt' 'sort --parallel=1 big.txt'
  furlong compare --names old,new --warmup 1 ./server-old ./server-new
  furlong compare --prepare 'sync' --input data.json 'jq .' 'gojq .'
  furlong compare --counters callgrind ./a.out ./b.out";

/// What was decided when the comparison began, so that a resumed one cannot differ.
const DECIDED: [&str; 13] = [
    "commands",
    "names",
    "blocks",
    "warmup",
    "prepare",
    "shell",
    "input",
    "ignore_failure",
    "seed",
    "margin",
    "counters",
    "tag",
    "note",
];

/// What a resumed comparison must know besides the agenda.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Subject {
    commands: Vec<String>,
    shell: Shell,
    prepare: Option<String>,
    warmup: u32,
    input: PathBuf,
    ignore_failure: bool,
}

/// Compares the commands, or goes on with what was begun.
///
/// # Errors
///
/// Bad input, before anything is measured; afterwards a command that failed, or what else did.
pub fn run(args: &Args) -> Result<ExitCode, Error> {
    let settings = Settings::of_here()?;
    let options = args.options(&settings);
    publish::check(&options.targets)?;
    let voice = options.voice;
    let interrupt = Interrupt::listen()?;
    let (session, ready) = match &args.resume {
        Some(id) => {
            let mut made = None;
            let session = Session::resume(id, options, |agenda| {
                made = Some(Ready::new(agenda, &interrupt)?);
                Ok(())
            })?;
            (session, made)
        }
        None => {
            let agenda = args.agenda(&settings)?;
            let ready = Ready::new(&agenda, &interrupt)?;
            if let Some(note) = &ready.note {
                voice.note(note);
            }
            let tag = args.tag.clone().or_else(|| settings.tag.clone());
            let note = args.note.clone().or_else(|| settings.note.clone());
            (Session::begin(agenda, tag, note, options)?, Some(ready))
        }
    };
    let ready = ready.ok_or_else(|| Error::failed("the stored run was not looked at"))?;
    session.measure(&mut Timed(ready.contest), ready.passes, &interrupt)
}

impl Args {
    fn options<'a>(&'a self, settings: &'a Settings) -> Options<'a> {
        let fail_on = if self.fail_on.is_empty() {
            settings.fail_on.clone().unwrap_or_default()
        } else {
            self.fail_on.clone()
        };
        Options {
            settings,
            database: &self.database,
            targets: self.reports.targets(settings),
            page: !self.reports.no_html(settings) && !self.database.none(settings),
            fail_on,
            voice: self.talk.voice(settings),
        }
    }

    fn agenda(&self, settings: &Settings) -> Result<Agenda, Error> {
        if self.commands.len() < 2 {
            return Err(Error::usage(
                "give at least two commands, each in quotes; the same one twice shows the noise",
            ));
        }
        let subject = Subject {
            commands: self.commands.clone(),
            shell: match self.shell.as_deref() {
                None => Shell::AsNeeded,
                Some("none") => Shell::Never,
                Some(shell) => Shell::Always(shell.to_owned()),
            },
            prepare: self.prepare.clone(),
            warmup: self.warmup,
            input: self.input.clone(),
            ignore_failure: self.ignore_failure,
        };
        let blocks = self.blocks.or(settings.blocks).unwrap_or(BLOCKS);
        Ok(Agenda {
            profile: Profile::Quick,
            seed: self.seed.or(settings.seed).map_or_else(new_seed, Ok)?,
            margin_pct: self.margin.or(settings.margin),
            timeout_s: self.timeout.or(settings.timeout),
            counters: self.counters.or(settings.counters).unwrap_or_default(),
            experiments: vec![entry(
                arms(&self.commands, &self.names)?,
                &self.commands,
                blocks,
            )],
            subject: serde_json::to_value(subject)
                .map_err(|error| Error::failed(format!("cannot keep the commands: {error}")))?,
        })
    }
}

/// The comparison as the schedule has it.
fn entry(arms: Vec<String>, commands: &[String], blocks: u32) -> Entry {
    let told = |(name, command): (&String, &String)| {
        // A name that a command got from itself says it all, but for one that was cut.
        let own = name.starts_with(&one_line(command)) && !name.contains('…');
        if own {
            format!("`{name}`")
        } else {
            format!("{name} (`{command}`)")
        }
    };
    let contestants: Vec<String> = arms.iter().zip(commands).map(told).collect();
    let workload = Workload {
        name: WORKLOAD.to_owned(),
        about: "one run of each command".to_owned(),
        quick: true,
        metrics: vec![],
        params: BTreeMap::new(),
        smoke: BTreeMap::new(),
    };
    let batch = Batch::Operations(1);
    Entry {
        name: EXPERIMENT.to_owned(),
        question: format!("Which is faster: {}?", contestants.join(" or ")),
        metrics: metrics(),
        arms,
        uncounted: vec![],
        exact_operations: 1,
        loads: vec![Load {
            workload,
            blocks,
            batch,
            na: BTreeMap::new(),
        }],
        left_out: vec![],
    }
}

/// The names of the arms, each there once.
fn arms(commands: &[String], names: &[String]) -> Result<Vec<String>, Error> {
    if !names.is_empty() && names.len() != commands.len() {
        let (names, commands) = (names.len(), commands.len());
        return Err(Error::usage(format!(
            "--names has {names} for {commands} commands: give one name a command, with commas"
        )));
    }
    let mut arms: Vec<String> = vec![];
    for (number, name) in names.iter().enumerate() {
        let wrong = |why: &str| Err(Error::usage(format!("--names: `{name}` {why}")));
        if name.trim().is_empty() {
            return Err(Error::usage(format!(
                "--names: name {} is empty",
                number + 1
            )));
        } else if name == CONTROL {
            return wrong("means the baseline again: choose another name");
        } else if arms.contains(name) {
            return wrong("is there twice: give each command its own name");
        }
        arms.push(name.clone());
    }
    for command in commands.iter().skip(arms.len()) {
        let name = one_line(command);
        let mut candidates = (1..).map(|copy| match copy {
            1 => name.clone(),
            copy => format!("{name} ({copy})"),
        });
        let free = candidates.find(|name| name != CONTROL && !arms.contains(name));
        arms.extend(free);
    }
    Ok(arms)
}

/// A command as a name: in one line that a table has room for.
fn one_line(command: &str) -> String {
    let line = command.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= NAME_CHARS_MAX {
        return line;
    }
    let start: String = line.chars().take(NAME_CHARS_MAX - 1).collect();
    format!("{}…", start.trim_end())
}

/// What an agenda is about.
fn subject_of(agenda: &Agenda) -> Result<Subject, Error> {
    if agenda.subject.is_null() {
        return Err(Error::usage(
            "`furlong run` began this run: resume it with that",
        ));
    }
    serde_json::from_value(agenda.subject.clone())
        .map_err(|error| Error::usage(format!("the stored commands cannot be read: {error}")))
}

/// What runs the commands of an agenda.
struct Ready {
    contest: Rc<Contest>,
    passes: Vec<Pass<'static>>,
    /// What the user should know about how they are run.
    note: Option<String>,
}

impl Ready {
    /// Looks for everything that will be needed, before anything is stored or measured.
    fn new(agenda: &Agenda, interrupt: &Interrupt) -> Result<Self, Error> {
        let refused = |error: CommandError| Error::usage(error.to_string());
        let subject = subject_of(agenda)?;
        let commands = Commands::new(&subject.commands, &subject.shell).map_err(refused)?;
        let prepare = subject.prepare.as_deref().map(|text| in_shell("sh", text));
        let prepare: Option<Command> = prepare.transpose().map_err(refused)?;
        if let Err(error) = File::open(&subject.input) {
            let input = subject.input.display();
            return Err(Error::usage(format!(
                "--input {input} cannot be read: {}",
                cause(&error)
            )));
        }
        let arms = agenda
            .experiments
            .iter()
            .flat_map(|entry| &entry.arms)
            .cloned();
        let contestant = |(name, command)| Contestant { name, command };
        let rules = Rules {
            contestants: arms.zip(commands.list).map(contestant).collect(),
            prepare,
            warmup: subject.warmup,
            input: subject.input,
            limit: agenda.timeout_s.map(Duration::from_secs_f64),
            failures: if subject.ignore_failure {
                Failures::Count
            } else {
                Failures::End
            },
        };
        let contest = Contest::new(rules, interrupt.clone());
        let contest = contest.map_err(|error| Error::failed(error.to_string()))?;
        let passes = match agenda.counters {
            Counters::Callgrind => vec![instructions::of_commands(&contest)?],
            Counters::Auto | Counters::None => vec![],
        };
        Ok(Self {
            contest,
            passes,
            note: commands.note,
        })
    }
}
