//! Any commands as arms: a sample is one run of one of them.
//!
//! Before a sample the user's own preparation runs; before the first, every command a few times if
//! the user wants. Neither is timed. A command that fails ends the contest, for a command that
//! fails does something else than what was to be compared; the user can say that it is no failure.
#![forbid(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::io::{self, PipeReader, Write};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use super::command::{Command, metrics_of, padded_environment};
use super::finished::{Ending, Finished};
use super::interrupt::Interrupt;
use super::launcher::{LaunchError, Launcher, Layout, Output, Task};
use super::sampler::{Job, Miss, Sampler};
use crate::error::cause;
use crate::experiments::Outcome;

/// One command of a contest.
#[derive(Clone, Debug)]
pub struct Contestant {
    /// Name of the arm.
    pub name: String,
    /// What it runs.
    pub command: Command,
}

/// What a command's failure means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failures {
    /// The contest ends.
    End,
    /// Nothing: an exit code or a signal is an end like any other.
    Count,
}

/// How commands are run.
#[derive(Clone, Debug)]
pub struct Rules {
    /// In the order in which they were given, the baseline first.
    pub contestants: Vec<Contestant>,
    /// Runs before each sample.
    pub prepare: Option<Command>,
    /// So many times each command runs before the first sample.
    pub warmup: u32,
    /// What the commands read.
    pub input: PathBuf,
    /// A command that takes longer has failed.
    pub limit: Option<Duration>,
    /// What a failure means.
    pub failures: Failures,
}

/// Commands, and the launcher that runs them.
pub struct Contest {
    rules: Rules,
    launcher: Launcher,
    interrupt: Interrupt,
    notices: RefCell<Vec<String>>,
    warm: Cell<bool>,
}

impl Contest {
    /// Makes the launcher ready.
    ///
    /// # Errors
    ///
    /// There is no launcher for this machine, or no place for it.
    pub fn new(rules: Rules, interrupt: Interrupt) -> Result<Rc<Self>, LaunchError> {
        Ok(Rc::new(Self {
            rules,
            launcher: Launcher::new()?,
            interrupt,
            notices: RefCell::new(vec![]),
            warm: Cell::new(false),
        }))
    }

    /// What is run, and how.
    #[must_use]
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// A command as a task, with so many bytes of padding besides what makes up for the different
    /// lengths of the commands.
    pub(super) fn task(&self, contestant: &Contestant, padding: usize) -> Task {
        let command = &contestant.command;
        let all = self.rules.contestants.iter();
        let longest = all
            .map(|other| other.command.stack_bytes())
            .max()
            .unwrap_or(0);
        let shortfall = longest.saturating_sub(command.stack_bytes());
        Task {
            program: command.program.clone(),
            arguments: command.arguments.clone(),
            environment: padded_environment(padding + shortfall),
            input: self.rules.input.clone(),
            output: Output::Discard,
            limit: self.rules.limit,
            layout: Layout::Random,
        }
    }

    /// The contestant of a job, after the user's preparation has run.
    pub(super) fn prepared(&self, arm: &str) -> Result<&Contestant, Miss> {
        let found = self
            .rules
            .contestants
            .iter()
            .find(|contestant| contestant.name == arm);
        let missing = || Miss::Failed(format!("there is no command `{arm}`"));
        let contestant = found.ok_or_else(missing)?;
        if let Some(prepare) = &self.rules.prepare {
            let step = Contestant {
                name: "--prepare".to_owned(),
                command: prepare.clone(),
            };
            let finished = self.finished(&self.task(&step, 0))?;
            self.accept(&step.name, &finished, Failures::End)?;
        }
        Ok(contestant)
    }

    /// Runs a task to its end; what keeps it from being started ends the contest.
    fn finished(&self, task: &Task) -> Result<Finished, Miss> {
        let run = |launcher: &Launcher, stop: &PipeReader| launcher.run(task, Some(stop));
        self.watched(run)?
            .map_err(|error| Miss::Fatal(error.to_string()))
    }

