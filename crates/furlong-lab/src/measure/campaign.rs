//! The campaign: every experiment of a schedule, block by block, one sample at a time.

mod budget;
mod ending;
mod exact;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use furlong_bench::calibrate::calibrate;
use serde::{Deserialize, Serialize};

use self::ending::Clock;
use super::block_order::BlockOrder;
use super::progress::Progress;
use super::sampler::{Job, Pass, SampleError, Sampler};
use crate::model::Outcome;
use crate::model::result::{CONTROL, Kind};
use crate::model::schedule::{Batch, Schedule, ScheduledExperiment, ScheduledWorkload};
use crate::record::ledger::{Ledger, Place};
use crate::record::measured::{Block, Sample};

/// End of the warning that an exact count is left out, as it differs between processes.
pub(crate) const LEFT_OUT: &str = "left out as not exact";

/// Blocks in a row in which an arm may fail before the workload is given up.
const FAILURES_MAX: usize = 3;

/// A run in progress.
pub struct Campaign<'a> {
    /// The work to do.
    pub schedule: &'a Schedule,
    /// The results so far; new ones are added to it.
    pub ledger: &'a mut Ledger,
    /// Sampler that takes the samples.
    pub sampler: &'a mut dyn Sampler,
    /// Further passes before the blocks.
    pub passes: Vec<Pass<'a>>,
    /// Progress bar.
    pub progress: &'a Progress,
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", content = "why", rename_all = "lowercase")]
pub enum End {
    /// Everything on the schedule was done, or given up with a warning.
    Finished,
    /// The user stopped it.
    Interrupted,
    /// The arms disagree about the answer, so their figures mean nothing.
    WrongAnswer(String),
    /// A process failed in a way that makes the rest meaningless.
    Fatal(String),
    /// The time for all workloads does not suffice for verdicts.
    TooShort(String),
}

impl End {
    /// The end of work that may have been stopped.
    fn of(work: Result<(), End>) -> Self {
        work.err().unwrap_or(Self::Finished)
    }
}

/// The result of a process, or the reason why it gave none. An interruption and a fatal error end
/// the campaign.
fn taken<T>(given: Result<T, SampleError>) -> Result<Result<T, String>, End> {
    match given {
        Ok(value) => Ok(Ok(value)),
        Err(SampleError::Failed(why)) => Ok(Err(why)),
        Err(SampleError::Interrupted) => Err(End::Interrupted),
        Err(SampleError::Fatal(why)) => Err(End::Fatal(why)),
    }
}

/// Common properties of the processes of a block.
struct BlockRun<'a> {
    place: Place,
    scheduled: &'a ScheduledWorkload,
    number: u32,
    operations: u64,
    drawn: BlockOrder,
    /// Arms that can run the workload, its baseline first, then the control, if there is one.
    runners: Vec<&'a str>,
}

impl<'a> Campaign<'a> {
    /// Does the rest of the schedule.
    pub fn run(&mut self) -> End {
        let end = (0..self.schedule.experiments.len()).try_for_each(|place| self.experiment(place));
        self.progress.finish();
        End::of(end)
    }

    fn experiment(&mut self, experiment: usize) -> Result<(), End> {
        if let Some(budget_s) = self.schedule.budget_s {
            return self.within(experiment, budget_s);
        }
        self.count(experiment)?;
        for (place, scheduled) in Place::of(self.schedule, experiment) {
            if let Some(operations) = self.operations(place, scheduled)? {
                self.blocks(place, scheduled, operations, &Clock::new(scheduled))?;
            }
        }
        self.count_after(experiment)
    }

