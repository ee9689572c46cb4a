//! How the figures of a machine went: its runs, and the series of every experiment.
#![forbid(unsafe_code)]

use super::series::Series;
use crate::model::result::Machine;
use crate::record::store::Listed;

/// What is known of a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    /// The machine.
    pub machine: Machine,
    /// Its runs, the latest first; none where experiments were asked for by name.
    pub runs: Vec<Listed>,
    /// Those that have a series.
    pub experiments: Vec<Course>,
}

/// The series of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Course {
    /// The experiment.
    pub name: String,
    /// What it asks.
    pub question: String,
    /// By workload and arm.
    pub series: Vec<Series>,
}
