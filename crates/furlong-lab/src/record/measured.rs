//! A finished block, as it goes into the record.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::Outcome;

/// A finished block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// From 1.
    pub number: u32,
    /// Decided the input of all its processes.
    pub seed: u64,
    /// In the order in which they ran.
    pub samples: Vec<Sample>,
}

/// One process of a block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// The arm, or [`CONTROL`](crate::model::result::CONTROL).
    pub runner: String,
    /// By metric; what is not there was not measured.
    pub values: BTreeMap<String, f64>,
    /// Seconds of the timed region.
    pub elapsed_s: f64,
    /// Operations done in the timed region.
    pub operations: u64,
    /// Of the answers, where there were any.
    pub digest: Option<u64>,
    /// Why there are no values, where there are none.
    pub failure: Option<String>,
}

impl Sample {
    /// What a process said, of the metrics that were asked for.
    #[must_use]
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

    /// A process that failed.
    #[must_use]
    pub fn missed(runner: &str, why: String) -> Sample {
        Sample {
            runner: runner.to_owned(),
            values: BTreeMap::new(),
            elapsed_s: 0.0,
            operations: 0,
            digest: None,
            failure: Some(why),
        }
    }
}
