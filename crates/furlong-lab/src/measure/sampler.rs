//! The interface between the schedule and the processes: the schedule decides the samples and their
//! order, a sampler takes them. `furlong run` samples its own executable, `furlong compare` the
//! user's commands. Tests use a simulated sampler.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::{MetricPlan, Outcome, Workload};

/// One sample to take: one process.
#[derive(Clone, Debug)]
pub struct Job<'a> {
    /// Name of the experiment.
    pub experiment: &'a str,
    /// The workload with the parameters of this run's profile.
    pub workload: &'a Workload,
    /// Name of the arm.
    pub arm: &'a str,
    /// Number of the block, from 1; 0 outside blocks.
    pub block: u32,
    /// Seed of the input; the same for all arms of a block.
    pub seed: u64,
    /// Number of operations.
    pub operations: u64,
    /// Count events instead of timing.
    pub exact: bool,
    /// Bytes to add to the process's environment. Arms whose names differ in length get different
    /// numbers, so that arguments and environment have the same total length throughout a block.
    pub padding: usize,
    /// Time after which the sample has failed.
    pub timeout: Duration,
}

/// Reason why there is no sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SampleError {
    /// The process failed, or its output cannot be used.
    Failed(String),
    /// The user wants to stop.
    Interrupted,
    /// The process failed in a way that makes every further sample meaningless.
    Fatal(String),
}

/// Takes samples.
pub trait Sampler {
    /// Takes one sample and returns after its process has ended.
    ///
    /// # Errors
    ///
    /// The reason why there is no sample.
    fn sample(&mut self, job: &Job<'_>) -> Result<Outcome, SampleError>;

    /// Returns the operations of the first try of a calibration. One operation of an experiment is
    /// short.
    fn first_operations(&self) -> u64 {
        256
    }

    /// Returns findings besides the figures, each a warning for the record. Called after every
    /// block. A finding may be returned again.
    fn notices(&mut self) -> Vec<String> {
        vec![]
    }

    /// Returns a fact for the record with its name, once all arms of a workload are counted.
    fn fact(&mut self) -> Option<(&'static str, Value)> {
        None
    }
}

/// A further pass over every arm, with its own sampler, for metrics that the arms do not count
/// themselves (instructions, for example).
pub struct Pass<'a> {
    /// Metrics of the pass; added to those of the experiment.
    pub metrics: Vec<MetricPlan>,
    /// Sampler that counts them.
    pub sampler: Box<dyn Sampler + 'a>,
    /// The workloads that are counted.
    pub when: When,
}

impl Pass<'_> {
    /// True if the user did not ask for it: it must not disturb the answer.
    pub fn is_unasked(&self) -> bool {
        self.when == When::IfDifferent
    }
}

/// The workloads that a pass counts, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum When {
    /// All, before the blocks.
    Before,
    /// All, after the blocks.
    After,
    /// Those without a verdict, after the blocks.
    IfUndecided,
    /// Those with a difference, after the blocks, unless it takes long.
    IfDifferent,
}
