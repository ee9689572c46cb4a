//! Arbitrary commands as arms: a sample is one run of one of them.
//!
//! The user's preparation runs before every sample. Before the first sample, the setup runs and, if
//! the user wants, every command a few times. After the last sample, the cleanup runs. None of it
//! is timed. A command that fails ends the comparison, because it does something else than the
//! work to be compared; the user can allow failures.

use std::cell::{Cell, RefCell};
use std::io::{self, PipeReader, Write};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use super::output::Outputs;
use super::pattern::Pattern;
use crate::error::cause;
use crate::measure::interrupt::Interrupt;
use crate::measure::launch::command::{Command, EXIT_CODE, metrics_of, padded_environment};
use crate::measure::launch::finished::{Ending, Finished};
use crate::measure::launch::launcher::{LaunchError, Launcher, Layout, Output, Task};
use crate::measure::launch::pmu::{Counters, Event, Overhead};
use crate::measure::sampler::{Job, SampleError, Sampler};
use crate::model::Outcome;
use furlong_stats::layouts::layout_of;

/// One command of a comparison.
#[derive(Clone, Debug)]
pub struct CommandArm {
    /// Name of the arm.
    pub name: String,
    /// Command that it runs, one for each code layout; at least one.
    pub commands: Vec<Command>,
    /// Command to run before each sample.
    pub prepare: Option<Command>,
    /// Command to run after each sample.
    pub conclude: Option<Command>,
    /// Destination of its standard output.
    pub output: Output,
}

/// The commands of one workload.
#[derive(Clone, Debug, Default)]
pub struct CommandWorkload {
    /// Name of the workload.
    pub name: String,
    /// Commands in the order in which they were given, the baseline first.
    pub arms: Vec<CommandArm>,
    /// Commands to run once before everything else of the workload.
    pub setup: Vec<Command>,
    /// Commands to run once after everything else, however that ended.
    pub cleanup: Vec<Command>,
}

impl CommandWorkload {
    /// Returns the bytes on the stack of its longest command.
    fn longest(&self) -> usize {
        let all = self.arms.iter().flat_map(|arm| &arm.commands);
        let bytes = all.map(Command::stack_bytes);
        bytes.max().unwrap_or(0)
    }
}

/// Meaning of a command's failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failures {
    /// The comparison ends.
    End,
    /// The sample counts: an exit code or a signal is a valid end.
    Count,
    /// The sample counts if it ends with one of these codes; else the comparison ends.
    CountThese(Vec<u8>),
}

impl Failures {
    /// True if a run that ends in this way counts.
    pub fn counts(&self, ending: Ending) -> bool {
        match (self, ending.code()) {
            (_, None) => false,
            (_, Some(0)) | (Self::Count, _) => true,
            (Self::End, _) => false,
            (Self::CountThese(codes), Some(code)) => codes.contains(&code),
        }
    }
}

/// Rules by which commands run.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Workloads, one per workload.
    pub workloads: Vec<CommandWorkload>,
    /// Counters of processor and kernel to read for every sample.
    pub events: Vec<&'static Event>,
    /// Patterns to find in the output of the commands.
    pub patterns: Vec<Pattern>,
    /// True if the commands of a workload must print the same.
    pub same_output: bool,
    /// Runs of each command before the first sample.
    pub warmup: u32,
    /// File that is the commands' standard input.
    pub input: PathBuf,
    /// Time after which a command has failed.
    pub limit: Option<Duration>,
    /// Meaning of a failure.
    pub failures: Failures,
}

/// Commands, and the launcher that runs them.
pub struct CommandComparison {
    rules: Rules,
    launcher: Launcher,
    interrupt: Interrupt,
    outputs: Option<Outputs>,
    overhead: Overhead,
    notices: RefCell<Vec<String>>,
    /// The workload that is set up.
    entered: Cell<Option<usize>>,
    /// The last workload whose commands were warmed up.
    warm: Cell<Option<usize>>,
}

impl CommandComparison {
    /// Prepares the launcher.
    ///
    /// # Errors
    ///
    /// The launcher does not support this machine, or has no place to run from.
    pub fn new(rules: Rules, interrupt: Interrupt) -> Result<Rc<Self>, LaunchError> {
        let reads = rules.same_output || !rules.patterns.is_empty();
        let outputs = reads.then(Outputs::new).transpose();
        let launcher = Launcher::new()?;
        Ok(Rc::new(Self {
            overhead: Overhead::measure(&launcher, &rules.events)?,
            rules,
            launcher,
            interrupt,
            outputs: outputs.map_err(LaunchError::NoPlace)?,
            notices: RefCell::new(vec![]),
            entered: Cell::new(None),
            warm: Cell::new(None),
        }))
    }

