//! Instruction counts by callgrind, which are the same in every run.
//!
//! They need a pass of their own, because a program runs some fifty times slower under callgrind.
//! Two things would make counts differ from run to run: the environment, whose strings the dynamic
//! linker walks, and the addresses. The pass therefore has a small fixed environment, no address
//! randomisation, and none of the user's own settings of valgrind. It does not count the kernel's
//! work. It does count the other processes of the command, but not the work of a process before it
//! executes another program.
//!
//! A fork inherits its parent's counts. Callgrind therefore writes a part of the parent's file, and
//! begins again at zero, whenever a function of `FORKS` is called. The few instructions from there
//! to the fork itself are counted twice, and so is what other threads do meanwhile. A fork that
//! callgrind does not see, in a static program without symbols, is refused.
//!
//! A program whose own behaviour differs from run to run (hash tables with random keys, threads,
//! the clock) has no exact count. A caller that needs an exact count must count twice and compare.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
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
    /// The only function to count, in callgrind's spelling, with `*` for any text. Callgrind counts
    /// it in each thread that calls it, without the work of other threads for it.
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
        let processes = processes(place.path()).map_err(failed)?;
        let logs: String = processes.values().map(|one| one.log.as_str()).collect();
        if logs.contains("Illegal opcode") || logs.contains("Unrecognised instruction") {
            return Err(CallgrindError::UnknownInstruction(task.program.clone()));
        }
        let has_none = processes.values().all(|one| one.profile.is_empty());
        if finished.ending == Ending::TimedOut || has_none {
            let line = last_line(&logs).or_else(|| finished.last_error_line());
            return Err(CallgrindError::Failed(finished.ending, line));
        }
        let profiles = processes.into_values().map(Process::profile);
        let profiles: Vec<String> = profiles.collect::<Result<_, _>>()?;
        let total = |events: &[&str]| {
            let counts: Option<Vec<u64>> =
                profiles.iter().map(|file| total(file, events)).collect();
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
            profiles,
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
            // A program that a process executes later overwrites a single file, and all its parts.
            "--combine-dumps=yes".to_owned(),
            format!("--callgrind-out-file={place}/%p.{PROFILE}"),
            // Valgrind numbers the logs of a process as it makes up their names. A program that is
            // executed begins at 1; a fork makes up a first name to compare, and opens the second.
            format!("--log-file={place}/%p.%n"),
        ];
        let mut arguments = vec![self.valgrind.clone().into_os_string()];
        arguments.extend(options.map(OsString::from));
        arguments.extend(FORKS.map(|name| format!("--dump-before={name}").into()));
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

/// Functions that fork. Those of the C library call each other by names that differ by version.
const FORKS: [&str; 7] = [
    "fork",
    "_Fork",
    "vfork",
    "posix_spawn",
    "posix_spawnp",
    "posix_spawn@*",
    "posix_spawnp@*",
];

/// Extension of the files with counts, one per process.
const PROFILE: &str = "out";

/// Extension of the messages of a process that executed a program.
const FIRST_LOG: &str = "1";

/// Files that callgrind wrote for a process.
#[derive(Default)]
struct Process {
    profile: String,
    log: String,
    /// False for a fork that never executed a program.
    is_executed: bool,
}

impl Process {
    /// Returns the profile if its counts are whole and the process's own.
    fn profile(self) -> Result<String, CallgrindError> {
        let refused = |why: &str| Err(CallgrindError::NoCount(why.to_owned()));
        let has = |line: &str| self.profile.contains(&format!("\ndesc: {line}"));
        if !has("Trigger: Program termination\n") {
            return refused(
                "a process of the command was killed, or still ran when the command ended",
            );
        }
        // A fork's file begins where its parent's last part ended. This parent has written none, so
        // its own work since its start is in the file.
        if !self.is_executed && has("Timerange: Basic block 0 - ") {
            return refused(
                "a process was forked by a program without symbols, and the work of both cannot be \
                 told apart: build that program without `strip`",
            );
        }
        Ok(self.profile)
    }
}

