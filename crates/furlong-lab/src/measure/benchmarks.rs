//! Benchmarks of `cargo bench` as workloads: a sample is one process of a bench program, which
//! runs one benchmark of furlong-bench.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::PipeReader;
use std::path::PathBuf;
use std::time::Duration;

use furlong_bench::protocol::{COUNT, LIST, Outcome as Answer, VARIABLE};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use super::commands::comparison::watched;
use super::interrupt::Interrupt;
use super::launch::command::padded_environment;
use super::launch::finished::{Ending, Finished};
use super::launch::launcher::{Launcher, Output, Task};
use super::layouts::view;
use super::process::{ended, missed, no_file};
use super::sampler::{Job, SampleError, Sampler};
use crate::error::Error;
use crate::model::result::Kind;
use crate::model::{MetricPlan, Outcome};
use furlong_stats::layouts::layout_of;

/// Time of one operation.
const TIME: &str = "time_ns_per_op";

/// The smallest difference that matters, per cent.
const MARGIN_PCT: f64 = 1.0;

/// Time for the list of a program's benchmarks. Another harness may measure instead of listing.
const LIST_S: u64 = 60;

/// One benchmark, in the program of each arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Benchmark {
    /// Name of the workload.
    pub workload: String,
    /// Its group.
    pub group: String,
    /// Its name in the group.
    pub bench: String,
    /// Programs, the baseline's first.
    pub programs: Vec<Program>,
}

/// A bench program as `cargo bench` runs it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// The executable.
    pub file: PathBuf,
    /// The folder of its package.
    pub folder: PathBuf,
}

/// Code layouts in which the programs of each arm were linked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InLayouts {
    /// Number of layouts. The blocks go through them in turn.
    pub number: u32,
    /// The checkout of each arm, whose views have the programs.
    pub checkouts: Vec<PathBuf>,
}

impl InLayouts {
    /// Returns an arm's program in the layout of a block.
    fn program(&self, arm: usize, program: &Program, block: u32) -> Option<Program> {
        let checkout = self.checkouts.get(arm)?;
        // cargo tells paths without symbolic links.
        let plain = fs::canonicalize(checkout);
        let within = program.file.strip_prefix(checkout);
        let within = within.or_else(|error| match &plain {
            Ok(plain) => program.file.strip_prefix(plain),
            Err(_) => Err(error),
        });
        let within = within.ok()?;
        Some(Program {
            file: view(checkout, layout_of(block, self.number)).join(within),
            folder: program.folder.clone(),
        })
    }
}

/// Returns the metric of a benchmark.
pub fn metric() -> MetricPlan {
    MetricPlan::new(
        TIME,
        "ns",
        Kind::Sampled,
        MARGIN_PCT,
        "time of one operation",
    )
}

/// The programs, run one at a time.
pub struct Programs {
    interrupt: Interrupt,
    launcher: Launcher,
    /// Directory of the file that a program prints to.
    place: TempDir,
}

impl Programs {
    /// Prepares the launcher.
    ///
    /// # Errors
    ///
    /// There is no place for the launcher or for the output.
    pub fn new(interrupt: Interrupt) -> Result<Self, Error> {
        let launcher = Launcher::new().map_err(|error| Error::failed(error.to_string()))?;
        let place = tempfile::tempdir();
        Ok(Self {
            interrupt,
            launcher,
            place: place.map_err(|error| Error::failed(no_file(&error)))?,
        })
    }

    /// Returns the benchmarks of a program as pairs of group and name, or `None` if its harness is
    /// not furlong-bench.
    ///
    /// # Errors
    ///
    /// It was interrupted, or cannot be run.
    pub fn list(&self, program: &Program) -> Result<Option<Vec<(String, String)>>, SampleError> {
        // Other harnesses know these arguments and list too, in other words.
        let mut task = self.task(program, &["--bench", "--list"], 0, LIST);
        task.limit = Some(Duration::from_secs(LIST_S));
        let finished = self.finished(&task)?;
        let is_done = finished.ending == Ending::Exited(0);
        Ok(self.answer(&finished).ok().filter(|_| is_done))
    }

    fn task(&self, program: &Program, arguments: &[&str], padding: usize, asked: &str) -> Task {
        let mut environment = padded_environment(padding);
        let further = variables(program, asked);
        environment.retain(|(name, _)| further.iter().all(|(own, _)| name != own));
        environment.extend(further);
        Task {
            folder: Some(program.folder.clone()),
            environment,
            output: Output::File(self.said()),
            ..Task::new(&program.file, arguments)
        }
    }

    fn said(&self) -> PathBuf {
        self.place.path().join("said")
    }

    fn finished(&self, task: &Task) -> Result<Finished, SampleError> {
        let run = |launcher: &Launcher, stop: &PipeReader| launcher.run(task, Some(stop));
        self.watched(run)?.map_err(missed)
    }

    /// Runs something that stops when the user wants to.
    fn watched<T>(&self, run: impl FnOnce(&Launcher, &PipeReader) -> T) -> Result<T, SampleError> {
        let done = watched(&self.interrupt, |stop| run(&self.launcher, stop));
        let done = done.map_err(|error| SampleError::Failed(no_file(&error)))?;
        done.ok_or(SampleError::Interrupted)
    }

