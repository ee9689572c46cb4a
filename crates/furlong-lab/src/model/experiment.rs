//! An experiment: its plan, its arms, and the exchange with a sample process.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::plan::{Plan, Profile, Workload};

/// What a sample process is asked to do.
#[derive(Clone, Debug)]
pub struct Request {
    /// The workload's entry in the plan, with its parameters for this profile.
    pub workload: Workload,
    /// Decides every input: the same for all arms of a block.
    pub seed: u64,
    /// How many operations to time; an arm may round it up to whole rounds and says what it did.
    pub operations: u64,
    /// Count events instead of timing: every metric of kind exact must be in the outcome, and none
    /// of the sampled ones need be. An arm that does not count is not asked.
    pub exact: bool,
}

/// What a sample process has to say.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// By the metric's name.
    pub metrics: BTreeMap<String, f64>,
    /// Operations really done in the timed region.
    pub operations: u64,
    /// Seconds spent in the timed region.
    pub elapsed_s: f64,
    /// Of the answers: all arms of a block must agree on it.
    pub digest: u64,
}

/// An arm gave a wrong answer or could not run.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure(pub String);

/// Runs one sample of one arm in this process.
pub type ArmFn = fn(&Request) -> Result<Outcome, Failure>;

/// An arm as the lab can run it. Its name is in the plan too; a test holds that they agree.
#[derive(Clone, Copy, Debug)]
pub struct Arm {
    /// As in the plan.
    pub name: &'static str,
    /// Runs one sample in this process.
    pub run: ArmFn,
    /// Why this arm cannot run a workload, where it cannot (`at most 32 segments`).
    pub na: fn(&Workload) -> Option<String>,
    /// Why nobody waits for it where a quick run was not asked for the workload by name (`it goes
    /// through all areas`): all arms of a block do as many operations, and it takes hundreds of
    /// times as long for them.
    pub waits: fn(&Workload) -> Option<String>,
    /// Whether it counts the exact metrics; otherwise it is not asked for them and has none.
    pub counts: bool,
}

impl Arm {
    /// An arm that can run every workload.
    #[must_use]
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
    /// From `experiments/<name>/plan.toml`, compiled in.
    pub plan: Plan,
    /// The baseline first.
    pub arms: Vec<Arm>,
    /// What arms measure besides this binary: an arm's name and a file. The record has them with
    /// their fingerprints.
    pub files: fn() -> Vec<(&'static str, PathBuf)>,
}

impl Experiment {
    /// The experiment of a plan that is compiled in.
    ///
    /// # Panics
    /// If the plan contradicts itself; a test reads them all.
    #[must_use]
    pub fn compiled_in(plan: &str, arms: Vec<Arm>) -> Self {
        Self {
            plan: Plan::compiled_in(plan),
            arms,
            files: Vec::new,
        }
    }

    /// A request for a sample of a workload under the smallest profile, to test arms with.
    ///
    /// # Panics
    /// If the plan has no such workload.
    #[must_use]
    pub fn request(&self, workload: &str, operations: u64, exact: bool) -> Request {
        let workload = self.plan.workload(workload).expect("the plan has it");
        Request {
            workload: workload.under(Profile::Smoke),
            seed: 11,
            operations,
            exact,
        }
    }

    /// The arm of that name.
    #[must_use]
    pub fn arm(&self, name: &str) -> Option<&Arm> {
        self.arms.iter().find(|arm| arm.name == name)
    }
}