    /// Returns the rules.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Returns a command as a task. Its arguments and padded environment take `stack_bytes`
    /// together.
    fn padded(&self, command: &Command, stack_bytes: usize) -> Task {
        let padding = stack_bytes.saturating_sub(command.stack_bytes());
        // The launcher opens it, in the command's folder.
        let input = std::path::absolute(&self.rules.input);
        Task {
            program: command.program.clone(),
            arguments: command.arguments.clone(),
            folder: command.folder.clone(),
            environment: padded_environment(padding),
            input: input.unwrap_or_else(|_| self.rules.input.clone()),
            output: Output::Discard,
            limit: self.rules.limit,
            layout: Layout::Random,
        }
    }

    /// Returns the command of a job as a task, after everything that has to run before it. The task
    /// has `padding` bytes besides the padding that evens out the lengths of the commands.
    pub(in crate::measure) fn prepared(
        &self,
        job: &Job<'_>,
        padding: usize,
    ) -> Result<Task, SampleError> {
        let workload = self.enter(&job.workload.name)?;
        self.task_of(workload, arm_of(workload, job.arm)?, (job.block, padding))
    }

    /// Runs everything that has to run after the command of a job.
    pub(in crate::measure) fn conclude(&self, job: &Job<'_>) -> Result<(), SampleError> {
        let workload = self.enter(&job.workload.name)?;
        self.conclude_arm(arm_of(workload, job.arm)?)
    }

    fn conclude_arm(&self, arm: &CommandArm) -> Result<(), SampleError> {
        let step = |conclude| self.step("--conclude", conclude);
        arm.conclude.as_ref().map_or(Ok(()), step)
    }

    fn task_of(
        &self,
        workload: &CommandWorkload,
        arm: &CommandArm,
        (block, padding): (u32, usize),
    ) -> Result<Task, SampleError> {
        if let Some(prepare) = &arm.prepare {
            self.step("--prepare", prepare)?;
        }
        let layout = layout_of(block, arm.commands.len() as u32);
        let command = &arm.commands[layout as usize];
        let mut task = self.padded(command, workload.longest() + padding);
        task.output = arm.output.clone();
        Ok(task)
    }

    /// Runs a command that is not a sample and must succeed.
    fn step(&self, name: &str, command: &Command) -> Result<(), SampleError> {
        let finished = self.finished(&self.padded(command, 0))?;
        self.accept(name, &finished, &Failures::End)
    }

    /// Sets a workload up unless it is set up already. The workload before it is cleaned up first.
    fn enter(&self, name: &str) -> Result<&CommandWorkload, SampleError> {
        let place = self
            .rules
            .workloads
            .iter()
            .position(|workload| workload.name == name);
        let missing = || SampleError::Failed(format!("there is no command for `{name}`"));
        let place = place.ok_or_else(missing)?;
        let workload = &self.rules.workloads[place];
        if self.entered.get() != Some(place) {
            for failure in self.leave() {
                self.notice(failure);
            }
            self.entered.set(Some(place));
            for setup in &workload.setup {
                self.step("--setup", setup)?;
            }
        }
        Ok(workload)
    }

    /// Cleans up the workload that is set up, also after an interruption. Returns the failures.
    pub fn leave(&self) -> Vec<String> {
        let Some(place) = self.entered.take() else {
            return vec![];
        };
        self.warm.set(None);
        let failure = |cleanup: &Command| {
            let finished = self.launcher.run(&self.padded(cleanup, 0), None);
            let finished = finished.map_err(|error| error.to_string());
            let why = match finished.map(|finished| (finished.ending, finished)) {
                Ok((Ending::Exited(0), _)) => return None,
                Ok((ending, finished)) => format!("{ending}: {}", last_words(&finished)),
                Err(why) => why,
            };
            Some(format!("`--cleanup` failed: {why}: clean up manually"))
        };
        self.rules.workloads[place]
            .cleanup
            .iter()
            .filter_map(failure)
            .collect()
    }

    /// Runs a task to its end. A task that cannot be started ends the comparison.
    fn finished(&self, task: &Task) -> Result<Finished, SampleError> {
        let run = |launcher: &Launcher, stop: &PipeReader| launcher.run(task, Some(stop));
        self.watched(run)?
            .map_err(|error| SampleError::Fatal(error.to_string()))
    }

