//! One process per sample: the lab runs its own executable again with the hidden verb `sample`, by
//! the launcher. Nothing of the lab runs while its child measures, and no measurement outlives a
//! kill.

use std::ffi::OsString;
use std::fs;
use std::io::{self, PipeReader};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::commands::comparison::watched;
use super::interrupt::Interrupt;
use super::launch::command::padded_environment;
use super::launch::finished::{Ending, Finished};
use super::launch::launcher::{LaunchError, Launcher, Output, Task};
use super::sampler::{Job, SampleError, Sampler};
use crate::error::{Error, cause};
use crate::model::{Outcome, Profile};
use crate::record::build;

/// Name of a sample in a list of processes.
const NAME: &str = "furlong";

/// Samples an executable that has the verb `sample`.
pub struct Processes {
    program: PathBuf,
    profile: Profile,
    interrupt: Interrupt,
    launcher: Launcher,
    /// Directory of the file that a sample prints to.
    place: TempDir,
    /// Text that successful timed samples wrote to stderr.
    notices: Vec<String>,
}

impl Processes {
    /// Returns a sampler of this executable.
    ///
    /// # Errors
    ///
    /// The system does not report its path, or it cannot be launched.
    pub fn of_this(profile: Profile, interrupt: Interrupt) -> Result<Processes, Error> {
        Processes::of(build::executable()?, profile, interrupt)
    }

    /// Returns a sampler of another executable.
    ///
    /// # Errors
    ///
    /// There is no place for the launcher or for the output.
    pub fn of(
        program: PathBuf,
        profile: Profile,
        interrupt: Interrupt,
    ) -> Result<Processes, Error> {
        let launcher = Launcher::new().map_err(|error| Error::failed(error.to_string()))?;
        let place = tempfile::tempdir();
        let place = place.map_err(|error| Error::failed(no_file(&error)))?;
        Ok(Processes {
            program,
            profile,
            interrupt,
            launcher,
            place,
            notices: vec![],
        })
    }

    /// The file that a sample prints to.
    fn said(&self) -> PathBuf {
        self.place.path().join("said")
    }

    /// Returns the task of a sample that prints to that file.
    pub(super) fn task(&self, job: &Job<'_>, operations: u64) -> Task {
        let mut task = Task::new(&self.program, &["sample", job.experiment]);
        let options = [
            job.workload.name.clone(),
            job.arm.to_owned(),
            format!("--profile={}", self.profile.name()),
            format!("--seed={}", job.seed),
            format!("--operations={operations}"),
        ];
        task.arguments.extend(options.map(OsString::from));
        task.output = Output::File(self.said());
        task.limit = Some(job.timeout);
        task
    }

    /// Runs a function that Ctrl-C stops.
    pub(super) fn watched<T>(
        &self,
        run: impl FnOnce(&Launcher, &PipeReader) -> T,
    ) -> Result<T, SampleError> {
        let done = watched(&self.interrupt, |stop| run(&self.launcher, stop));
        let done = done.map_err(|error| SampleError::Failed(no_file(&error)))?;
        done.ok_or(SampleError::Interrupted)
    }

    /// Reads what a sample printed.
    pub(super) fn outcome(&self, finished: &Finished) -> Result<Outcome, SampleError> {
        outcome(&self.said(), finished)
    }
}

/// Returns the message for a temporary file that cannot be made or read.
pub(super) fn no_file(error: &io::Error) -> String {
    format!("cannot create a temporary file: {}", cause(error))
}

