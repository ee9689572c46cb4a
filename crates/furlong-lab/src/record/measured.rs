//! A finished block in the record.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::Outcome;

/// A finished block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// Number of the block, from 1.
    pub number: u32,
    /// Seed of the input of all its processes.
    pub seed: u64,
    /// Samples in the order in which they ran.
    pub samples: Vec<Sample>,
}

/// One process of a block.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// The arm, or [`CONTROL`](crate::model::result::CONTROL).
    pub runner: String,
    /// Values by metric; a metric without a value was not measured.
    pub values: BTreeMap<String, f64>,
    /// Seconds of the timed region.
    pub elapsed_s: f64,
    /// Operations done in the timed region.
    pub operations: u64,
    /// Digest of the answers, if there were any.
    pub digest: Option<u64>,
    /// Reason why there are no values, if there are none.
    pub failure: Option<String>,
}

impl Sample {
    /// Returns the sample of an outcome, with the requested metrics only.
    pub fn taken(runner: &str, metrics: &[String], outcome: &Outcome) -> Sample {
        let value = |name: &String| Some((name.clone(), *outcome.metrics.get(name)?));
        Sample {
            runner: runner.to_owned(),
            values: metrics.iter().filter_map(value).collect(),
            elapsed_s: outcome.elapsed_s,
            operations: outcome.operations,
            digest: Some(outcome.digest),
            failure: None,
        }
    }

    /// Returns the sample of a process that failed.
    pub fn missed(runner: &str, why: String) -> Sample {
        Sample {
            runner: runner.to_owned(),
            failure: Some(why),
            ..Sample::default()
        }
    }
}
