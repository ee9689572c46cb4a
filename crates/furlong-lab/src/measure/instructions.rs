//! Instructions as a metric: a pass over every arm under callgrind, before the blocks.
//!
//! A command's instructions are those of all its processes, from beginning to end. An experiment's
//! are per operation. The process runs twice, once with half of the operations; the difference in
//! instructions is divided by the difference in operations. One-time work (the start, the warm-up)
//! cancels. The cost of making the operations' inputs does not.

use std::collections::BTreeMap;
use std::io::PipeReader;
use std::mem;
use std::rc::Rc;
use std::time::Duration;

use furlong_bench::calibrate::calibrate;
use furlong_bench::protocol::COUNTED;
use furlong_stats::attribution::{Costs, attribution};
use furlong_stats::flame::frames;
use serde_json::{Value, json};

use super::benchmarks::Benchmarks;
use super::commands::comparison::CommandComparison;
use super::interrupt::Interrupt;
use super::launch::callgrind::{Callgrind, CallgrindError, Count, per_operation};
use super::launch::finished::Ending;
use super::launch::functions::{self, Profiled};
use super::launch::launcher::{LaunchError, Launcher};
use super::launch::names::stable;
use super::process::Processes;
use super::sampler::{Job, Pass, SampleError, Sampler, When};
use crate::error::Error;
use crate::model::result::Kind;
use crate::model::{MetricPlan, Outcome, Profile};
use crate::record::functions::{Difference, FRAMES_MAX, FUNCTIONS, FUNCTIONS_MAX, Functions};
pub use crate::record::judged::{INSTRUCTIONS, INSTRUCTIONS_PER_OP};

/// Misses of a command in the first caches.
pub const FIRST_MISSES: &str = "sim_l1_misses";

/// Misses of a command in the last cache.
pub const LAST_MISSES: &str = "sim_ll_misses";

/// Maximum number of operations; more would take minutes under callgrind.
const OPERATIONS_MAX: u64 = 1 << 16;

/// Seconds of a benchmark's counted operations without callgrind.
const COUNT_S: f64 = 0.001;

/// Longest operation of a benchmark that is counted.
const OPERATION_S_MAX: f64 = 0.05;

/// Time after which a counted process of a benchmark has failed.
const COUNT_LIMIT: Duration = Duration::from_secs(30);

/// Usual slowdown of a program under callgrind, used for estimates.
pub const SLOWDOWN: f64 = 50.0;

/// Maximum slowdown of a program under callgrind, used for its timeout.
const SLOWDOWN_MAX: u32 = 100;

/// The smallest difference in counts that matters, per cent.
const MARGIN_PCT: f64 = 0.1;

/// Returns the pass that counts the instructions of a comparison's commands and, with `caches`, the
/// misses of simulated ones.
///
/// # Errors
///
/// Valgrind is not installed.
pub fn of_commands(
    comparison: &Rc<CommandComparison>,
    caches: bool,
) -> Result<Pass<'static>, Error> {
    let callgrind = Callgrind {
        caches,
        ..callgrind()?
    };
    let sampler = CommandCounts {
        comparison: Rc::clone(comparison),
        callgrind,
        counted: Counted::default(),
    };
    Ok(Pass {
        metrics: metrics_of_commands(caches),
        sampler: Box::new(sampler),
        when: When::Before,
    })
}

/// Returns the metrics of [`of_commands`].
pub fn metrics_of_commands(caches: bool) -> Vec<MetricPlan> {
    let about = "instructions outside the kernel of all processes of the command, by callgrind";
    let mut metrics = vec![metric(INSTRUCTIONS, about)];
    if caches {
        let about = "misses of the first caches, simulated by callgrind";
        metrics.push(metric(FIRST_MISSES, about));
        let about = "misses of the last cache, simulated by callgrind";
        metrics.push(metric(LAST_MISSES, about));
    }
    metrics
}

/// Returns the pass that counts the instructions of this executable's own samples.
///
/// # Errors
///
/// Valgrind is not installed, or the launcher cannot run.
pub fn of_samples(profile: Profile, interrupt: Interrupt) -> Result<Pass<'static>, Error> {
    let sampler = SampleCounts {
        processes: Processes::of_this(profile, interrupt)?,
        callgrind: callgrind()?,
    };
    let about = "instructions of one operation and of making its input, by callgrind";
    Ok(Pass {
        metrics: vec![metric(INSTRUCTIONS_PER_OP, about)],
        sampler: Box::new(sampler),
        when: When::Before,
    })
}

/// Returns the metric of [`of_benchmarks`].
pub fn metric_of_benchmarks() -> MetricPlan {
    let about = "instructions of one operation in the thread that measures it, by callgrind";
    metric(INSTRUCTIONS_PER_OP, about)
}