/// Reads the files that callgrind wrote, by process.
fn processes(place: &Path) -> io::Result<BTreeMap<OsString, Process>> {
    let mut processes: BTreeMap<OsString, Process> = BTreeMap::new();
    for entry in fs::read_dir(place)? {
        let path = entry?.path();
        let (Some(number), Some(kind)) = (path.file_stem(), path.extension()) else {
            continue;
        };
        // A core dump of valgrind's lies here, too, and may be large.
        let is_number = |name: &OsStr| name.as_encoded_bytes().iter().all(u8::is_ascii_digit);
        if !is_number(number) || kind != PROFILE && !is_number(kind) {
            continue;
        }
        let text = String::from_utf8_lossy(&fs::read(&path)?).into_owned();
        let process = processes.entry(number.to_owned()).or_default();
        if kind == PROFILE {
            process.profile = text;
        } else {
            process.log.push_str(&text);
            process.is_executed |= kind == FIRST_LOG;
        }
    }
    Ok(processes)
}

/// Returns the sum of some events in the `totals:` lines of a process, one for each part.
fn total(profile: &str, events: &[&str]) -> Option<u64> {
    let lines = |name| {
        profile
            .lines()
            .filter_map(move |line| line.strip_prefix(name))
    };
    let known: Vec<&str> = lines("events:").next()?.split_whitespace().collect();
    let totals: Vec<Vec<&str>> = lines("totals:")
        .map(|line| line.split_whitespace().collect())
        .collect();
    let count = |part: &Vec<&str>, event: &&str| {
        let place = known.iter().position(|known| known == event)?;
        // Callgrind omits trailing zeros. A missing instruction count is an error: no program has
        // none.
        match part.get(place) {
            Some(count) => count.parse().ok(),
            None => (*event != "Ir").then_some(0),
        }
    };
    let counts = totals
        .iter()
        .flat_map(|part| events.iter().map(move |event| count(part, event)));
    // A part without its total is cut.
    let is_whole = totals.len() == lines("events:").count();
    is_whole.then(|| counts.sum()).flatten()
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
    use super::{Process, last_line, per_operation, processes, total};
    use std::fs;

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
    fn the_parts_of_a_profile_add_up() {
        let profile = "events: Ir Dr\ntotals: 8 1\npart: 2\nevents: Ir Dr\n";
        assert_eq!(total(profile, &["Ir"]), None);
        assert_eq!(
            total(&format!("{profile}totals: 2\n"), &["Ir", "Dr"]),
            Some(11)
        );
    }

    #[test]
    fn a_process_that_was_killed_or_forked_unseen_has_no_count() {
        let end = "\ndesc: Timerange: Basic block 0 - 9\ndesc: Trigger: Program termination\n";
        let later = end.replace('0', "7");
        let part = "\ndesc: Timerange: Basic block 0 - 7\ndesc: Trigger: --dump-before=fork\n";
        let files = [
            // A program, one that a fork executed, and a fork.
            ("12.1", ""),
            ("12.out", &*format!("{part}{later}")),
            ("13.2", ""),
            ("13.1", ""),
            ("13.out", end),
            ("14.2", ""),
            ("14.out", &later),
            // A fork that callgrind did not see; processes that were killed.
            ("21.2", ""),
            ("21.out", end),
            ("22.2", ""),
            ("23.1", ""),
            ("23.out", ""),
            ("24.1", ""),
            ("24.out", part),
            // Not a process: the core dump of one.
            ("14.2.core.14", "core"),
        ];
        let place = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(place.path().join(name), text).unwrap();
        }
        for (number, process) in processes(place.path()).unwrap() {
            let number = number.into_string().unwrap();
            let profile = Process::profile(process);
            assert_eq!(profile.is_ok(), number.starts_with('1'), "{number}");
            if let Err(error) = profile {
                let is_fork = error.to_string().contains("strip");
                assert_eq!(is_fork, number == "21", "{number}: {error}");
            }
        }
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
