//! An experiment: its plan, its arms, and the exchange with a sample process.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::plan::{Plan, Profile, Workload};

/// A request to a sample process.
#[derive(Clone, Debug)]
pub struct Request {
    /// The workload's entry in the plan, with its parameters for this profile.
    pub workload: Workload,
    /// Seed of every input; the same for all arms of a block.
    pub seed: u64,
    /// Number of operations to time. An arm may round it up to whole batches, and reports the
    /// number done.
    pub operations: u64,
    /// Count events instead of timing. The outcome must have every metric of kind exact, and may
    /// omit the sampled ones. Never set for an arm that does not count.
    pub exact: bool,
}

/// The report of a sample process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Values by metric name.
    pub metrics: BTreeMap<String, f64>,
    /// Operations done in the timed region.
    pub operations: u64,
    /// Seconds spent in the timed region.
    pub elapsed_s: f64,
    /// Digest of the answers; all arms of a block must agree on it.
    pub digest: u64,
}

impl Outcome {
    /// Returns the report of timed operations.
    pub fn new<'a>(
        operations: u64,
        timed: Duration,
        digest: u64,
        metrics: impl IntoIterator<Item = (&'a str, f64)>,
    ) -> Self {
        let metrics = metrics.into_iter();
        Self {
            metrics: metrics
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            operations,
            elapsed_s: timed.as_secs_f64(),
            digest,
        }
    }
}

/// An arm gave a wrong answer or could not run.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure(pub String);

impl Failure {
    /// Converts any refusal.
    pub fn of(refusal: impl Display) -> Self {
        Self(refusal.to_string())
    }
}

impl Workload {
    /// Reads its kind as the experiment's own type.
    ///
    /// # Errors
    /// The plan's kind is none of that type.
    pub fn read<K: DeserializeOwned>(&self) -> Result<K, Failure> {
        K::deserialize(&self.kind).map_err(|error| self.wrong(error))
    }

    /// Returns a parameter that must lie in a range.
    ///
    /// # Errors
    /// It is missing, or outside the range.
    pub fn number(&self, name: &str, range: RangeInclusive<u64>) -> Result<u64, Failure> {
        let found = self.params.get(name).filter(|value| range.contains(value));
        let (low, high) = range.clone().into_inner();
        let wanted = || self.wrong(format!("`{name}` is a number from {low} to {high}"));
        found.copied().ok_or_else(wanted)
    }

    /// Returns a failure that names the workload.
    pub fn wrong(&self, why: impl Display) -> Failure {
        Failure(format!("`{}`: {why}", self.name))
    }
}

/// Runs one sample of one arm in this process.
pub type ArmFn = fn(&Request) -> Result<Outcome, Failure>;

/// A runnable arm. Its name is in the plan too; a test checks that they agree.
#[derive(Clone, Copy, Debug)]
pub struct Arm {
    /// Name, as in the plan.
    pub name: &'static str,
    /// Runs one sample in this process.
    pub run: ArmFn,
    /// Reason why this arm cannot run a workload, if it cannot (`at most 32 segments`).
    pub na: fn(&Workload) -> Option<String>,
    /// Reason to leave the arm out of a quick run unless the workload was named (`it goes through
    /// all areas`). All arms of a block do the same number of operations, and this arm takes
    /// hundreds of times as long for them.
    pub waits: fn(&Workload) -> Option<String>,
    /// True if it counts the exact metrics. An arm that does not count has none and is never sent a
    /// counting request.
    pub counts: bool,
}

impl Arm {
    /// An arm that can run every workload.
    pub const fn new(name: &'static str, run: ArmFn) -> Self {
        Self {
            name,
            run,
            na: |_| None,
            waits: |_| None,
            counts: true,
        }
    }
}

/// An experiment: its plan and its arms.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Plan, from `experiments/<name>/plan.toml`, compiled in.
    pub plan: Plan,
    /// Arms, the baseline first.
    pub arms: Vec<Arm>,
    /// Files that arms measure besides this binary, each with its arm's name. The record stores
    /// them with their fingerprints.
    pub files: fn() -> Vec<(&'static str, PathBuf)>,
}

impl Experiment {
    /// Returns the experiment of a plan that is compiled in.
    ///
    /// # Panics
    /// If the plan contradicts itself. A test parses all of them.
    pub fn compiled_in(plan: &str, arms: Vec<Arm>) -> Self {
        Self {
            plan: Plan::compiled_in(plan),
            arms,
            files: Vec::new,
        }
    }

    /// Returns a request for a sample of a workload under the smallest profile, for tests of arms.
    ///
    /// # Panics
    /// If the plan has no such workload.
    pub fn request(&self, workload: &str, operations: u64, exact: bool) -> Request {
        let workload = self.plan.workload(workload).expect("the plan has it");
        Request {
            workload: workload.under(Profile::Smoke),
            seed: 11,
            operations,
            exact,
        }
    }

    /// Returns the arm of that name.
    pub fn arm(&self, name: &str) -> Option<&Arm> {
        self.arms.iter().find(|arm| arm.name == name)
    }
}