/// Returns the pass that counts the instructions of benchmarks.
///
/// # Errors
///
/// Valgrind is not installed.
pub fn of_benchmarks(benchmarks: Benchmarks) -> Result<Pass<'static>, Error> {
    let callgrind = Callgrind {
        within: Some(COUNTED.to_owned()),
        ..callgrind()?
    };
    let sampler = BenchmarkCounts {
        benchmarks,
        callgrind,
        operations: BTreeMap::new(),
        counted: Counted::default(),
    };
    Ok(Pass {
        metrics: vec![metric_of_benchmarks()],
        sampler: Box::new(sampler),
        when: When::Before,
    })
}

/// Searches valgrind.
///
/// # Errors
///
/// It is not installed.
pub fn callgrind() -> Result<Callgrind, Error> {
    Callgrind::new().map_err(|error| Error::usage(error.to_string()))
}

/// Returns a metric of this pass.
fn metric(name: &str, about: &str) -> MetricPlan {
    MetricPlan::new(name, "1", Kind::Exact, MARGIN_PCT, about)
}

/// Returns an outcome with one count only.
fn outcome(name: &str, value: f64) -> Outcome {
    Outcome {
        metrics: BTreeMap::from([(name.to_owned(), value)]),
        ..Outcome::default()
    }
}

/// Functions of the arms of a workload, the baseline first.
#[derive(Default)]
struct Counted(Vec<(String, Profiled)>);

impl Counted {
    /// Adds an arm, or replaces what an earlier process of it counted.
    fn add(&mut self, arm: &str, count: &Count, operations: u64) {
        let Some(found) = functions::profiled(&count.profiles) else {
            return;
        };
        self.0.retain(|(counted, _)| counted != arm);
        self.0.push((arm.to_owned(), found.per(operations as f64)));
    }

    /// The functions behind the difference of each arm from the baseline, and an empty list for the
    /// next workload.
    fn fact(&mut self) -> Option<(&'static str, Value)> {
        let arms = mem::take(&mut self.0);
        let ((_, base), others) = arms.split_first()?;
        let behind = others
            .iter()
            .map(|(arm, found)| (arm.clone(), difference([base, found])));
        let behind: Functions = behind.collect();
        Some((FUNCTIONS, json!(behind)))
    }
}

/// Returns the difference between two commands by function, and their call stacks.
fn difference(found: [&Profiled; 2]) -> Difference {
    let attribution = attribution(found.map(|one| &one.functions)).greatest(FUNCTIONS_MAX);
    let frames = match attribution.causes.is_empty() {
        true => vec![],
        false => frames(found.map(|one| &one.symbols), stable, FRAMES_MAX),
    };
    Difference {
        attribution,
        frames,
    }
}

/// Counts whole commands.
struct CommandCounts {
    comparison: Rc<CommandComparison>,
    callgrind: Callgrind,
    counted: Counted,
}

/// Runs a command once under callgrind, for at most `limit` if it has no time limit of its own.
fn count_command(
    comparison: &Rc<CommandComparison>,
    callgrind: &Callgrind,
    job: &Job<'_>,
    limit: Option<Duration>,
) -> Result<Count, SampleError> {
    let mut task = comparison.prepared(job, 0)?;
    let own = task.limit.map(|limit| limit.saturating_mul(SLOWDOWN_MAX));
    task.limit = own.or(limit);
    let run = |launcher: &Launcher, stop: &PipeReader| callgrind.count(launcher, &task, Some(stop));
    let counted = comparison.watched(run)?;
    // Also after a count that failed.
    comparison.conclude(job)?;
    let count = counted.map_err(missed)?;
    match comparison.rules().failures.counts(count.finished.ending) {
        true => Ok(count),
        false => Err(missed(failed(&count))),
    }
}

/// Returns the instructions of a command by function; `None` if they cannot be counted.
pub fn costs(comparison: &Rc<CommandComparison>, job: &Job<'_>, limit: Duration) -> Option<Costs> {
    let count = count_command(comparison, &callgrind().ok()?, job, Some(limit)).ok()?;
    Some(functions::profiled(&count.profiles)?.functions)
}

impl Sampler for CommandCounts {
    fn sample(&mut self, job: &Job<'_>) -> Result<Outcome, SampleError> {
        let count = count_command(&self.comparison, &self.callgrind, job, None)?;
        self.counted.add(job.arm, &count, 1);
        let mut outcome = outcome(INSTRUCTIONS, count.instructions as f64);
        if let Some(misses) = count.misses {
            let counts = [(FIRST_MISSES, misses.first), (LAST_MISSES, misses.last)];
            let named = counts.map(|(name, count)| (name.to_owned(), count as f64));
            outcome.metrics.extend(named);
        }
        Ok(outcome)
    }

