//! The schedule of a run. It is decided before anything is measured, so that nothing can be chosen
//! after the figures are seen. It is stored with the run, so that the run can be resumed.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::plan::{MetricPlan, Profile, Workload};
use super::result::{
    ArmResult, CONTROL, Control, ExperimentResult, Kind, ResultFile, Run, SCHEMA, WorkloadResult,
};
use furlong_stats::stopping::{STOPPING, Stopping};

/// Values of `--counters`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Counters {
    /// The arms' own counters, which cost nothing; of commands, instructions if times give no
    /// verdict.
    #[default]
    Auto,
    /// No counting pass; sampled metrics only.
    None,
    /// The processor's counters, system calls and migrations, of whole commands.
    Hw,
    /// Instructions under callgrind, in a pass of their own.
    Callgrind,
    /// The same, with the misses of simulated caches, of whole commands.
    Cachesim,
}

/// Everything that a run will do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// Amount of measuring per experiment.
    pub profile: Profile,
    /// Seed of every order and every input.
    pub seed: u64,
    /// A margin that overrides the declared ones, per cent.
    pub margin_pct: Option<f64>,
    /// Seconds after which a sample has failed, if the user set a limit.
    pub timeout_s: Option<f64>,
    /// Seconds for all workloads of an experiment together, if they share a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_s: Option<f64>,
    /// Counters besides the arms' own metrics.
    pub counters: Counters,
    /// Experiments in the order in which they run.
    pub experiments: Vec<ScheduledExperiment>,
    /// Further data for the sampler (the command lines of a comparison, for example).
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub subject: Value,
}

/// One experiment of a schedule.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScheduledExperiment {
    /// Name, as in `furlong list`.
    pub name: String,
    /// The comparison, if it is one: the user's name for it, or its commands in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<String>,
    /// The experiment's question.
    pub question: String,
    /// Metrics, the primary one first.
    pub metrics: Vec<MetricPlan>,
    /// Arms, the baseline first. If the baseline cannot run a workload, the next arm that can is
    /// the baseline of that workload.
    pub arms: Vec<String>,
    /// Arms that do not count the exact metrics.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncounted: Vec<String>,
    /// Operations of a process that counts exact metrics.
    pub exact_operations: u64,
    /// Workloads in the order in which they run.
    #[serde(rename = "loads")]
    pub workloads: Vec<ScheduledWorkload>,
    /// Omissions, each with its reason.
    pub left_out: Vec<String>,
}

/// One workload of a schedule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScheduledWorkload {
    /// The workload with the parameters of this profile.
    pub workload: Workload,
    /// Number of blocks.
    pub blocks: u32,
    /// Length of a sample.
    pub batch: Batch,
    /// Arms that cannot run it, with the reason.
    pub na: BTreeMap<String, String>,
    /// Facts for the record besides the workload's own parameters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, Value>,
}

/// Name of the fact that holds the maximum seconds of a workload.
pub const MAX_TIME_S: &str = "max_time_s";

/// Name of the fact that holds the number of blocks before which a workload does not end.
pub const MIN_BLOCKS: &str = "min_blocks";

/// Name of the fact that holds an [`EnoughRuns`].
pub const ENOUGH_RUNS: &str = "enough_runs";

/// The end of a workload with a single arm, which has no verdict to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct EnoughRuns {
    /// Number of runs.
    pub runs: u32,
    /// Seconds that they take together.
    pub seconds: f64,
}

/// Length of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Batch {
    /// This number of operations.
    Operations(u64),
    /// As many operations as the baseline does in this many seconds, calibrated once and frozen.
    Seconds(f64),
}

/// Seconds after which a process has failed, if its length is unknown.
const PATIENCE_S: f64 = 600.0;

/// Assumed nanoseconds of an operation. Used only to estimate the time left.
const GUESS_NS: f64 = 200.0;

/// Assumed seconds of a process outside the timed region. Used only to estimate the time left.
const STARTUP_S: f64 = 0.1;

impl ScheduledWorkload {
    /// True if the arm can run it.
    pub fn has(&self, arm: &str) -> bool {
        !self.na.contains_key(arm)
    }

    /// Returns the rule that ends it, as scheduled.
    pub fn stopping(&self) -> Stopping {
        let stored = self.facts.get(STOPPING).cloned();
        let read = |value| serde_json::from_value(value).ok();
        stored.and_then(read).unwrap_or_default()
    }

