//! A run's result while it grows, and its copy in the store.
//!
//! The result in memory is authoritative. If the store fails, this is reported once and the store
//! is dropped; the run still writes to the terminal and to the requested files.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::line::Line;
use super::measured::Block;
use super::store::{Fault, Status, Store};
use crate::model::MetricPlan;
use crate::model::result::{CONTROL, Control, Kind, Machine, ResultFile, WorkloadResult};
use crate::model::schedule::{Schedule, ScheduledWorkload};
use crate::talk::Voice;

/// A workload of a run, by its places in the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// Index of the experiment.
    pub experiment: usize,
    /// Index of the workload in it.
    pub workload: usize,
}

impl Place {
    /// Returns the workloads of an experiment with their places, in their order.
    pub fn of(
        schedule: &Schedule,
        experiment: usize,
    ) -> impl Iterator<Item = (Place, &ScheduledWorkload)> {
        let workloads = schedule.experiments[experiment].workloads.iter();
        workloads.enumerate().map(move |(workload, scheduled)| {
            let place = Place {
                experiment,
                workload,
            };
            (place, scheduled)
        })
    }

    /// Returns all workloads of a schedule with their places, in their order.
    pub fn all(schedule: &Schedule) -> impl Iterator<Item = (Place, &ScheduledWorkload)> {
        let experiments = 0..schedule.experiments.len();
        experiments.flat_map(|experiment| Place::of(schedule, experiment))
    }
}

/// Counts by arm and metric; `None` if the arm failed.
pub type ExactValues = BTreeMap<String, BTreeMap<String, Option<f64>>>;

/// The parameter that holds the frozen batch.
pub const OPERATIONS: &str = "operations";

/// Times that a write to a locked database is tried again; each waits for some seconds.
const LOCK_TRIES: usize = 12;

/// A run's result while it grows.
pub struct Ledger {
    result: ResultFile,
    store: Option<Store>,
    lost: bool,
    voice: Voice,
    listener: Option<Listener>,
}

/// Receiver of every line of a ledger.
type Listener = Box<dyn FnMut(Line)>;

impl Ledger {
    /// Returns a ledger of a result, blank or loaded from a store, that is kept in `store` from now
    /// on.
    pub fn new(result: ResultFile, store: Option<Store>, voice: Voice) -> Ledger {
        Ledger {
            result,
            store,
            lost: false,
            voice,
            listener: None,
        }
    }

    /// Sets the receiver of every line from now on.
    pub fn listen(&mut self, listener: impl FnMut(Line) + 'static) {
        self.listener = Some(Box::new(listener));
    }

    /// Returns the result so far, without summaries and comparisons.
    pub fn result(&self) -> &ResultFile {
        &self.result
    }

    /// True if the store has everything so far.
    pub fn kept(&self) -> bool {
        self.store.is_some()
    }

    /// True if the store failed and has only a part of the result.
    pub fn is_torn(&self) -> bool {
        self.lost
    }

    /// Returns the frozen number of operations.
    pub fn operations(&self, place: Place) -> Option<u64> {
        self.workload(place).params.get(OPERATIONS)?.as_u64()
    }

    /// Freezes the number of operations.
    pub fn freeze(&mut self, place: Place, operations: u64) {
        self.note(place, OPERATIONS, operations.into());
    }

    /// Records a fact about a workload.
    pub fn note(&mut self, place: Place, name: &str, value: serde_json::Value) {
        let name = name.to_owned();
        self.enter(&Line::Note { place, name, value });
    }

    /// Returns the names of the metrics of one kind, in their order.
    pub fn metrics(&self, place: Place, kind: Kind) -> Vec<String> {
        let experiment = &self.result.experiments[place.experiment];
        let names = experiment.metric_order.iter();
        names
            .filter(|name| experiment.metrics[*name].kind == kind)
            .cloned()
            .collect()
    }

    /// Returns the exact metrics that an arm still has to count on a workload. `counts` takes an
    /// arm and a metric, and is true if the arm counts it.
    pub fn uncounted(&self, place: Place, counts: impl Fn(&str, &str) -> bool) -> Vec<String> {
        let workload = self.workload(place);
        let mut names = self.metrics(place, Kind::Exact);
        names.retain(|name| {
            let mut able = workload.arms.iter().filter(|arm| arm.na.is_none());
            able.any(|arm| !arm.samples.contains_key(name) && counts(&arm.name, name))
        });
        names
    }