    /// Runs a function with the launcher, so that Ctrl-C stops it.
    pub(in crate::measure) fn watched<T>(
        &self,
        run: impl FnOnce(&Launcher, &PipeReader) -> T,
    ) -> Result<T, SampleError> {
        let done = watched(&self.interrupt, |stop| run(&self.launcher, stop));
        done.map_err(|error| {
            SampleError::Fatal(format!("cannot create a pipe: {}", cause(&error)))
        })?
        .ok_or(SampleError::Interrupted)
    }

    /// Checks that a command's end is a valid one.
    pub(in crate::measure) fn accept(
        &self,
        name: &str,
        finished: &Finished,
        failures: &Failures,
    ) -> Result<(), SampleError> {
        match finished.ending {
            ending if failures.counts(ending) => Ok(()),
            Ending::TimedOut => Err(SampleError::Fatal(format!(
                "`{name}` took more than {} s and was stopped (--timeout SECONDS allows more)",
                self.rules.limit.unwrap_or_default().as_secs_f64()
            ))),
            ending => {
                let workloads = self.rules.workloads.iter();
                let mut arms = workloads.flat_map(|workload| &workload.arms);
                let arm = arms.find(|arm| arm.name == name);
                let shown = arm.is_some_and(|arm| arm.output == Output::Inherit);
                let last = match shown {
                    true => "its messages are above".to_owned(),
                    false => last_words(finished),
                };
                let remedy = match arm {
                    Some(_) => " (--ignore-failure counts such runs too)",
                    None => "",
                };
                Err(SampleError::Fatal(format!(
                    "`{name}` failed: {ending}: {last}{remedy}"
                )))
            }
        }
    }

    /// Runs the warm-up of a workload before its first sample.
    fn warm_up(&self, workload: &CommandWorkload) -> Result<(), SampleError> {
        if self.warm.get() == self.entered.get() {
            return Ok(());
        }
        self.warm.set(self.entered.get());
        for arm in &workload.arms {
            for _ in 0..self.rules.warmup {
                self.run_untimed(workload, arm, (0, 0))?;
            }
        }
        Ok(())
    }

    fn run_untimed(
        &self,
        workload: &CommandWorkload,
        arm: &CommandArm,
        place: (u32, usize),
    ) -> Result<(), SampleError> {
        let task = self.task_of(workload, arm, place)?;
        let finished = self.finished(&task)?;
        self.conclude_arm(arm)?;
        self.accept(&arm.name, &finished, &self.rules.failures)
    }

    /// Takes one sample.
    fn take(&self, job: &Job<'_>) -> Result<Outcome, SampleError> {
        let mut task = self.next(job, job.arm)?;
        if let Some(outputs) = &self.outputs {
            task.output = outputs.kept();
        }
        // Opened for each sample: the counters begin with the next program and end with it.
        let mut counters = Counters::open(&self.rules.events).map_err(SampleError::Fatal)?;
        let finished = self.finished(&task)?;
        let counted = counters.read();
        let mut outcome = self.outcome(job, job.arm, &finished)?;
        for (metric, count) in counted.map_err(SampleError::Failed)? {
            let value = self.overhead.taken_off(metric, count.value);
            outcome.metrics.insert(metric.to_owned(), value);
            if count.share < 1.0 {
                self.notice(format!(
                    "{metric} shared a hardware counter and is scaled: count fewer metrics, or \
                     stop other users of the counters (perf, a watchdog)"
                ));
            }
        }
        if let Some(outputs) = &self.outputs {
            let printed = outputs.find(&self.rules.patterns, &finished);
            outcome
                .metrics
                .extend(printed.map_err(SampleError::Failed)?);
            if self.rules.same_output {
                outcome.digest = outputs.digest().map_err(SampleError::Failed)?;
            }
        }
        Ok(outcome)
    }

    /// Returns the names of a workload's first two arms.
    pub(super) fn pair(&self, workload: &str) -> Result<[String; 2], SampleError> {
        match &self.enter(workload)?.arms[..] {
            [one, other, ..] => Ok([one.name.clone(), other.name.clone()]),
            _ => Err(SampleError::Fatal("a duet needs two commands".to_owned())),
        }
    }

