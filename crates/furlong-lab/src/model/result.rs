//! The result of a run, as it is stored, shown and exchanged: `furlong.result/1`.
//!
//! Fields may be added here, never renamed. The JSON Schema beside this file says the same, and a
//! test validates every output against it.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use furlong_stats::value::{
    ArmResult, Better, ByNode, CONTROL, Comparison, Control, Kind, MannWhitney, Metric, NodeEffect,
    NodesTest, Student, Summary, TTest, VarianceTest, Verdict, WorkloadResult,
};

/// The `schema` of every file of this form.
pub const SCHEMA: &str = "furlong.result/1";

/// One invocation of `furlong run` or `furlong compare`: all its experiments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResultFile {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// What ran, when, where and how.
    pub run: Run,
    /// In the order in which they ran.
    pub experiments: Vec<ExperimentResult>,
}

/// What ran, when, where and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Unique in a store; `--resume` and `show` take it or a unique beginning of it.
    pub id: String,
    /// Start, RFC 3339 with offset.
    pub started: String,
    /// The arguments as given.
    pub command: Vec<String>,
    /// `smoke`, `quick` or `full`.
    pub profile: String,
    /// Decides every order and every input.
    pub seed: u64,
    /// Version of furlong, with the commit where one is known.
    pub version: String,
    /// A name that the user gave.
    pub tag: Option<String>,
    /// A note that the user gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The machine.
    pub machine: Machine,
    /// What was noticed about the run as a whole, each with what to do about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// What the machine says of itself; `None` where it does not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Stable for this machine and kernel, by a hash of what does not change between boots.
    pub id: String,
    /// Name of the host.
    pub host: String,
    /// Operating system and kernel release.
    pub kernel: String,
    /// Processor model.
    pub cpu: Option<String>,
    /// Processors that this process may use.
    pub cpus: u32,
    /// Memory, bytes.
    pub memory_bytes: Option<u64>,
    /// Bytes of the caches, by level: `L1d`, `L2`, `L3`.
    #[serde(default)]
    pub caches: BTreeMap<String, u64>,
    /// Hypervisor, where there is one.
    pub hypervisor: Option<String>,
    /// Frequency governor.
    pub governor: Option<String>,
    /// Boost or turbo.
    pub turbo: Option<bool>,
    /// Simultaneous multithreading.
    pub smt: Option<bool>,
    /// `kernel.randomize_va_space`.
    pub aslr: Option<u8>,
    /// Transparent huge pages: `always`, `madvise`, `never`.
    pub thp: Option<String>,
    /// Load average of the last minute at the start.
    pub load_1m: Option<f64>,
    /// Share of time stolen by the hypervisor during the run, per cent.
    pub steal_pct: Option<f64>,
    /// Compiler of this binary.
    pub rustc: String,
    /// Profile and target of this binary.
    pub build: String,
    /// The machines, where there are several and this is what they have in common.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<Fleet>,
}

/// Several machines that share a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fleet {
    /// The directory of its parts.
    pub dir: String,
    /// By the name that the fleet has for it.
    pub nodes: BTreeMap<String, Machine>,
}

/// One experiment of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExperimentResult {
    /// As in `furlong list`.
    pub name: String,
    /// What it asks.
    pub question: String,
    /// By name; [`ExperimentResult::metric_order`] has their order.
    pub metrics: BTreeMap<String, Metric>,
    /// Names of the metrics, the primary one first.
    pub metric_order: Vec<String>,
    /// In the order in which they ran.
    pub workloads: Vec<WorkloadResult>,
    /// What was left out and why (workloads of another profile, for example).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

impl ExperimentResult {
    /// The metrics by name, in their order.
    #[must_use]
    pub fn named(&self) -> Vec<(&str, &Metric)> {
        let order = self.metric_order.iter();
        order
            .filter_map(|name| self.metrics.get_key_value(name))
            .map(|(name, metric)| (name.as_str(), metric))
            .collect()
    }
}