impl Sampler for Processes {
    fn sample(&mut self, job: &Job<'_>) -> Result<Outcome, SampleError> {
        let mut task = self.task(job, job.operations);
        task.arguments[0] = NAME.into();
        if job.exact {
            task.arguments.push("--exact".into());
        }
        task.environment = padded_environment(job.padding);
        // The last line of a failed sample is shown. It has to be the message, not a stack frame.
        let quiet = ("RUST_BACKTRACE".into(), "0".into());
        task.environment.push(quiet);
        let finished = self.watched(|launcher, stop| launcher.run(&task, Some(stop)))?;
        let finished = finished.map_err(missed)?;
        ended(&finished, job)?;
        let outcome = self.outcome(&finished)?;
        if !job.exact {
            let text = String::from_utf8_lossy(&finished.error_tail);
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
            self.notices.extend(lines.map(str::to_owned));
        }
        Ok(outcome)
    }

    fn notices(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notices)
    }
}

/// The reason why there is no sample of a program that could not be run.
pub(super) fn missed(error: LaunchError) -> SampleError {
    match error {
        LaunchError::Interrupted => SampleError::Interrupted,
        error => SampleError::Failed(format!("cannot be run: {error}")),
    }
}

/// Checks that a sample ended by itself and successfully.
pub(super) fn ended(finished: &Finished, job: &Job<'_>) -> Result<(), SampleError> {
    match finished.ending {
        Ending::Exited(0) => Ok(()),
        Ending::Signalled(2) => Err(SampleError::Interrupted),
        Ending::TimedOut => Err(SampleError::Failed(format!(
            "took more than {} s (--timeout SECONDS allows more)",
            job.timeout.as_secs_f64()
        ))),
        ending => {
            let last = finished.last_error_line();
            let last = last.as_deref().unwrap_or("it printed nothing");
            Err(SampleError::Failed(format!("{ending}: {last}")))
        }
    }
}

