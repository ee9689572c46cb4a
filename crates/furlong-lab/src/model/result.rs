//! The result of a run, as it is stored, shown and exchanged: `furlong.result/1`.
//!
//! Fields may be added, but never renamed. The JSON Schema in `schema/` describes the same format;
//! a test validates every output against it.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use furlong_stats::value::{
    ArmResult, Better, ByNode, CONTROL, Comparison, Control, Kind, MannWhitney, Metric, NodeEffect,
    NodesTest, Student, Summary, TTest, VarianceTest, Verdict, WorkloadResult,
};

/// The `schema` field of every file in this format.
pub const SCHEMA: &str = "furlong.result/1";

/// One invocation of `furlong run` or `furlong compare`: all its experiments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResultFile {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The run: time, machine, and arguments.
    pub run: Run,
    /// Experiments in the order in which they ran.
    pub experiments: Vec<ExperimentResult>,
}

/// A run: its time, machine, and arguments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Name, unique in a store. `--resume` and `show` accept it or a unique prefix.
    pub id: String,
    /// Start, RFC 3339 with offset.
    pub started: String,
    /// Arguments as given.
    pub command: Vec<String>,
    /// `smoke`, `quick` or `full`.
    pub profile: String,
    /// Seed of every order and every input.
    pub seed: u64,
    /// Version of furlong, with the commit if it is known.
    pub version: String,
    /// Name given by the user.
    pub tag: Option<String>,
    /// Note given by the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The machine.
    pub machine: Machine,
    /// Findings about the run as a whole, each with a remedy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// Properties of a machine as the system reports them; `None` if it does not report one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Identifier of this machine and kernel: a hash of the properties that do not change between
    /// boots.
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
    /// Hypervisor, if there is one.
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
    /// Share of time that the hypervisor stole during the run, per cent.
    pub steal_pct: Option<f64>,
    /// Compiler of this binary.
    pub rustc: String,
    /// Profile and target of this binary.
    pub build: String,
    /// The machines of a fleet. If present, the other fields hold their common properties.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<Fleet>,
}

/// Several machines that share a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fleet {
    /// Directory of the fleet's parts.
    pub dir: String,
    /// Machines by their names in the fleet.
    pub nodes: BTreeMap<String, Machine>,
}

/// One experiment of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExperimentResult {
    /// Name, as in `furlong list`.
    pub name: String,
    /// The experiment's question.
    pub question: String,
    /// Metrics by name; [`ExperimentResult::metric_order`] has their order.
    pub metrics: BTreeMap<String, Metric>,
    /// Names of the metrics, the primary one first.
    pub metric_order: Vec<String>,
    /// Workloads in the order in which they ran.
    pub workloads: Vec<WorkloadResult>,
    /// Omissions with their reasons (workloads of another profile, for example).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

impl ExperimentResult {
    /// Returns the metrics with their names, in their order.
    #[must_use]
    pub fn named(&self) -> Vec<(&str, &Metric)> {
        let order = self.metric_order.iter();
        order
            .filter_map(|name| self.metrics.get_key_value(name))
            .map(|(name, metric)| (name.as_str(), metric))
            .collect()
    }
}