    /// Returns the schedule's experiment of a place.
    fn entry(&self, place: Place) -> &'a ScheduledExperiment {
        &self.schedule.experiments[place.experiment]
    }

    /// The names of an experiment and its workload.
    fn shown(&self, place: Place) -> String {
        let entry = self.entry(place);
        format!(
            "{} {}",
            entry.name, entry.workloads[place.workload].workload.name
        )
    }

    /// Returns the frozen number of operations and calibrates it the first time; `None` if the
    /// baseline cannot run the workload.
    fn operations(
        &mut self,
        place: Place,
        scheduled: &'a ScheduledWorkload,
    ) -> Result<Option<u64>, End> {
        if let Some(operations) = self.ledger.operations(place) {
            return Ok(Some(operations));
        }
        let entry = self.entry(place);
        let Some(baseline) = entry.runners(scheduled).first().copied() else {
            self.give_up(place, "no arm can run it");
            return Ok(None);
        };
        let found = match scheduled.batch {
            Batch::Operations(operations) => Ok(operations),
            Batch::Seconds(wanted_s) => {
                self.progress
                    .now(&format!("{}: calibrating", self.shown(place)));
                let timeout = self.schedule.long_patience();
                calibrate(wanted_s, self.sampler.first_operations(), |operations| {
                    let job = Job {
                        experiment: &entry.name,
                        workload: &scheduled.workload,
                        arm: baseline,
                        block: 0,
                        seed: self.schedule.seed,
                        operations,
                        exact: false,
                        padding: 0,
                        timeout,
                    };
                    let outcome = self.sampler.sample(&job)?;
                    Ok((outcome.operations, outcome.elapsed_s))
                })
            }
        };
        match taken(found)? {
            Ok(operations) => {
                self.ledger.freeze(place, operations);
                Ok(Some(operations))
            }
            Err(why) => {
                self.give_up(place, &format!("the baseline `{baseline}` failed: {why}"));
                Ok(None)
            }
        }
    }

    /// Does everything that comes before the blocks: counts and calibrates.
    pub fn prepare(&mut self) -> End {
        let mut counted = None;
        End::of(
            Place::all(self.schedule).try_for_each(|(place, scheduled)| {
                if counted.replace(place.experiment) != Some(place.experiment) {
                    self.count(place.experiment)?;
                }
                self.operations(place, scheduled).map(drop)
            }),
        )
    }

    /// Does the blocks of one number: one for every workload that is not given up and lacks it.
    pub fn only(&mut self, number: u32) -> End {
        End::of(
            Place::all(self.schedule).try_for_each(|(place, scheduled)| {
                if number > scheduled.blocks || self.ledger.has_block(place, number) {
                    return Ok(());
                }
                match self.operations(place, scheduled)? {
                    Some(operations) => self.one(place, scheduled, operations, number),
                    None => Ok(()),
                }
            }),
        )
    }

    fn blocks(
        &mut self,
        place: Place,
        scheduled: &'a ScheduledWorkload,
        operations: u64,
        clock: &Clock,
    ) -> Result<(), End> {
        let runners = self.entry(place).processes(scheduled).len();
        for number in 1..=scheduled.blocks {
            if let Some(stopped) = self.enough(place, clock) {
                self.stop(place, stopped);
                break;
            }
            if self.ledger.has_block(place, number) {
                self.progress.done(scheduled.guess_s() * runners as f64);
                continue;
            }
            let began = Instant::now();
            self.one(place, scheduled, operations, number)?;
            self.plan(place, clock, began.elapsed(), scheduled.blocks);
            if self.gives_up(place) {
                break;
            }
        }
        self.tell_shortfall(place);
        Ok(())
    }

    /// Measures one block and adds it to the ledger.
    fn one(
        &mut self,
        place: Place,
        scheduled: &'a ScheduledWorkload,
        operations: u64,
        number: u32,
    ) -> Result<(), End> {
        let entry = self.entry(place);
        let workload = &scheduled.workload.name;
        if !self.progress.is_hidden() {
            let mut what = format!("{}: block {number}", self.shown(place));
            if let Some(effect) = self.so_far(place) {
                what.push_str(&format!(", {effect}"));
            }
            self.progress.now(&what);
        }
        let runners = entry.processes(scheduled);
        let runs = runners.len();
        let drawn = BlockOrder::new(self.schedule.seed, &entry.name, workload, number, runs);
        let run = BlockRun {
            place,
            scheduled,
            number,
            operations,
            drawn,
            runners,
        };
        let block = self.block(&run)?;
        self.ledger.add_block(place, &block);
        for notice in self.sampler.notices() {
            self.ledger.warn(place, notice);
        }
        Ok(())
    }

    /// Measures one block: every runner once, in the drawn order.
    fn block(&mut self, run: &BlockRun<'a>) -> Result<Block, End> {
        let mut sampled = self.ledger.metrics(run.place, Kind::Sampled);
        sampled.retain(|name| run.scheduled.workload.has(name));
        // Counters that turned out to differ between processes are counted in every block, each by
        // a separate process, because counting must not disturb the timing.
        let entry = self.entry(run.place);
        let counts = |name: &String| {
            let mut counters = entry.metrics.iter();
            counters.any(|metric| metric.kind == Kind::Exact && metric.name == *name)
        };
        let (demoted, timed): (Vec<String>, Vec<String>) = sampled.into_iter().partition(counts);
        let mut samples = vec![];
        if !timed.is_empty() {
            samples = self.samples(run, run.operations, false, &timed)?;
        }
        if !demoted.is_empty() {
            let counted = self.samples(run, entry.exact_operations, true, &demoted)?;
            merge(&mut samples, counted);
        }
        Ok(Block {
            number: run.number,
            seed: run.drawn.seed,
            samples,
        })
    }

    fn samples(
        &mut self,
        run: &BlockRun<'a>,
        operations: u64,
        exact: bool,
        metrics: &[String],
    ) -> Result<Vec<Sample>, End> {
        let entry = self.entry(run.place);
        let mut samples = vec![];
        for place in &run.drawn.order {
            let runner = run.runners[*place];
            let arm = if runner == CONTROL {
                run.runners[0]
            } else {
                runner
            };
            if exact && entry.uncounted.iter().any(|name| name == arm) {
                continue;
            }
            let job = Job {
                experiment: &entry.name,
                workload: &run.scheduled.workload,
                arm,
                block: run.number,
                seed: run.drawn.seed,
                operations,
                exact,
                padding: run.drawn.padding + shortfall(entry, arm),
                timeout: self.patience(run.scheduled, exact),
            };
            let outcome = taken(self.sampler.sample(&job))?;
            let sample = match outcome.and_then(|outcome| complete(outcome, metrics)) {
                Ok(outcome) => Sample::taken(runner, metrics, &outcome),
                Err(why) => {
                    self.say_missed(run.place, runner, &why);
                    Sample::missed(runner, why)
                }
            };
            samples.push(sample);
            self.progress.done(run.scheduled.guess_s());
        }
        self.agree(run.place, &samples)?;
        Ok(samples)
    }

    fn patience(&self, scheduled: &ScheduledWorkload, exact: bool) -> Duration {
        if exact {
            self.schedule.long_patience()
        } else {
            self.schedule.patience(scheduled)
        }
    }

    /// Checks that the processes of a block gave the same answer; they have the same input.
    fn agree(&self, place: Place, samples: &[Sample]) -> Result<(), End> {
        let answers = samples.iter();
        let answers = answers.filter_map(|sample| Some((sample.runner.clone(), sample.digest?)));
        self.same_answers(place, &answers.collect())
    }

    /// Stops the run if answers to the same input differ.
    fn same_answers(&self, place: Place, answers: &BTreeMap<String, u64>) -> Result<(), End> {
        let Some(first) = answers.values().next() else {
            return Ok(());
        };
        if answers.values().all(|answer| answer == first) {
            return Ok(());
        }
        let told = answers
            .iter()
            .map(|(runner, answer)| format!("{runner} {answer:#018x}"));
        let told: Vec<String> = told.collect();
        Err(End::WrongAnswer(format!(
            "wrong answer: on {} the arms disagree about the same input: {}",
            self.shown(place),
            told.join(", "),
        )))
    }

    /// Reports a missing sample above the bar, once for each cause. The result has all of them.
    fn say_missed(&self, place: Place, runner: &str, why: &str) {
        let place = self.shown(place);
        let line = format!("warning: {place}: `{runner}` failed: {why}");
        self.progress.say_once(format!("{place}: {why}"), &line);
    }

    /// Gives a workload up if an arm keeps failing, and returns true then.
    fn gives_up(&mut self, place: Place) -> bool {
        let Some(arm) = self.ledger.failing(place, FAILURES_MAX) else {
            return false;
        };
        let why = format!("`{arm}` failed {FAILURES_MAX} blocks in a row");
        self.give_up(place, &why);
        true
    }

    fn give_up(&mut self, place: Place, why: &str) {
        let text = format!("given up: {why}");
        let shown = self.shown(place);
        self.progress.say(&format!("warning: {shown}: {text}"));
        self.ledger.warn(place, text);
    }
}

/// Returns the difference in length between an arm's name and the longest one. The name is an
/// argument of the process and would move its stack.
fn shortfall(entry: &ScheduledExperiment, arm: &str) -> usize {
    let longest = entry.arms.iter().map(String::len).max().unwrap_or(0);
    longest.saturating_sub(arm.len())
}

/// Returns the outcome if it has every metric, else the reason why it cannot be used.
fn complete(outcome: Outcome, metrics: &[String]) -> Result<Outcome, String> {
    let missing = |name: &&String| !outcome.metrics.get(*name).is_some_and(|v| v.is_finite());
    match metrics.iter().find(missing) {
        Some(name) => Err(format!("it reported no value for `{name}`")),
        None => Ok(outcome),
    }
}

/// Adds the values of the counting processes to the timed samples of the same runners.
fn merge(samples: &mut Vec<Sample>, counted: Vec<Sample>) {
    for count in counted {
        match samples
            .iter_mut()
            .find(|sample| sample.runner == count.runner)
        {
            Some(sample) => {
                sample.values.extend(count.values);
                sample.failure = sample.failure.take().or(count.failure);
            }
            None => samples.push(count),
        }
    }
}

#[cfg(test)]
mod tests;