    /// Adds the metrics of a further pass, unless they are there already.
    pub fn add_metrics(&mut self, experiment: usize, metrics: &[MetricPlan]) {
        let metrics = metrics.to_vec();
        self.enter(&Line::Metrics {
            experiment,
            metrics,
        });
    }

    /// Records the counts of a workload.
    pub fn set_exact(&mut self, place: Place, values: &ExactValues) {
        let values = values.clone();
        self.enter(&Line::Exact { place, values });
    }

    /// Makes a metric that differs between processes a sampled one, on every workload.
    pub fn demote(&mut self, experiment: usize, metric: &str, why: String) {
        let metric = metric.to_owned();
        self.enter(&Line::Demotion {
            experiment,
            metric,
            why,
        });
    }

    /// True if a block is finished.
    pub fn has_block(&self, place: Place, number: u32) -> bool {
        self.workload(place).blocks.contains(&number)
    }

    /// Adds a finished block.
    pub fn add_block(&mut self, place: Place, block: &Block) {
        let block = block.clone();
        self.enter(&Line::Block { place, block });
    }

    /// Returns the arm (or the control) that failed in each of the last `blocks` blocks.
    pub fn failing(&self, place: Place, blocks: usize) -> Option<String> {
        let sampled = self.metrics(place, Kind::Sampled);
        let workload = self.workload(place);
        let arms = &workload.arms;
        let has = |name: &&String| arms.iter().any(|arm| arm.samples.contains_key(*name));
        let primary = sampled.iter().find(has)?;
        let failing = |samples: &Vec<Option<f64>>| {
            let last = samples.len().checked_sub(blocks);
            last.is_some_and(|last| samples[last..].iter().all(Option::is_none))
        };
        let able = arms.iter().filter(|arm| arm.na.is_none());
        let own = able.filter_map(|arm| Some((&*arm.name, arm.samples.get(primary)?)));
        let control = workload.control.get(primary);
        let control = control.map(|control| (CONTROL, &control.samples));
        let mut all = own.chain(control);
        let found = all.find(|(_, samples)| failing(samples));
        found.map(|(name, _)| name.to_owned())
    }

    /// Records a warning about a workload.
    pub fn warn(&mut self, place: Place, text: String) {
        self.enter(&Line::Warning { place, text });
    }

    /// Records a warning about the run as a whole.
    pub fn warn_run(&mut self, text: String) {
        if !self.result.run.warnings.contains(&text) {
            self.result.run.warnings.push(text);
        }
    }

    /// Records the machine's share of stolen time and the end of the run.
    pub fn close(&mut self, status: Status, steal_pct: Option<f64>) {
        self.result.run.machine.steal_pct = steal_pct;
        self.keep(|store, result| store.close(&result.run, status));
    }

    /// Sets the machine, if it was not known at the start.
    pub fn set_machine(&mut self, machine: Machine) {
        self.result.run.machine = machine;
    }

    /// Returns a workload's result so far.
    pub fn workload(&self, place: Place) -> &WorkloadResult {
        &self.result.experiments[place.experiment].workloads[place.workload]
    }

    fn workload_mut(&mut self, place: Place) -> &mut WorkloadResult {
        &mut self.result.experiments[place.experiment].workloads[place.workload]
    }

    /// Makes one change: tells it to the receiver, then makes it in the result and in the store.
    pub(super) fn enter(&mut self, line: &Line) {
        if let Some(listener) = &mut self.listener {
            listener(line.clone());
        }
        match line {
            Line::Metrics {
                experiment,
                metrics,
            } => {
                let entry = &mut self.result.experiments[*experiment];
                for plan in metrics {
                    if !entry.metrics.contains_key(&plan.name) {
                        entry.metric_order.push(plan.name.clone());
                        entry.metrics.insert(plan.name.clone(), plan.metric(false));
                    }
                }
            }
            Line::Exact { place, values } => {
                for arm in &mut self.workload_mut(*place).arms {
                    for (metric, value) in values.get(&arm.name).into_iter().flatten() {
                        arm.samples.insert(metric.clone(), vec![*value]);
                    }
                }
            }
            Line::Demotion {
                experiment,
                metric,
                why,
            } => {
                let entry = &mut self.result.experiments[*experiment];
                if let Some(declared) = entry.metrics.get_mut(metric) {
                    declared.kind = Kind::Sampled;
                }
                for workload in &mut entry.workloads {
                    for arm in &mut workload.arms {
                        arm.samples.remove(metric);
                    }
                    let control = Control::default();
                    workload.control.insert(metric.clone(), control);
                }
                self.result.run.warnings.push(why.clone());
            }
            Line::Note { place, name, value } => {
                let params = &mut self.workload_mut(*place).params;
                params.insert(name.clone(), value.clone());
            }
            Line::Warning { place, text } => {
                let warnings = &mut self.workload_mut(*place).warnings;
                if !warnings.contains(text) {
                    warnings.push(text.clone());
                }
            }
            Line::Block { place, block } => {
                let sampled = self.metrics(*place, Kind::Sampled);
                push(self.workload_mut(*place), &sampled, block);
            }
        }
        self.keep(|store, result| store.put(result, line));
    }