    /// Returns the number of blocks before which it does not end; 0 unless the user gave one.
    pub fn min_blocks(&self) -> u32 {
        let min = self.facts.get(MIN_BLOCKS).and_then(Value::as_u64);
        min.map_or(0, |min| u32::try_from(min).unwrap_or(u32::MAX))
    }

    /// Returns the seconds after which it begins no further block, if there is such a limit.
    pub fn max_time_s(&self) -> Option<f64> {
        self.facts.get(MAX_TIME_S).and_then(Value::as_f64)
    }

    /// Estimates the length of a sample, in seconds.
    pub fn guess_s(&self) -> f64 {
        let batch_s = match self.batch {
            Batch::Seconds(seconds) => seconds,
            Batch::Operations(operations) => operations as f64 * GUESS_NS * 1e-9,
        };
        STARTUP_S + batch_s.max(self.workload.usual_s.unwrap_or(0.0))
    }
}

impl Schedule {
    /// Returns all workloads, in the order in which they run.
    pub fn workloads(&self) -> impl Iterator<Item = &ScheduledWorkload> {
        self.experiments.iter().flat_map(|entry| &entry.workloads)
    }

    /// Returns the time after which a timed sample has failed.
    pub fn patience(&self, scheduled: &ScheduledWorkload) -> Duration {
        let least_s = match scheduled.batch {
            Batch::Seconds(_) => 60.0,
            Batch::Operations(_) => PATIENCE_S,
        };
        let default = least_s + 60.0 * scheduled.guess_s();
        Duration::from_secs_f64(self.timeout_s.unwrap_or(default))
    }

    /// Returns the time after which a process that calibrates or counts has failed.
    pub fn long_patience(&self) -> Duration {
        Duration::from_secs_f64(self.timeout_s.unwrap_or(PATIENCE_S))
    }

    /// Returns the result before anything is measured: every workload, no blocks.
    pub fn blank(&self, run: Run) -> ResultFile {
        let experiments = self
            .experiments
            .iter()
            .map(ScheduledExperiment::blank)
            .collect();
        ResultFile {
            schema: SCHEMA.to_owned(),
            run,
            experiments,
        }
    }
}

impl ScheduledExperiment {
    /// Returns the arms that can run a workload, its baseline first.
    pub fn runners<'a>(&'a self, scheduled: &ScheduledWorkload) -> Vec<&'a str> {
        let names = self.arms.iter().map(String::as_str);
        names.filter(|arm| scheduled.has(arm)).collect()
    }

    /// Returns the processes of a block: the arms that can run a workload, its baseline first, then
    /// the control. A single arm is compared with nothing and has no control.
    pub fn processes<'a>(&'a self, scheduled: &ScheduledWorkload) -> Vec<&'a str> {
        let mut names = self.runners(scheduled);
        names.extend((self.arms.len() > 1).then_some(CONTROL));
        names
    }

    fn blank(&self) -> ExperimentResult {
        let named =
            |(place, plan): (usize, &MetricPlan)| (plan.name.clone(), plan.metric(place == 0));
        ExperimentResult {
            name: self.name.clone(),
            comparison: self.comparison.clone(),
            question: self.question.clone(),
            metrics: self.metrics.iter().enumerate().map(named).collect(),
            metric_order: self
                .metrics
                .iter()
                .map(|metric| metric.name.clone())
                .collect(),
            workloads: self
                .workloads
                .iter()
                .map(|scheduled| self.blank_workload(scheduled))
                .collect(),
            left_out: self.left_out.clone(),
        }
    }

    fn blank_workload(&self, scheduled: &ScheduledWorkload) -> WorkloadResult {
        let arm = |name: &&str| ArmResult {
            name: (*name).to_owned(),
            na: scheduled.na.get(*name).cloned(),
            ..ArmResult::default()
        };
        // Arms that cannot run it come last, so that the baseline is the first.
        let mut arms = self.runners(scheduled);
        let idle = self.arms.iter().map(String::as_str);
        arms.extend(idle.filter(|arm| !scheduled.has(arm)));
        let params = scheduled.workload.params.iter();
        let control = self
            .metrics
            .iter()
            .filter(|metric| metric.kind == Kind::Sampled && self.arms.len() > 1);
        WorkloadResult {
            name: scheduled.workload.name.clone(),
            params: params
                .map(|(name, value)| (name.clone(), (*value).into()))
                .chain(scheduled.facts.clone())
                .collect(),
            arms: arms.iter().map(arm).collect(),
            control: control
                .map(|metric| (metric.name.clone(), Control::default()))
                .collect(),
            ..WorkloadResult::default()
        }
    }
}
