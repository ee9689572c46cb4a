//! Instruction counts by callgrind, which are the same in every run.
//!
//! They need a pass of their own, because a program runs some fifty times slower under callgrind.
//! Two things would make counts differ from run to run: the environment, whose strings the dynamic
//! linker walks, and the addresses. The pass therefore has a small fixed environment, no address
//! randomisation, and none of the user's own settings of valgrind. It does not count the kernel's
//! work. It does count the other processes of the command.
//!
//! A program whose own behaviour differs from run to run (hash tables with random keys, threads,
//! the clock) has no exact count. A caller that needs an exact count must count twice and compare.

use std::ffi::OsString;
use std::io::PipeReader;
use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

use super::command::{clean_environment, find};
use super::finished::{Ending, Finished};
use super::launcher::{LaunchError, Launcher, Layout, Task};

/// Instructions of a command.
#[derive(Clone, Debug, PartialEq)]
pub struct Count {
    /// Instructions of all its processes.
    pub instructions: u64,
    /// Misses of the simulated caches, if they were requested.
    pub misses: Option<Misses>,
    /// Callgrind's file of each process.
    pub profiles: Vec<String>,
    /// The command's end; its times are those under callgrind.
    pub finished: Finished,
}

/// Misses of the simulated caches, which have the size of this machine's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Misses {
    /// Misses of the first-level caches, for instructions and data.
    pub first: u64,
    /// Misses of the last-level cache.
    pub last: u64,
}

/// Reason why there is no count.
#[derive(Debug)]
pub enum CallgrindError {
    /// Valgrind is not installed.
    Missing,
    /// Valgrind could not be started.
    Launch(LaunchError),
    /// This valgrind does not support an instruction of the program.
    UnknownInstruction(PathBuf),
    /// The command failed under callgrind. Holds the last line that it or valgrind wrote.
    Failed(Ending, Option<String>),
    /// The output contains no count.
    NoCount(String),
}

impl fmt::Display for CallgrindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str(
                "instructions are counted by valgrind, which is not installed: apt-get install \
                 valgrind (or leave out --counters callgrind)",
            ),
            Self::Launch(error) => error.fmt(f),
            Self::UnknownInstruction(program) => write!(
                f,
                "{} uses an instruction that this valgrind does not know (usually AVX-512): build \
                 it for an older processor (no -march=native or target-cpu=native), or install a \
                 newer valgrind",
                program.display()
            ),
            Self::Failed(ending, line) => {
                let line = line.as_deref().unwrap_or("it printed nothing");
                write!(f, "under callgrind: {ending}: {line}")
            }
            Self::NoCount(why) => write!(f, "callgrind wrote no count: {why}"),
        }
    }
}

impl std::error::Error for CallgrindError {}

/// Counts instructions.
#[derive(Clone, Debug)]
pub struct Callgrind {
    /// The program.
    pub valgrind: PathBuf,
    /// True to simulate the caches too, which takes twice the time.
    pub caches: bool,
    /// The only function to count, in callgrind's spelling, with `*` for any text.
    pub within: Option<String>,
    /// Variables for the environment of the command, which is also valgrind's own.
    pub variables: Vec<(OsString, OsString)>,
}

impl Callgrind {
    /// Searches valgrind, to count all of a command's instructions.
    ///
    /// # Errors
    ///
    /// [`CallgrindError::Missing`].
    pub fn new() -> Result<Self, CallgrindError> {
        let valgrind = find("valgrind").map_err(|_| CallgrindError::Missing)?;
        Ok(Self {
            valgrind,
            caches: false,
            within: None,
            variables: vec![],
        })
    }

