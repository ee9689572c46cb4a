//! The pass that counts instead of timing: exact metrics, before the first block.
//!
//! Each arm runs in two processes, with environments of different length, at the run's own seed. If
//! both count the same, the number is exact. If not, the metric is not exact on this machine: it is
//! sampled in every block instead, with a warning.

use std::collections::BTreeMap;

use super::{Campaign, End, LEFT_OUT, complete, shortfall, taken};
use crate::measure::instructions::SLOWDOWN;
use crate::measure::launch::command::WALL;
use crate::measure::sampler::{Job, Pass, Sampler, When};
use crate::model::Outcome;
use crate::model::result::{ArmResult, Kind};
use crate::model::schedule::ScheduledWorkload;
use crate::record::ledger::{ExactValues, Place};

/// Bytes of padding of the two processes. They reveal a count that depends on the stack's address.
const PADDINGS: [usize; 2] = [0, 1000];

/// Longest time, in seconds, of a pass that nobody asked for.
const UNASKED_S: f64 = 20.0;

/// Result of the two processes of one arm.
enum Count {
    Same(Outcome),
    /// A metric, with the count of each process.
    Differs(String, f64, f64),
    Failed(String),
}

impl Campaign<'_> {
    /// Counts the exact metrics of every workload that has none yet.
    pub(super) fn count(&mut self, experiment: usize) -> Result<(), End> {
        self.add_passes(experiment);
        Place::of(self.schedule, experiment)
            .try_for_each(|(place, scheduled)| self.count_workload(place, scheduled))
    }

    /// Adds the metrics of the further passes to those of an experiment.
    pub(super) fn add_passes(&mut self, experiment: usize) {
        for pass in self.passes.iter().filter(|pass| pass.when == When::Before) {
            self.ledger.add_metrics(experiment, &pass.metrics);
        }
    }

    /// Counts the exact metrics of a workload, unless it has them.
    pub(super) fn count_workload(
        &mut self,
        place: Place,
        scheduled: &ScheduledWorkload,
    ) -> Result<(), End> {
        if self.has_uncounted(place) {
            self.progress
                .now(&format!("{}: counting", self.shown(place)));
        }
        self.count_own(place, scheduled)?;
        self.count_passes(place, scheduled)
    }

    /// True if an exact metric of a workload is still to be counted.
    pub(super) fn has_uncounted(&self, place: Place) -> bool {
        !self.uncounted(place).is_empty()
    }

    /// Counts after the blocks, where a pass says so.
    pub(super) fn count_after(&mut self, experiment: usize) -> Result<(), End> {
        for (place, scheduled) in Place::of(self.schedule, experiment) {
            for pass in 0..self.passes.len() {
                if self.wants(place, &self.passes[pass]) {
                    self.progress
                        .now(&format!("{}: counting", self.shown(place)));
                    if !self.passes[pass].is_unasked() {
                        self.ledger
                            .add_metrics(experiment, &self.passes[pass].metrics);
                    }
                    self.count_pass(pass, place, scheduled)?;
                }
            }
        }
        Ok(())
    }

    /// True if a pass counts a workload after its blocks.
    fn wants(&self, place: Place, pass: &Pass<'_>) -> bool {
        match pass.when {
            When::Before => false,
            When::IfUndecided => !self.is_certain(place),
            When::After => true,
            When::IfDifferent => self.is_different(place) && self.counting_s(place) <= UNASKED_S,
        }
    }

    /// Estimate of the time that a pass over the commands of a workload takes.
    fn counting_s(&self, place: Place) -> f64 {
        let mean = |arm: &ArmResult| {
            let runs = arm.samples.get(WALL).into_iter().flatten().flatten();
            let (sum, runs) = runs.fold((0.0, 0_u32), |(sum, runs), one| (sum + one, runs + 1));
            sum / f64::from(runs.max(1))
        };
        let arms = &self.ledger.workload(place).arms;
        let once_s: f64 = arms.iter().map(mean).sum();
        once_s * SLOWDOWN * PADDINGS.len() as f64
    }

    /// Returns the exact metrics that are still to be counted.
    fn uncounted(&self, place: Place) -> Vec<String> {
        let entry = self.entry(place);
        let is_own = |name: &str| entry.metrics.iter().any(|metric| metric.name == name);
        let is_silent = |arm: &str| entry.uncounted.iter().any(|name| name == arm);
        let workload = &entry.workloads[place.workload].workload;
        self.ledger.uncounted(place, |arm, metric| {
            !is_own(metric) || (!is_silent(arm) && workload.has(metric))
        })
    }

    /// Counts the arms' own metrics.
    fn count_own(&mut self, place: Place, scheduled: &ScheduledWorkload) -> Result<(), End> {
        let entry = self.entry(place);
        // A metric of a pass is declared here too if it is the primary one.
        let passes = || self.passes.iter().flat_map(|pass| &pass.metrics);
        let is_own = |name: &String| passes().all(|metric| metric.name != *name);
        let own = entry.metrics.iter().map(|metric| metric.name.clone());
        let own: Vec<String> = own.filter(is_own).collect();
        // Starts over whenever a metric turns out not to be exact.
        loop {
            let mut wanted = self.uncounted(place);
            wanted.retain(|metric| own.contains(metric));
            if wanted.is_empty() {
                return Ok(());
            }
            let mut values = ExactValues::new();
            let mut digests = BTreeMap::new();
            let mut demoted = None;
            let counts = |arm: &&String| scheduled.has(arm) && !entry.uncounted.contains(arm);
            for arm in entry.arms.iter().filter(counts) {
                match self.count_arm(None, place, scheduled, arm, &wanted)? {
                    Count::Same(outcome) => {
                        digests.insert(arm.clone(), outcome.digest);
                        values.insert(arm.clone(), picked(&wanted, Some(&outcome)));
                    }
                    Count::Differs(metric, one, other) => {
                        demoted = Some((arm, metric, one, other));
                        break;
                    }
                    Count::Failed(why) => {
                        self.say_missed(place, arm, &why);
                        values.insert(arm.clone(), picked(&wanted, None));
                    }
                }
            }
            self.same_answers(place, &digests)?;
            match demoted {
                None => self.ledger.set_exact(place, &values),
                Some((arm, metric, one, other)) => self.demote(place, arm, &metric, one, other),
            }
        }
    }

    /// Counts the metrics of the passes before the blocks.
    fn count_passes(&mut self, place: Place, scheduled: &ScheduledWorkload) -> Result<(), End> {
        for pass in 0..self.passes.len() {
            if self.passes[pass].when == When::Before {
                self.count_pass(pass, place, scheduled)?;
            }
        }
        Ok(())
    }

    /// Counts the metrics of a pass. A metric that is not exact there is left out. A pass that
    /// nobody asked for is given up silently if an arm cannot be counted.
    fn count_pass(
        &mut self,
        pass: usize,
        place: Place,
        scheduled: &ScheduledWorkload,
    ) -> Result<(), End> {
        let is_unasked = self.passes[pass].is_unasked();
        let metrics = self.passes[pass].metrics.clone();
        let open = self.uncounted(place);
        let names = metrics.iter().map(|metric| metric.name.clone());
        let wanted: Vec<String> = names
            .filter(|name| is_unasked || open.contains(name))
            .collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let (mut values, mut has_failed) = (ExactValues::new(), false);
        let arms = self.entry(place).arms.iter();
        for arm in arms.filter(|arm| scheduled.has(arm)) {
            let mut count = self.count_arm(Some(pass), place, scheduled, arm, &wanted)?;
            // A shell prints its parent's process number, which may be a digit longer than in
            // the process before. If a second pair agrees, its count is taken.
            if matches!(count, Count::Differs(..)) {
                count = self.count_arm(Some(pass), place, scheduled, arm, &wanted)?;
            }
            let counted = match count {
                Count::Same(outcome) => picked(&wanted, Some(&outcome)),
                _ if is_unasked => {
                    self.passes[pass].sampler.fact();
                    return Ok(());
                }
                Count::Differs(metric, one, other) => {
                    let why = format!("two processes counted {one} and {other} {metric}");
                    self.say_missed(place, arm, &why);
                    let text = format!("`{arm}`: {why}: {LEFT_OUT}");
                    self.ledger.warn(place, text);
                    picked(&wanted, None)
                }
                Count::Failed(why) => {
                    // It may be the baseline, against which the fact tells the others.
                    has_failed = true;
                    self.say_missed(place, arm, &why);
                    picked(&wanted, None)
                }
            };
            values.insert(arm.clone(), counted);
        }
        if is_unasked {
            self.ledger.add_metrics(place.experiment, &metrics);
        }
        self.ledger.set_exact(place, &values);
        let fact = self.passes[pass].sampler.fact();
        if let Some((name, value)) = fact.filter(|_| !has_failed) {
            self.ledger.note(place, name, value);
        }
        Ok(())
    }

    fn count_arm(
        &mut self,
        pass: Option<usize>,
        place: Place,
        scheduled: &ScheduledWorkload,
        arm: &str,
        wanted: &[String],
    ) -> Result<Count, End> {
        let entry = self.entry(place);
        let schedule = self.schedule;
        let sampler: &mut dyn Sampler = match pass {
            Some(pass) => &mut *self.passes[pass].sampler,
            None => &mut *self.sampler,
        };
        let mut outcomes = vec![];
        for padding in PADDINGS {
            let job = Job {
                experiment: &entry.name,
                workload: &scheduled.workload,
                arm,
                block: 0,
                seed: schedule.seed,
                operations: entry.exact_operations,
                exact: true,
                padding: padding + shortfall(entry, arm),
                timeout: schedule.long_patience(),
            };
            let outcome = taken(sampler.sample(&job))?;
            match outcome.and_then(|outcome| complete(outcome, wanted)) {
                Ok(outcome) => outcomes.push(outcome),
                Err(why) => return Ok(Count::Failed(why)),
            }
        }
        let names = ["first", "second"].map(|name| format!("{arm} ({name} process)"));
        let digests = outcomes.iter().map(|outcome| outcome.digest);
        self.same_answers(place, &names.into_iter().zip(digests).collect())?;
        let counts =
            |metric: &String| [0, 1].map(|process: usize| outcomes[process].metrics[metric]);
        let differs = |metric: &&String| counts(metric)[0] != counts(metric)[1];
        if let Some(metric) = wanted.iter().find(differs) {
            let [one, other] = counts(metric);
            return Ok(Count::Differs(metric.clone(), one, other));
        }
        Ok(Count::Same(outcomes.swap_remove(0)))
    }

    fn demote(&mut self, place: Place, arm: &str, metric: &str, one: f64, other: f64) {
        let entry = self.entry(place);
        let workload = &entry.workloads[place.workload].workload.name;
        let text = format!(
            "{}: {metric} is not exact here: two processes of `{arm}` on {workload} counted {one} \
             and {other}; it is sampled in every block instead",
            entry.name
        );
        self.progress.say(&format!("warning: {text}"));
        self.ledger.demote(place.experiment, metric, text);
        let sampled = self.ledger.metrics(place, Kind::Sampled);
        debug_assert!(sampled.contains(&metric.to_owned()));
    }
}

/// Returns the wanted values of an outcome.
fn picked(wanted: &[String], outcome: Option<&Outcome>) -> BTreeMap<String, Option<f64>> {
    let value = |metric: &String| outcome?.metrics.get(metric).copied();
    let values = wanted.iter().map(|metric| (metric.clone(), value(metric)));
    values.collect()
}