/// Reads the line of JSON that a sample printed.
fn outcome(said: &Path, finished: &Finished) -> Result<Outcome, SampleError> {
    let text = fs::read(said).map_err(|error| SampleError::Failed(no_file(&error)))?;
    let text = String::from_utf8_lossy(&text);
    let line = text.trim();
    serde_json::from_str(line).map_err(|_| {
        let start: String = line.chars().take(60).collect();
        let last = finished.last_error_line().unwrap_or_default();
        SampleError::Failed(format!(
            "it printed {start:?} instead of one line of JSON; {last}"
        ))
    })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::process::Command;
    use std::time::Duration;

    use tempfile::TempDir;

    use super::Processes;
    use crate::measure::interrupt::Interrupt;
    use crate::measure::sampler::{Job, SampleError, Sampler};
    use crate::model::{Outcome, Profile, Workload};

    const LONG: Duration = Duration::from_secs(60);

    /// Makes a shell script that stands for the executable, and the folder that contains it.
    /// Another process writes it. If this process wrote it, a child that another thread forks
    /// meanwhile would inherit the open file, and a file that is open for writing cannot be
    /// executed.
    fn subject(script: &str) -> (TempDir, PathBuf) {
        let home = tempfile::tempdir().unwrap();
        let program = home.path().join("subject");
        let written = Command::new("sh")
            .args([
                "-c",
                r#"printf '#!/bin/sh\n%s\n' "$1" >"$0" && chmod 755 "$0""#,
            ])
            .arg(&program)
            .arg(script)
            .status();
        assert!(written.unwrap().success());
        (home, program)
    }

    /// Takes a sample; returns it with the notices.
    fn sample_of(
        program: PathBuf,
        (timeout, exact): (Duration, bool),
        interrupt: &Interrupt,
    ) -> (Result<Outcome, SampleError>, Vec<String>) {
        let workload = Workload {
            name: "plain".to_owned(),
            ..Workload::default()
        };
        let job = Job {
            experiment: "race",
            workload: &workload,
            arm: "fast",
            block: 0,
            seed: 5,
            operations: 100,
            exact,
            padding: 3,
            timeout,
        };
        let mut processes = Processes::of(program, Profile::Smoke, interrupt.clone()).unwrap();
        let outcome = processes.sample(&job);
        (outcome, processes.notices())
    }

    fn failure_of(script: &str) -> String {
        let (_home, program) = subject(script);
        match sample_of(program, (LONG, true), &Interrupt::default()).0 {
            Err(SampleError::Failed(why)) => why,
            other => panic!("{other:?}"),
        }
    }

    const GOOD: &str =
        r#"echo '{"metrics":{"t":1.5},"operations":100,"elapsed_s":0.1,"digest":7}'"#;

    #[test]
    fn one_line_of_json_is_a_sample_and_stderr_a_notice_of_its_workload() {
        let (_home, program) = subject(&format!("echo 'no ring here' >&2; {GOOD}"));
        // A counting pass goes through all workloads, so its notices belong to none.
        for (exact, notices) in [(false, &["no ring here"][..]), (true, &[])] {
            let (outcome, said) = sample_of(program.clone(), (LONG, exact), &Interrupt::default());
            let outcome = outcome.unwrap();
            assert_eq!(
                (outcome.metrics["t"], outcome.operations, outcome.digest),
                (1.5, 100, 7)
            );
            assert_eq!(said, notices);
        }
    }

    #[test]
    fn the_process_is_told_what_to_do_and_padded() {
        let why = failure_of(r#"echo "$* pad=$FURLONG_PAD $RUST_BACKTRACE" >&2; exit 9"#);
        assert_eq!(
            why,
            "exit code 9: sample race plain fast --profile=smoke --seed=5 --operations=100 \
             --exact pad=xxx 0"
        );
    }

    #[test]
    fn what_is_no_sample_is_told_with_the_last_line_of_stderr() {
        for (script, wanted) in [
            (
                "echo first >&2; echo last >&2; echo >&2; exit 3",
                "exit code 3: last",
            ),
            ("exit 4", "exit code 4: it printed nothing"),
            (
                "echo no memory >&2; echo 'skipping backtrace printing' >&2; exit 1",
                "exit code 1: no memory",
            ),
            (
                "echo nonsense; echo reason >&2",
                "it printed \"nonsense\" instead of one line of JSON; reason",
            ),
            (&format!("{GOOD}; echo more"), "instead of one line of JSON"),
            ("true", "it printed \"\""),
            (r"printf '\377\376\000'", "one line of JSON"),
            ("head -c 3000000 /dev/zero | tr '\\0' a", "aaaa"),
        ] {
            let why = failure_of(script);
            assert!(why.contains(wanted), "{script}: {why}");
        }
    }

    #[test]
    fn a_process_that_does_not_end_is_killed() {
        let (_home, program) = subject("exec sleep 1000 >/dev/null 2>&1");
        let short = Duration::from_millis(50);
        let Err(SampleError::Failed(why)) =
            sample_of(program, (short, true), &Interrupt::default()).0
        else {
            panic!("it ended")
        };
        assert!(why.starts_with("took more than 0.05 s"), "{why}");
    }

    #[test]
    fn a_signal_ends_the_wait_and_nothing_is_started_afterwards() {
        let interrupt = Interrupt::default();
        let later = interrupt.clone();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            later.raise(2);
        });
        for script in ["exec sleep 1000", GOOD] {
            let (_home, program) = subject(script);
            let missed = sample_of(program, (Duration::from_secs(900), true), &interrupt);
            assert_eq!(missed.0, Err(SampleError::Interrupted));
        }
    }

    #[test]
    fn a_process_that_ctrl_c_killed_is_an_interruption() {
        let (_home, program) = subject("kill -INT $$");
        let missed = sample_of(program, (LONG, true), &Interrupt::default());
        assert_eq!(missed.0, Err(SampleError::Interrupted));
    }

    #[test]
    fn a_missing_executable_is_a_failed_sample() {
        let nowhere = "/nowhere/at/all".into();
        let Err(SampleError::Failed(why)) =
            sample_of(nowhere, (LONG, false), &Interrupt::default()).0
        else {
            panic!("it ran")
        };
        assert!(why.starts_with("cannot be run"), "{why}");
    }
}