    /// Runs a command to its end and counts its instructions.
    ///
    /// # Shapes
    ///
    /// The task's environment and layout are not used: the pass has its own. `stop` works as in
    /// [`Launcher::run`]. A command that fails by itself is counted too, see [`Count::finished`].
    ///
    /// # Errors
    ///
    /// The reason why there is no count.
    pub fn count(
        &self,
        launcher: &Launcher,
        task: &Task,
        stop: Option<&PipeReader>,
    ) -> Result<Count, CallgrindError> {
        let failed = |error: io::Error| CallgrindError::NoCount(error.to_string());
        let place = tempfile::Builder::new()
            .prefix("furlong-callgrind-")
            .tempdir();
        let place = place.map_err(failed)?;
        let finished = launcher
            .run(&self.wrapped(task, place.path()), stop)
            .map_err(CallgrindError::Launch)?;
        let files = files(place.path()).map_err(failed)?;
        let logs: String = files.logs.concat();
        if logs.contains("Illegal opcode") || logs.contains("Unrecognised instruction") {
            return Err(CallgrindError::UnknownInstruction(task.program.clone()));
        }
        if finished.ending == Ending::TimedOut || files.profiles.is_empty() {
            let line = last_line(&logs).or_else(|| finished.last_error_line());
            return Err(CallgrindError::Failed(finished.ending, line));
        }
        let total = |events: &[&str]| {
            let counts: Option<Vec<u64>> = files
                .profiles
                .iter()
                .map(|file| total(file, events))
                .collect();
            let missing = || format!("one of its files has no total of {}", events.join(" and "));
            let counts = counts.ok_or_else(|| CallgrindError::NoCount(missing()))?;
            Ok(counts.iter().sum())
        };
        let misses = || {
            Ok(Misses {
                first: total(&["I1mr", "D1mr", "D1mw"])?,
                last: total(&["ILmr", "DLmr", "DLmw"])?,
            })
        };
        Ok(Count {
            instructions: total(&["Ir"])?,
            misses: self.caches.then(misses).transpose()?,
            profiles: files.profiles,
            finished,
        })
    }

    /// Wraps the command in a call of callgrind.
    fn wrapped(&self, task: &Task, place: &Path) -> Task {
        // In a file name, valgrind takes a per cent sign for the beginning of a variable.
        let place = place.display().to_string().replace('%', "%%");
        let options = [
            "--tool=callgrind".to_owned(),
            "--command-line-only=yes".to_owned(),
            "--trace-children=yes".to_owned(),
            "--quiet".to_owned(),
            // Its mapping is named after the process. A program's start reads the names of all its
            // mappings, and a longer number took it some instructions more.
            "--vgdb=no".to_owned(),
            format!("--cache-sim={}", if self.caches { "yes" } else { "no" }),
            format!("--callgrind-out-file={place}/%p.{PROFILE}"),
            format!("--log-file={place}/%p.{LOG}"),
        ];
        let mut arguments = vec![self.valgrind.clone().into_os_string()];
        arguments.extend(options.map(OsString::from));
        // Copies of a generic function share a name, and valgrind would count them as one function.
        // What counts only within a function names it in the source's words.
        if self.within.is_none() {
            arguments.push("--demangle=no".into());
        }
        let within = self.within.iter();
        arguments.extend(within.map(|name| format!("--toggle-collect={name}").into()));
        arguments.push(task.program.clone().into_os_string());
        arguments.extend(task.arguments.iter().skip(1).cloned());
        let mut environment = clean_environment();
        environment.retain(|(name, _)| self.variables.iter().all(|(ours, _)| ours != name));
        environment.extend(self.variables.iter().cloned());
        Task {
            program: self.valgrind.clone(),
            arguments,
            environment,
            layout: Layout::Fixed,
            ..task.clone()
        }
    }
}

/// Extension of the files with counts, one per process.
const PROFILE: &str = "out";

/// Extension of the files with valgrind's messages.
const LOG: &str = "log";

/// Files that callgrind wrote.
struct Files {
    profiles: Vec<String>,
    logs: Vec<String>,
}

