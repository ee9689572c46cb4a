//! The seam between the schedule and the processes: the schedule says what to run and when, a
//! sampler runs it. `furlong run` samples its own executable, `furlong compare` the user's
//! commands, the tests neither.
#![forbid(unsafe_code)]

use std::time::Duration;

use crate::model::{MetricPlan, Outcome, Workload};

/// One sample to take: one process.
#[derive(Clone, Debug)]
pub struct Job<'a> {
    /// Name of the experiment.
    pub experiment: &'a str,
    /// With the parameters of this run's profile.
    pub workload: &'a Workload,
    /// Name of the arm.
    pub arm: &'a str,
    /// Decides the input: the same for all arms of a block.
    pub seed: u64,
    /// How many operations.
    pub operations: u64,
    /// Count events instead of timing.
    pub exact: bool,
    /// Bytes to add to the process's environment. Arms whose names differ in length get different
    /// numbers, so that the sum of arguments and environment is the same throughout a block.
    pub padding: usize,
    /// After which the sample has failed.
    pub timeout: Duration,
}

/// Why there is no sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Miss {
    /// The process failed, or what it said cannot be used.
    Failed(String),
    /// The user wants to stop.
    Interrupted,
    /// The process failed in a way that makes every further sample meaningless.
    Fatal(String),
}

/// Takes samples.
pub trait Sampler {
    /// Takes one, and comes back when its process is gone.
    ///
    /// # Errors
    ///
    /// Why there is none.
    fn sample(&mut self, job: &Job<'_>) -> Result<Outcome, Miss>;

    /// What was noticed besides the figures, each a warning for the record. Asked after every
    /// block; what was said once may be said again.
    fn notices(&mut self) -> Vec<String> {
        vec![]
    }
}

/// A further pass over every arm before the blocks, with a sampler of its own, for metrics that the
/// arms do not count themselves (instructions, for example).
pub struct Pass<'a> {
    /// What it counts; joins the experiment's metrics.
    pub metrics: Vec<MetricPlan>,
    /// Who counts it.
    pub sampler: Box<dyn Sampler + 'a>,
}