    /// Runs something with the launcher, so that Ctrl-C stops it.
    pub(super) fn watched<T>(
        &self,
        run: impl FnOnce(&Launcher, &PipeReader) -> T,
    ) -> Result<T, Miss> {
        let done = watched(&self.interrupt, |stop| run(&self.launcher, stop));
        done.map_err(|error| Miss::Fatal(format!("there is no pipe: {}", cause(&error))))?
            .ok_or(Miss::Interrupted)
    }

    /// Whether a command's end is one that counts.
    pub(super) fn accept(
        &self,
        name: &str,
        finished: &Finished,
        failures: Failures,
    ) -> Result<(), Miss> {
        let last = finished.last_error_line();
        let last = last
            .as_deref()
            .unwrap_or("it wrote nothing to standard error");
        match finished.ending {
            Ending::Exited(0) => Ok(()),
            Ending::TimedOut => Err(Miss::Fatal(format!(
                "`{name}` took more than {} s and was stopped (--timeout SECONDS allows more)",
                self.rules.limit.unwrap_or_default().as_secs_f64()
            ))),
            _ if failures == Failures::Count => Ok(()),
            ending => {
                let contends = self
                    .rules
                    .contestants
                    .iter()
                    .any(|other| other.name == name);
                let remedy = if contends {
                    " (--ignore-failure counts such runs too)"
                } else {
                    ""
                };
                Err(Miss::Fatal(format!(
                    "`{name}` failed: {ending}: {last}{remedy}"
                )))
            }
        }
    }

    /// Runs every command as often as the user wants before the first sample.
    fn warm_up(&self) -> Result<(), Miss> {
        if self.warm.replace(true) {
            return Ok(());
        }
        for contestant in &self.rules.contestants {
            for _ in 0..self.rules.warmup {
                let contestant = self.prepared(&contestant.name)?;
                let finished = self.finished(&self.task(contestant, 0))?;
                self.accept(&contestant.name, &finished, self.rules.failures)?;
            }
        }
        Ok(())
    }

    /// One sample.
    fn take(&self, job: &Job<'_>) -> Result<Outcome, Miss> {
        self.warm_up()?;
        let contestant = self.prepared(job.arm)?;
        let names = self
            .rules
            .contestants
            .iter()
            .map(|contestant| contestant.name.len());
        // The schedule pads for names of different length, since it takes them for arguments.
        let for_name = names.max().unwrap_or(0).saturating_sub(job.arm.len());
        let padding = job.padding.saturating_sub(for_name);
        let finished = self.finished(&self.task(contestant, padding))?;
        self.accept(job.arm, &finished, self.rules.failures)?;
        if finished.left_behind {
            self.notice(format!(
                "`{}` leaves processes running when it ends: they disturb the samples that follow",
                job.arm
            ));
        }
        Ok(Outcome {
            metrics: metrics_of(&finished.usage),
            operations: 1,
            elapsed_s: finished.usage.wall_s,
            digest: 0,
        })
    }

    fn notice(&self, text: String) {
        let mut notices = self.notices.borrow_mut();
        if !notices.contains(&text) {
            notices.push(text);
        }
    }
}

/// Runs something that Ctrl-C stops through a pipe; `None` where it was pressed.
pub(super) fn watched<T>(
    interrupt: &Interrupt,
    run: impl FnOnce(&PipeReader) -> T,
) -> io::Result<Option<T>> {
    let (stop, word) = io::pipe()?;
    interrupt.wake(move || {
        // Whoever would read it may be gone already.
        let _ = (&word).write_all(b"!");
    });
    let pressed = || interrupt.signal().is_some();
    let done = (!pressed()).then(|| run(&stop));
    Ok(done.filter(|_| !pressed()))
}

/// Samples a contest's commands.
pub struct Timed(pub Rc<Contest>);

impl Sampler for Timed {
    fn sample(&mut self, job: &Job<'_>) -> Result<Outcome, Miss> {
        self.0.take(job)
    }

    fn notices(&mut self) -> Vec<String> {
        self.0.notices.borrow().clone()
    }
}