    /// Reads the last line. A benchmark may print before it.
    fn answer<T: DeserializeOwned>(&self, finished: &Finished) -> Result<T, SampleError> {
        let text = fs::read(self.said());
        let text = text.map_err(|error| SampleError::Failed(no_file(&error)))?;
        let text = String::from_utf8_lossy(&text);
        let line = text.lines().last().unwrap_or_default();
        serde_json::from_str(line).map_err(|_| {
            let start: String = line.chars().take(60).collect();
            let last = finished.last_error_line().unwrap_or_default();
            SampleError::Failed(format!("it ended with {start:?} instead of JSON; {last}"))
        })
    }
}

/// The variables of a request to a program.
fn variables(program: &Program, asked: &str) -> Vec<(OsString, OsString)> {
    let variables = [
        (VARIABLE, asked.into()),
        ("CARGO_MANIFEST_DIR", OsString::from(&program.folder)),
        // The last line of a failed sample is shown. It has to be the message.
        ("RUST_BACKTRACE", "0".into()),
    ];
    variables.map(|(name, value)| (name.into(), value)).into()
}

/// Sampler of benchmarks.
pub struct Benchmarks {
    programs: Programs,
    /// Names of the arms, the baseline first.
    arms: Vec<String>,
    benchmarks: Vec<Benchmark>,
    layouts: Option<InLayouts>,
    /// Digests of the answers to the latest seed and operations, by workload.
    answers: BTreeMap<String, ((u64, u64), u64)>,
    notices: Vec<String>,
}

impl Benchmarks {
    /// Returns a sampler of benchmarks.
    pub fn new(
        programs: Programs,
        arms: Vec<String>,
        (benchmarks, layouts): (Vec<Benchmark>, Option<InLayouts>),
    ) -> Self {
        Self {
            programs,
            arms,
            benchmarks,
            layouts,
            answers: BTreeMap::new(),
            notices: vec![],
        }
    }

    /// Notes that revisions answer differently. That may be the change to be measured.
    fn compare_answers(&mut self, job: &Job<'_>, digest: u64) {
        let latest = self.answers.entry(job.workload.name.clone());
        // A calibration has more operations at each try, and so more answers.
        let now = ((job.seed, job.operations), digest);
        let (_, first) = *latest
            .and_modify(|one| {
                if one.0 != now.0 {
                    *one = now;
                }
            })
            .or_insert(now);
        if first != digest {
            let text = "the revisions answer differently: they may not do the same work";
            self.notices.push(text.to_owned());
        }
    }
}

impl Benchmarks {
    /// Returns the program of a sample, and the request.
    fn asked(&self, job: &Job<'_>) -> Result<(Program, String), SampleError> {
        let missing = || SampleError::Failed(format!("there is no program of `{}`", job.arm));
        let mut all = self.benchmarks.iter();
        let benchmark = all.find(|one| one.workload == job.workload.name);
        let benchmark = benchmark.ok_or_else(missing)?;
        let at = self.arms.iter().position(|arm| arm == job.arm);
        let program = at.and_then(|at| {
            let program = benchmark.programs.get(at)?;
            match &self.layouts {
                Some(layouts) => layouts.program(at, program, job.block),
                None => Some(program.clone()),
            }
        });
        let program = program.ok_or_else(missing)?;
        let asked = (&benchmark.group, &benchmark.bench, job.operations, job.seed);
        let asked = serde_json::to_string(&asked);
        let asked = asked.map_err(|error| SampleError::Failed(error.to_string()))?;
        Ok((program, asked))
    }

    /// Returns the task of a sample whose instructions are counted, and its variables.
    pub(super) fn counted(
        &self,
        job: &Job<'_>,
    ) -> Result<(Task, Vec<(OsString, OsString)>), SampleError> {
        let (program, asked) = self.asked(job)?;
        let mut variables = variables(&program, &asked);
        variables.push((COUNT.into(), "1".into()));
        Ok((
            self.programs.task(&program, &["--bench"], 0, &asked),
            variables,
        ))
    }

    /// Runs something that stops when the user wants to.
    pub(super) fn watched<T>(
        &self,
        run: impl FnOnce(&Launcher, &PipeReader) -> T,
    ) -> Result<T, SampleError> {
        self.programs.watched(run)
    }

    /// Reads the answer of a sample that has ended.
    pub(super) fn answer(&self, finished: &Finished) -> Result<Answer, SampleError> {
        self.programs.answer(finished)
    }
}

impl Sampler for Benchmarks {
    fn sample(&mut self, job: &Job<'_>) -> Result<Outcome, SampleError> {
        let (program, asked) = self.asked(job)?;
        // The schedule pads for names of different length. Here they are no arguments.
        let longest = self.arms.iter().map(String::len).max().unwrap_or(0);
        let padding = job.padding.saturating_sub(longest - job.arm.len());
        let mut task = self.programs.task(&program, &["--bench"], padding, &asked);
        task.limit = Some(job.timeout);
        let finished = self.programs.finished(&task)?;
        ended(&finished, job)?;
        let answer: Answer = self.programs.answer(&finished)?;
        self.compare_answers(job, answer.digest);
        let time = 1e9 * answer.elapsed_s / answer.operations.max(1) as f64;
        Ok(Outcome {
            metrics: BTreeMap::from([(TIME.to_owned(), time)]),
            operations: answer.operations,
            elapsed_s: answer.elapsed_s,
            // Answers may differ here, which is told by a notice.
            digest: 0,
        })
    }

    fn first_operations(&self) -> u64 {
        1
    }

    fn notices(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notices)
    }
}