    /// Takes a sample of each of two arms, which run at once. The job's own arm does not count.
    pub(super) fn take_both(
        &self,
        job: &Job<'_>,
        arms: [&str; 2],
        processors: [usize; 2],
    ) -> Result<[Outcome; 2], SampleError> {
        let tasks = [self.next(job, arms[0])?, self.next(job, arms[1])?];
        let run = |launcher: &Launcher, stop: &PipeReader| {
            launcher.run_both(tasks.each_ref(), processors, Some(stop))
        };
        let [one, other] = self
            .watched(run)?
            .map_err(|error| SampleError::Fatal(error.to_string()))?;
        // Both are concluded, also if one failed.
        let one = self.outcome(job, arms[0], &one);
        let other = self.outcome(job, arms[1], &other);
        Ok([one?, other?])
    }

    /// Returns the next timed run of an arm, after everything that has to run before it.
    fn next(&self, job: &Job<'_>, arm: &str) -> Result<Task, SampleError> {
        let workload = self.enter(&job.workload.name)?;
        self.warm_up(workload)?;
        let names = workload.arms.iter().map(|arm| arm.name.len());
        // The schedule pads for names of different length because it takes them for arguments. Here
        // they are not, so that padding is removed.
        let for_name = names.max().unwrap_or(0).saturating_sub(job.arm.len());
        let padding = job.padding.saturating_sub(for_name);
        let arm = arm_of(workload, arm)?;
        if arm.commands.len() > 1 {
            // The first run of a layout finds its file in no cache, and the baseline alone has a
            // second one: identical programs differed by 0.7 %. So none is timed.
            self.run_untimed(workload, arm, (job.block, padding))?;
        }
        self.task_of(workload, arm, (job.block, padding))
    }

    /// Concludes a run of an arm, and returns its figures if its end is a valid one.
    fn outcome(
        &self,
        job: &Job<'_>,
        arm: &str,
        finished: &Finished,
    ) -> Result<Outcome, SampleError> {
        self.conclude_arm(arm_of(self.enter(&job.workload.name)?, arm)?)?;
        self.accept(arm, finished, &self.rules.failures)?;
        if finished.left_behind {
            self.notice(format!(
                "`{arm}` leaves processes running when it ends: they disturb the next samples"
            ));
        }
        let mut metrics = metrics_of(&finished.usage);
        metrics.extend(code_of(finished.ending));
        Ok(Outcome {
            metrics,
            operations: 1,
            elapsed_s: finished.usage.wall_s,
            digest: 0,
        })
    }

    /// Returns what the user should know about the runs so far.
    pub(super) fn notices(&self) -> Vec<String> {
        self.notices.borrow().clone()
    }

    fn notice(&self, text: String) {
        let mut notices = self.notices.borrow_mut();
        if !notices.contains(&text) {
            notices.push(text);
        }
    }
}

/// Returns the arm of that name.
fn arm_of<'a>(workload: &'a CommandWorkload, name: &str) -> Result<&'a CommandArm, SampleError> {
    let mut arms = workload.arms.iter();
    let missing = || SampleError::Failed(format!("there is no command `{name}`"));
    arms.find(|one| one.name == name).ok_or_else(missing)
}

/// Returns the metric of an exit code.
fn code_of(ending: Ending) -> Option<(String, f64)> {
    Some((EXIT_CODE.to_owned(), ending.code()?.into()))
}

/// Returns the command's last line on standard error, for a message.
fn last_words(finished: &Finished) -> String {
    let last = finished.last_error_line();
    last.unwrap_or_else(|| "it wrote nothing to standard error".to_owned())
}

/// Runs a function that Ctrl-C stops through a pipe; `None` if it was pressed.
pub(in crate::measure) fn watched<T>(
    interrupt: &Interrupt,
    run: impl FnOnce(&PipeReader) -> T,
) -> io::Result<Option<T>> {
    let (stop, word) = io::pipe()?;
    interrupt.wake(move || {
        // The reader may be gone already.
        let _ = (&word).write_all(b"!");
    });
    let pressed = || interrupt.signal().is_some();
    let done = (!pressed()).then(|| run(&stop));
    Ok(done.filter(|_| !pressed()))
}

/// Sampler of a comparison's commands.
pub struct Timed(pub Rc<CommandComparison>);

impl Sampler for Timed {
    fn sample(&mut self, job: &Job<'_>) -> Result<Outcome, SampleError> {
        self.0.take(job)
    }

    fn notices(&mut self) -> Vec<String> {
        self.0.notices()
    }
}
