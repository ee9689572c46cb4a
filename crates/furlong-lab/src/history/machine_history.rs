//! A machine's history: its runs, and the series of every experiment.

use serde::Serialize;

use super::figures::Place;
use super::series::Series;
use crate::model::result::Machine;
use crate::record::store::Listed;

/// The stored measurements of a machine; for programs, `furlong.history/1`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "schema", rename = "furlong.history/1")]
pub struct History {
    /// The machine.
    #[serde(with = "Place")]
    pub machine: Machine,
    /// Its runs, the latest first; none if experiments were selected by name.
    pub runs: Vec<Listed>,
    /// The experiments that have a series.
    pub experiments: Vec<ExperimentSeries>,
}

/// The series of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExperimentSeries {
    /// The experiment.
    pub name: String,
    /// The comparison, if it is one: the user's name for it, or its commands in order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<String>,
    /// Its question.
    pub question: String,
    /// By workload and arm.
    pub series: Vec<Series>,
}