    fn fact(&mut self) -> Option<(&'static str, Value)> {
        self.counted.fact()
    }
}

/// Counts this executable's samples.
struct SampleCounts {
    processes: Processes,
    callgrind: Callgrind,
}

impl SampleCounts {
    /// Counts one process: the operations that it did, and its instructions.
    fn count(&self, job: &Job<'_>, operations: u64) -> Result<(u64, u64), SampleError> {
        let mut task = self.processes.task(job, operations);
        task.arguments.push("--untimed".into());
        let run = |launcher: &Launcher, stop: &PipeReader| {
            self.callgrind.count(launcher, &task, Some(stop))
        };
        let count = self.processes.watched(run)?.map_err(missed)?;
        if count.finished.ending != Ending::Exited(0) {
            return Err(missed(failed(&count)));
        }
        let done = self.processes.outcome(&count.finished)?.operations;
        Ok((done, count.instructions))
    }
}

impl Sampler for SampleCounts {
    fn sample(&mut self, job: &Job<'_>) -> Result<Outcome, SampleError> {
        let half = (job.operations.min(OPERATIONS_MAX) / 2).max(1);
        let fewer = self.count(job, half)?;
        // An arm may do whole batches only. Twice the number that it did is certainly more.
        let more = self.count(job, fewer.0.saturating_mul(2))?;
        let value = per_operation(fewer, more).ok_or_else(|| {
            let (fewer, more) = (fewer.0, more.0);
            SampleError::Failed(format!("it did {more} operations instead of twice {fewer}"))
        })?;
        Ok(outcome(INSTRUCTIONS_PER_OP, value))
    }
}

/// Counts benchmarks.
struct BenchmarkCounts {
    benchmarks: Benchmarks,
    callgrind: Callgrind,
    /// Operations of a counted process, by workload.
    operations: BTreeMap<String, u64>,
    counted: Counted,
}

impl BenchmarkCounts {
    /// Returns the operations that take a short time without callgrind.
    fn operations(&mut self, job: &Job<'_>) -> Result<u64, SampleError> {
        let workload = &job.workload.name;
        if let Some(operations) = self.operations.get(workload) {
            return Ok(*operations);
        }
        let mut longest_s = 0.0;
        let operations = calibrate(COUNT_S, 1, |operations| {
            let timed = Job {
                operations,
                exact: false,
                ..job.clone()
            };
            let outcome = self.benchmarks.sample(&timed)?;
            longest_s = outcome.elapsed_s / outcome.operations.max(1) as f64;
            Ok((outcome.operations, outcome.elapsed_s))
        })?;
        if longest_s > OPERATION_S_MAX {
            return Err(SampleError::Failed(format!(
                "an operation takes {longest_s:.2} s, which is too long to count its instructions"
            )));
        }
        let operations = operations.min(OPERATIONS_MAX);
        self.operations.insert(workload.clone(), operations);
        Ok(operations)
    }
}

impl Sampler for BenchmarkCounts {
    fn sample(&mut self, job: &Job<'_>) -> Result<Outcome, SampleError> {
        let job = Job {
            operations: self.operations(job)?,
            ..job.clone()
        };
        let (mut task, variables) = self.benchmarks.counted(&job)?;
        task.limit = Some(COUNT_LIMIT);
        self.callgrind.variables = variables;
        let run = |launcher: &Launcher, stop: &PipeReader| {
            self.callgrind.count(launcher, &task, Some(stop))
        };
        let count = self.benchmarks.watched(run)?.map_err(missed)?;
        if count.finished.ending != Ending::Exited(0) {
            return Err(missed(failed(&count)));
        }
        if count.instructions == 0 {
            return Err(SampleError::Failed(format!(
                "callgrind does not find {COUNTED}: build with symbols (strip = \"none\")"
            )));
        }
        let answer = self.benchmarks.answer(&count.finished)?;
        let operations = answer.operations.max(1);
        self.counted.add(job.arm, &count, operations);
        let value = count.instructions as f64 / operations as f64;
        Ok(Outcome {
            operations: answer.operations,
            ..outcome(INSTRUCTIONS_PER_OP, value)
        })
    }

    fn fact(&mut self) -> Option<(&'static str, Value)> {
        self.counted.fact()
    }
}

/// Returns the error for a counted command that failed.
fn failed(count: &Count) -> CallgrindError {
    CallgrindError::Failed(count.finished.ending, count.finished.last_error_line())
}

fn missed(error: CallgrindError) -> SampleError {
    match error {
        CallgrindError::Launch(LaunchError::Interrupted) => SampleError::Interrupted,
        error => SampleError::Failed(error.to_string()),
    }
}