/// Reads the files that callgrind wrote.
fn files(place: &Path) -> io::Result<Files> {
    let mut files = Files {
        profiles: vec![],
        logs: vec![],
    };
    for entry in fs::read_dir(place)? {
        let path = entry?.path();
        let text = || fs::read(&path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        match path.extension().and_then(|ending| ending.to_str()) {
            Some(PROFILE) => files.profiles.push(text()?),
            Some(LOG) => files.logs.push(text()?),
            _ => {}
        }
    }
    Ok(files)
}

/// Returns the sum of some events in the `totals:` line of a process.
fn total(profile: &str, events: &[&str]) -> Option<u64> {
    let line = |name: &str| {
        profile
            .lines()
            .rev()
            .find_map(|line| line.strip_prefix(name))
    };
    let known: Vec<&str> = line("events:")?.split_whitespace().collect();
    // Callgrind omits trailing zeros. A missing instruction count is an error: no program has none.
    let totals: Vec<&str> = line("totals:")?.split_whitespace().collect();
    let count = |event: &&str| {
        let place = known.iter().position(|known| known == event)?;
        match totals.get(place) {
            Some(count) => count.parse().ok(),
            None => (*event != "Ir").then_some(0),
        }
    };
    events.iter().map(count).sum()
}

/// Returns the last line of valgrind's output that is not empty, without its prefix.
fn last_line(log: &str) -> Option<String> {
    let lines = log
        .lines()
        .rev()
        .map(|line| line.trim_start_matches(['=', '-', '*']));
    let lines = lines.map(|line| line.trim_start_matches(|c: char| c.is_ascii_digit()));
    let mut lines = lines.map(|line| line.trim_start_matches(['=', '-', '*']).trim());
    lines.find(|line| !line.is_empty()).map(str::to_owned)
}

/// Returns the instructions of one operation, from two processes that differ only in the number of
/// operations. The work before and after the operations cancels. The cost of making their inputs
/// does not.
///
/// # Shapes
///
/// Each argument is (operations, instructions). `None` if the second has no more operations than
/// the first.
pub fn per_operation(fewer: (u64, u64), more: (u64, u64)) -> Option<f64> {
    let operations = more
        .0
        .checked_sub(fewer.0)
        .filter(|operations| *operations > 0)?;
    let instructions = more.1 as f64 - fewer.1 as f64;
    Some(instructions / operations as f64)
}

#[cfg(test)]
mod tests {
    use super::{last_line, per_operation, total};

    #[test]
    fn the_total_is_the_one_of_the_instructions() {
        let profile = "version: 1\npid: 5\nevents: Dr Ir Dw\nsummary: 1 2 3\n0 12\ntotals: 4 5 6\n";
        assert_eq!(total(profile, &["Ir"]), Some(5));
        assert_eq!(
            total("events: Ir\nsummary: 7\n\ntotals: 8\n", &["Ir"]),
            Some(8)
        );
    }

    #[test]
    fn a_profile_that_is_cut_or_counts_something_else_has_no_total() {
        assert_eq!(total("events: Ir\nsummary: 7\n", &["Ir"]), None);
        assert_eq!(total("events: Dr\ntotals: 7\n", &["Ir"]), None);
        assert_eq!(total("events: Dr Ir\ntotals: 7\n", &["Ir"]), None);
        assert_eq!(total("events: Ir\ntotals: many\n", &["Ir"]), None);
        assert_eq!(total("", &["Ir"]), None);
        let zeros = "events: Ir D1mr D1mw\ntotals: 9 4\n";
        assert_eq!(total(zeros, &["D1mr", "D1mw"]), Some(4));
        assert_eq!(total(zeros, &["D1mr", "DLmr"]), None);
    }

    #[test]
    fn the_last_line_of_valgrind_is_without_its_mark() {
        let log = "==12== first\n==12== Process terminating: 8 (SIGFPE)\n==12== \n";
        assert_eq!(
            last_line(log).as_deref(),
            Some("Process terminating: 8 (SIGFPE)")
        );
        assert_eq!(last_line("==12== \n"), None);
    }

    #[test]
    fn what_is_not_operations_cancels() {
        assert_eq!(per_operation((100, 5_000), (300, 9_000)), Some(20.0));
        assert_eq!(per_operation((100, 5_000), (100, 9_000)), None);
        assert_eq!(per_operation((100, 9_000), (200, 8_900)), Some(-1.0));
    }
}