    /// Writes to the store, if there is one, and drops it if it fails. A lock of another program
    /// is waited for a minute or so: a run may be hours of work.
    fn keep(&mut self, write: impl Fn(&mut Store, &ResultFile) -> Result<(), Fault>) {
        let Some(store) = &mut self.store else { return };
        let mut written = write(store, &self.result);
        for _ in 0..LOCK_TRIES {
            if !written.as_ref().is_err_and(Fault::is_busy) {
                break;
            }
            written = write(store, &self.result);
        }
        if let Err(fault) = written {
            let text = format!("the rest of this run is not stored: {fault}");
            self.voice.warn(&text);
            self.result.run.warnings.push(text);
            self.store = None;
            self.lost = true;
        }
    }
}

/// Forgets metrics that only blocks without a figure have entered, and that a good block does not
/// measure: they are not this workload's.
fn forget_unmeasured(workload: &mut WorkloadResult, sampled: &[String], block: &Block) {
    for metric in sampled {
        let mut samples = block.samples.iter();
        let is_measured = samples.any(|one| one.values.contains_key(metric));
        let mut all = workload
            .arms
            .iter()
            .filter_map(|arm| arm.samples.get(metric));
        if is_measured || !all.all(|samples| samples.iter().all(Option::is_none)) {
            continue;
        }
        for arm in &mut workload.arms {
            arm.samples.remove(metric);
        }
        if let Some(control) = workload.control.get_mut(metric) {
            control.samples.clear();
        }
    }
}

/// Adds a block to a result: one value per arm and sampled metric, `None` if the arm failed. An arm
/// that does not measure a metric has no values of it. A metric that the workload lacks has no
/// values from any arm; this is known after the first sample without a failure.
pub(super) fn push(workload: &mut WorkloadResult, sampled: &[String], block: &Block) {
    // Blocks of several machines arrive in any order.
    let at = workload
        .blocks
        .partition_point(|number| *number < block.number);
    let order = block.samples.iter().map(|sample| sample.runner.clone());
    workload.blocks.insert(at, block.number);
    workload.order.insert(at, order.collect());
    let sample = |runner: &str| block.samples.iter().find(|one| one.runner == runner);
    let value = |runner: &str, metric: &str| sample(runner)?.values.get(metric).copied();
    let has = |workload: &WorkloadResult, metric: &String| {
        let mut arms = workload.arms.iter();
        let mut samples = block.samples.iter();
        arms.any(|arm| arm.samples.contains_key(metric))
            || samples.any(|sample| sample.values.contains_key(metric))
    };
    if block.samples.iter().any(|sample| sample.failure.is_none()) {
        forget_unmeasured(workload, sampled, block);
    }
    let own = sampled.iter();
    let own: Vec<&String> = own.filter(|metric| has(workload, metric)).collect();
    let own = if own.is_empty() {
        sampled.iter().collect()
    } else {
        own
    };
    for metric in own {
        for arm in workload.arms.iter_mut().filter(|arm| arm.na.is_none()) {
            let found = value(&arm.name, metric);
            let has_failed = sample(&arm.name).is_none_or(|sample| sample.failure.is_some());
            if found.is_some() || has_failed || arm.samples.contains_key(metric) {
                let values = arm.samples.entry(metric.clone()).or_default();
                values.insert(at.min(values.len()), found);
            }
        }
        if sample(CONTROL).is_some() {
            let control = workload.control.entry(metric.clone());
            let samples = &mut control.or_default().samples;
            samples.insert(at.min(samples.len()), value(CONTROL, metric));
        }
    }
}
