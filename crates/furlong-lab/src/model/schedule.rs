//! What a run will do, decided before anything is measured and stored with the run, so that it
//! can be resumed and so that nothing about it can be chosen after the figures are seen.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::plan::{MetricPlan, Profile, Workload};
use super::result::{
    ArmResult, Control, ExperimentResult, Kind, ResultFile, Run, SCHEMA, WorkloadResult,
};

/// `--counters`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Counters {
    /// What costs nothing: the arms' own counters.
    #[default]
    Auto,
    /// No counting pass at all: only what is sampled.
    None,
    /// The processor's own counters, system calls and migrations, of whole commands.
    Hw,
    /// Instructions under callgrind, in a pass of their own.
    Callgrind,
    /// The same, with the misses of simulated caches, of whole commands.
    Cachesim,
}

/// Everything that a run will do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Agenda {
    /// How much of each experiment.
    pub profile: Profile,
    /// Decides every order and every input.
    pub seed: u64,
    /// The margin that goes before the declared ones, per cent.
    pub margin_pct: Option<f64>,
    /// Seconds after which a sample has failed, where the user said so.
    pub timeout_s: Option<f64>,
    /// Counters besides the arms' own metrics.
    pub counters: Counters,
    /// In the order in which they run.
    pub experiments: Vec<Entry>,
    /// What the sampler needs besides (the command lines of a comparison, for example).
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub subject: Value,
}

/// One experiment of an agenda.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// As in `furlong list`.
    pub name: String,
    /// What it asks.
    pub question: String,
    /// The primary one first.
    pub metrics: Vec<MetricPlan>,
    /// The baseline first; where that cannot run a workload, the next arm that can is its baseline.
    pub arms: Vec<String>,
    /// Those of them that do not count the exact metrics.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncounted: Vec<String>,
    /// Operations of a process that counts exact metrics.
    pub exact_operations: u64,
    /// In the order in which they run.
    pub loads: Vec<Load>,
    /// What was left out and why.
    pub left_out: Vec<String>,
}

/// One workload of an agenda.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// With the parameters of this profile.
    pub workload: Workload,
    /// How many blocks.
    pub blocks: u32,
    /// How long a sample is.
    pub batch: Batch,
    /// Arms that cannot run it, and why.
    pub na: BTreeMap<String, String>,
    /// What the record says of it besides the workload's own parameters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, Value>,
}

/// The fact that holds how many seconds a workload may take.
pub const MAX_TIME_S: &str = "max_time_s";

/// How long a sample is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Batch {
    /// So many operations.
    Operations(u64),
    /// As many operations as the baseline does in so many seconds, found out once and frozen.
    Seconds(f64),
}

/// Seconds for a process of which nothing is known.
const PATIENCE_S: f64 = 600.0;

/// Nanoseconds of an operation of which nothing is known: for the time left, nothing else.
const GUESS_NS: f64 = 200.0;

/// Seconds that a process needs besides the timed region: for the time left, nothing else.
const STARTUP_S: f64 = 0.1;

impl Load {
    /// Whether the arm can run it.
    #[must_use]
    pub fn has(&self, arm: &str) -> bool {
        !self.na.contains_key(arm)
    }

    /// How long a sample will probably take, seconds.
    #[must_use]
    pub fn guess_s(&self) -> f64 {
        STARTUP_S
            + match self.batch {
                Batch::Seconds(seconds) => seconds,
                Batch::Operations(operations) => operations as f64 * GUESS_NS * 1e-9,
            }
    }
}

impl Agenda {
    /// After how long a timed sample has failed.
    #[must_use]
    pub fn patience(&self, load: &Load) -> Duration {
        let default = match load.batch {
            Batch::Seconds(seconds) => 60.0 + 60.0 * seconds,
            Batch::Operations(_) => PATIENCE_S + 60.0 * load.guess_s(),
        };
        Duration::from_secs_f64(self.timeout_s.unwrap_or(default))
    }

    /// After how long a process that calibrates or counts has failed.
    #[must_use]
    pub fn long_patience(&self) -> Duration {
        Duration::from_secs_f64(self.timeout_s.unwrap_or(PATIENCE_S))
    }

    /// The result before anything is measured: every workload, no block.
    #[must_use]
    pub fn blank(&self, run: Run) -> ResultFile {
        let experiments = self.experiments.iter().map(Entry::blank).collect();
        ResultFile {
            schema: SCHEMA.to_owned(),
            run,
            experiments,
        }
    }
}

impl Entry {
    /// The arms that can run a workload, its baseline first.
    #[must_use]
    pub fn runners<'a>(&'a self, load: &Load) -> Vec<&'a str> {
        let names = self.arms.iter().map(String::as_str);
        names.filter(|arm| load.has(arm)).collect()
    }

    fn blank(&self) -> ExperimentResult {
        let named =
            |(place, plan): (usize, &MetricPlan)| (plan.name.clone(), plan.metric(place == 0));
        ExperimentResult {
            name: self.name.clone(),
            question: self.question.clone(),
            metrics: self.metrics.iter().enumerate().map(named).collect(),
            metric_order: self
                .metrics
                .iter()
                .map(|metric| metric.name.clone())
                .collect(),
            workloads: self
                .loads
                .iter()
                .map(|load| self.blank_workload(load))
                .collect(),
            left_out: self.left_out.clone(),
        }
    }

    fn blank_workload(&self, load: &Load) -> WorkloadResult {
        let arm = |name: &&str| ArmResult {
            name: (*name).to_owned(),
            na: load.na.get(*name).cloned(),
            samples: BTreeMap::new(),
            summary: BTreeMap::new(),
        };
        // Those that cannot run it come last, so that the baseline is the first.
        let mut arms = self.runners(load);
        let idle = self.arms.iter().map(String::as_str);
        arms.extend(idle.filter(|arm| !load.has(arm)));
        let params = load.workload.params.iter();
        let control = self
            .metrics
            .iter()
            .filter(|metric| metric.kind == Kind::Sampled);
        WorkloadResult {
            name: load.workload.name.clone(),
            params: params
                .map(|(name, value)| (name.clone(), (*value).into()))
                .chain(load.facts.clone())
                .collect(),
            blocks: vec![],
            order: vec![],
            arms: arms.iter().map(arm).collect(),
            control: control
                .map(|metric| (metric.name.clone(), Control::blank()))
                .collect(),
            comparisons: vec![],
            warnings: vec![],
        }
    }
}
