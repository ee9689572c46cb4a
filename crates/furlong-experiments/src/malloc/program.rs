//! The measuring program, with an allocator preloaded.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::environment::{environment, variables};
use furlong_lab::error::cause;
use furlong_lab::measure::launch::callgrind::{Callgrind, Count};
use furlong_lab::measure::launch::finished::{Ending, Finished, Usage};
use furlong_lab::measure::launch::launcher::{Launcher, Output, Task, try_program};
use furlong_lab::measure::launch::pmu::{Counters, Event};
use furlong_lab::model::{Failure, Outcome};

/// The program's image; its source is in `malloc-work/`.
const IMAGE: &[u8] = include_bytes!(env!("FURLONG_MALLOC_WORK"));

/// Name pattern for callgrind of the function that contains everything measured.
const TIMED: &str = "*::timed*";

/// Work for the program.
pub(crate) struct Work<'a> {
    /// The work's name, then `name=number` for each parameter.
    pub(crate) arguments: Vec<String>,
    /// The library to preload.
    pub(crate) preload: &'a Path,
    /// Standard input.
    pub(crate) input: Option<&'a Path>,
    /// Settings of the allocator, for the environment.
    pub(crate) settings: Vec<(&'static str, &'static str)>,
}

/// Results of the program.
#[derive(Clone, Debug)]
pub struct Done {
    /// Operations done.
    pub(crate) operations: u64,
    /// Their duration in seconds.
    pub elapsed_s: f64,
    /// Digest of the answers.
    pub(crate) digest: u64,
    /// Further figures of its own.
    pub more: BTreeMap<String, f64>,
    /// Lines before that of the figures.
    pub lines: Vec<String>,
    /// Resources used by the whole process.
    pub usage: Usage,
    /// Events of the whole process, by metric.
    pub(crate) events: BTreeMap<&'static str, f64>,
}

impl Done {
    /// Returns it as an outcome with these metrics.
    pub(crate) fn outcome(&self, metrics: BTreeMap<String, f64>) -> Outcome {
        Outcome {
            metrics,
            operations: self.operations,
            elapsed_s: self.elapsed_s,
            digest: self.digest,
        }
    }
}

/// The program in a file, which is removed on drop.
pub(crate) struct Program {
    launcher: Launcher,
    home: TempDir,
    path: PathBuf,
}

impl Program {
    /// Writes the program to a file.
    ///
    /// # Errors
    /// There is no place for it.
    pub(crate) fn new() -> Result<Self, Failure> {
        let lost = |error: io::Error| {
            let why = cause(&error);
            Failure(format!(
                "cannot store a program in a temporary directory ({why}): set TMPDIR to another one"
            ))
        };
        let home = tempfile::tempdir().map_err(lost)?;
        let path = home.path().join("furlong-malloc-work");
        fs::write(&path, IMAGE).map_err(lost)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).map_err(lost)?;
        try_program(&path).map_err(lost)?;
        Ok(Self {
            launcher: Launcher::new().map_err(Failure::of)?,
            home,
            path,
        })
    }

    /// Runs the program and counts these events.
    ///
    /// # Errors
    /// The program failed, or its allocator was not the preloaded one.
    pub(crate) fn run(&self, work: &Work<'_>, events: &[&'static Event]) -> Result<Done, Failure> {
        let mut task = self.task(work);
        task.environment = environment(variables(work.preload, &work.settings));
        let mut counters = Counters::open(events).map_err(Failure)?;
        let finished = self.launcher.run(&task, None).map_err(Failure::of)?;
        let counts = counters.read().map_err(Failure)?;
        let mut done = self.done(work, &finished)?;
        let values = counts
            .into_iter()
            .map(|(metric, count)| (metric, count.value));
        done.events = values.collect();
        Ok(done)
    }

    /// Runs the program under callgrind with simulated caches, and counts the timed function.
    ///
    /// # Errors
    /// As [`Program::run`], or there is no callgrind.
    pub(crate) fn count(&self, work: &Work<'_>) -> Result<(Done, Count), Failure> {
        let callgrind = Callgrind {
            caches: true,
            within: Some(TIMED.to_owned()),
            variables: variables(work.preload, &work.settings),
            ..Callgrind::new().map_err(Failure::of)?
        };
        let count = callgrind.count(&self.launcher, &self.task(work), None);
        let count = count.map_err(Failure::of)?;
        Ok((self.done(work, &count.finished)?, count))
    }

    fn task(&self, work: &Work<'_>) -> Task {
        let mut task = Task::new(&self.path, &[]);
        task.arguments
            .extend(work.arguments.iter().map(OsString::from));
        task.output = Output::File(self.said());
        if let Some(input) = work.input {
            task.input = input.into();
        }
        task
    }

    fn said(&self) -> PathBuf {
        self.home.path().join("said")
    }

    fn done(&self, work: &Work<'_>, finished: &Finished) -> Result<Done, Failure> {
        if finished.ending != Ending::Exited(0) {
            let last = finished.last_error_line();
            let last = last.unwrap_or_else(|| "it printed nothing".to_owned());
            return Err(Failure(format!("{}: {last}", finished.ending)));
        }
        let text = fs::read_to_string(self.said()).map_err(Failure::of)?;
        let (lines, line) = text.trim().rsplit_once('\n').unwrap_or(("", text.trim()));
        let (line, served) = line.split_once(" malloc=").unwrap_or_default();
        if !same_file(Path::new(served), work.preload) {
            let wanted = work.preload.display();
            return Err(Failure(format!(
                "{wanted} was preloaded, but {served} served the calls"
            )));
        }
        let pairs = line
            .split_whitespace()
            .filter_map(|pair| pair.split_once('='));
        let mut pairs: BTreeMap<&str, &str> = pairs.collect();
        let digest = pairs
            .remove("digest")
            .and_then(|digest| digest.parse().ok());
        let numbers = pairs.into_iter();
        let numbers =
            numbers.filter_map(|(name, text)| Some((name.to_owned(), text.parse().ok()?)));
        let mut numbers: BTreeMap<String, f64> = numbers.collect();
        let mut number = |name: &str| numbers.remove(name);
        let (operations, elapsed_ns) = (number("operations"), number("elapsed_ns"));
        let (Some(digest), Some(operations), Some(ns)) = (digest, operations, elapsed_ns) else {
            return Err(Failure(format!("the program printed {:?}", line)));
        };
        Ok(Done {
            operations: operations as u64,
            elapsed_s: ns * 1e-9,
            digest,
            more: numbers,
            lines: lines.lines().map(str::to_owned).collect(),
            usage: finished.usage,
            events: BTreeMap::new(),
        })
    }
}

/// True if two paths name the same file.
fn same_file(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}
