//! `plan.toml`: what an experiment declares before anything is measured.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::record::result::{Better, Kind};

/// How much to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Profile {
    /// Three blocks of tiny sizes: does it run? No verdict.
    Smoke,
    /// The workloads marked quick, ten blocks.
    Quick,
    /// Everything, at the seeds' sizes.
    Full,
}

/// `experiments/<name>/plan.toml`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// As in `furlong list`.
    pub name: String,
    /// What it asks, one sentence.
    pub question: String,
    /// Names of the arms, the baseline first.
    pub arms: Vec<String>,
    /// The primary one first.
    pub metrics: Vec<MetricPlan>,
    /// In the order in which they run.
    pub workloads: Vec<Workload>,
    /// Blocks under `full`; `quick` has 10 and `smoke` 3.
    pub full_blocks: u32,
    /// Wanted seconds of the timed region of a sample, by profile: `quick`, `full`.
    pub batch_s: BTreeMap<String, f64>,
}

/// A metric as declared.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MetricPlan {
    /// As in the result.
    pub name: String,
    /// `ns`, `1`, `KiB`, ..
    pub unit: String,
    /// Which way is good.
    pub better: Better,
    /// Whether processes differ in it.
    pub kind: Kind,
    /// Margin, per cent.
    pub margin_pct: f64,
    /// One sentence: what it counts or times.
    pub about: String,
}

/// A workload as declared.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// As in the result.
    pub name: String,
    /// One sentence: what it does.
    pub about: String,
    /// Runs under the quick profile too.
    #[serde(default)]
    pub quick: bool,
    /// Parameters under `quick` and `full`.
    #[serde(default)]
    pub params: BTreeMap<String, u64>,
    /// Parameters that differ under `smoke` (tiny sizes).
    #[serde(default)]
    pub smoke: BTreeMap<String, u64>,
}
