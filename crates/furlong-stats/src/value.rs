//! The result of a run, `furlong.result/1`: metrics, samples by arm, comparisons, verdicts.
//!
//! Fields may be added, never renamed. Statistics take a workload's part of it in and fill it out.

mod experiment;
mod hypothesis;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use hypothesis::{MannWhitney, NodesTest, Student, TTest, VarianceTest};

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

impl ResultFile {
    /// All workloads, in the order in which they ran.
    pub fn workloads(&self) -> impl Iterator<Item = &WorkloadResult> {
        self.experiments.iter().flat_map(|one| &one.workloads)
    }
}

/// A run: its time, machine, and arguments.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// Commit of the measured code, with `+` if the tree has changes; `None` if it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
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
    /// boots. With a class it is that of the class.
    pub id: String,
    /// Class that the user named: machines of a class count as one, and have one identifier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExperimentResult {
    /// Name, as in `furlong list`.
    pub name: String,
    /// The comparison, if it is one: the user's name for it, or its commands in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<String>,
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

/// Definition of a metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// `ns`, `1`, `KiB`, ..
    pub unit: String,
    /// The better direction.
    pub better: Better,
    /// Kind of its values.
    pub kind: Kind,
    /// True for the metric whose verdict decides.
    pub primary: bool,
    /// Declared margin, in per cent; the run's own `--margin` takes precedence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin_pct: Option<f64>,
    /// One sentence: the quantity that it counts or times.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
}

/// The better direction of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Less is better: times, misses, bytes.
    Lower,
    /// More is better: throughput.
    Higher,
}

impl Better {
    /// The direction of an effect with this interval; `None` if it includes no effect.
    pub fn direction(self, [low, high]: [f64; 2]) -> Option<Direction> {
        match (self, low > 0.0, high < 0.0) {
            (Better::Lower, true, _) | (Better::Higher, _, true) => Some(Direction::Worse),
            (Better::Lower, _, true) | (Better::Higher, true, _) => Some(Direction::Better),
            _ => None,
        }
    }

    /// The verdict on an effect that is beyond the margin, above it if `greater`.
    pub(crate) fn beyond(self, greater: bool) -> Verdict {
        if greater == (self == Better::Higher) {
            Verdict::Keep
        } else {
            Verdict::Revert
        }
    }
}

/// Kind of a metric's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// One value per process; compared with statistics.
    Sampled,
    /// Identical in every process at the same input; compared as a number.
    Exact,
}

/// One workload of an experiment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkloadResult {
    /// As in the plan.
    pub name: String,
    /// Its parameters; `operations` (the frozen batch of a sample) is always present.
    pub params: BTreeMap<String, serde_json::Value>,
    /// Numbers of the finished blocks, ascending.
    pub blocks: Vec<u32>,
    /// For each block, the arms in the order in which they ran; the control is [`CONTROL`].
    pub order: Vec<Vec<String>>,
    /// The baseline first.
    pub arms: Vec<ArmResult>,
    /// By sampled metric: the baseline again.
    pub control: BTreeMap<String, Control>,
    /// Every arm but the baseline, against the baseline, for every metric.
    pub comparisons: Vec<Comparison>,
    /// Problems of the measurement (drift, steal, autocorrelation, a failed control, ..), each a
    /// sentence with a remedy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl WorkloadResult {
    /// A workload with one sampled metric and without verdicts: its arms, the baseline first, and
    /// its control. Blocks count from 1.
    pub fn sampled<'a>(
        name: &str,
        metric: &str,
        arms: impl IntoIterator<Item = (&'a str, Vec<Option<f64>>)>,
        control: Vec<Option<f64>>,
    ) -> Self {
        let arm = |(name, samples): (&str, _)| ArmResult {
            name: name.to_owned(),
            samples: [(metric.to_owned(), samples)].into(),
            ..ArmResult::default()
        };
        let blocks = (1..=control.len() as u32).collect();
        let control = Control {
            samples: control,
            ..Control::default()
        };
        Self {
            name: name.to_owned(),
            blocks,
            arms: arms.into_iter().map(arm).collect(),
            control: [(metric.to_owned(), control)].into(),
            ..Self::default()
        }
    }

    /// The metric whose verdict decides here: the marked one (or else the first) if this workload
    /// has values of it. Otherwise it is the first of the same kind with values, or, if the marked
    /// one is a count, the first of any kind with values. If none has values, it is the marked one.
    ///
    /// # Shapes
    ///
    /// `metrics` are in the declared order.
    pub fn primary<'a>(&self, metrics: &[(&'a str, &'a Metric)]) -> Option<(&'a str, &'a Metric)> {
        let marked = metrics.iter().find(|(_, metric)| metric.primary);
        let marked = marked.or(metrics.first())?;
        let has = |name: &str| {
            let mut samples = self.arms.iter().filter_map(|arm| arm.samples.get(name));
            samples.any(|values| values.iter().any(Option::is_some))
        };
        if has(marked.0) {
            return Some(*marked);
        }
        let there = metrics.iter().filter(|(name, _)| has(name));
        let mut alike = there
            .clone()
            .filter(|(_, other)| other.kind == marked.1.kind);
        // A count never replaces a sampled metric that has no values.
        let mut others = there.filter(|_| marked.1.kind == Kind::Exact);
        alike
            .next()
            .or_else(|| others.next())
            .or(Some(marked))
            .copied()
    }
}

/// The parameter of a workload with its own margin, in per cent.
pub const MARGIN: &str = "margin_pct";

/// Name of the control in [`WorkloadResult::order`].
pub const CONTROL: &str = "control";

/// One arm on one workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ArmResult {
    /// As in the plan.
    pub name: String,
    /// The reason why it cannot run this workload, if it cannot.
    pub na: Option<String>,
    /// By metric: one value per block, aligned with `blocks`, `None` if the run failed; an exact
    /// metric has one value.
    pub samples: BTreeMap<String, Vec<Option<f64>>>,
    /// By metric, over the existing samples.
    pub summary: BTreeMap<String, Summary>,
}

/// ministat's summary of a sample, and the coefficient of variation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Number of values.
    pub n: usize,
    /// Least.
    pub min: f64,
    /// Greatest.
    pub max: f64,
    /// True median: the mean of the two middle values if `n` is even.
    pub median: f64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation with `n - 1`; `None` if `n` is 1.
    pub stddev: Option<f64>,
    /// `100 stddev / |mean|`; `None` if that is undefined.
    pub cv_pct: Option<f64>,
}

/// The baseline again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Control {
    /// Aligned with `blocks`.
    pub samples: Vec<Option<f64>>,
    /// The noise floor of this run, in per cent; `None` with fewer than two blocks.
    pub floor_pct: Option<f64>,
    /// True if the baseline differs from itself by more than chance and more than half the margin:
    /// the results are not reliable.
    #[serde(default)]
    pub failed: bool,
}

/// One arm against the baseline in one metric.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Name of the baseline.
    pub baseline: String,
    /// Name of the arm.
    pub arm: String,
    /// Name of the metric.
    pub metric: String,
    /// Blocks used.
    pub n: usize,
    /// Change of the metric against the baseline, in per cent; negative if the arm's is less.
    pub effect_pct: f64,
    /// 95 % interval of the effect, unadjusted; `None` for an exact metric or with fewer than two
    /// blocks. If no value is negative, it is cut at the least possible effect, -100.
    pub ci95_pct: Option<[f64; 2]>,
    /// The margin of the verdict, in per cent: the run's own or the declared one.
    pub margin_pct: f64,
    /// Paired t test of the logarithms (or differences, see `scale`) against no difference.
    pub paired: Option<TTest>,
    /// Sign-flip randomisation test, two-sided.
    pub sign_flip_p: Option<f64>,
    /// The interval at `level`, adjusted for several arms or metrics, or for interim looks; `None`
    /// without a bound.
    pub ci_adj_pct: Option<[f64; 2]>,
    /// Confidence of `ci_adj_pct`, for example 0.975.
    pub level: Option<f64>,
    /// Brown-Forsythe test of equal variability.
    pub variance: Option<VarianceTest>,
    /// Welch's t test on the unpaired values.
    pub welch: Option<TTest>,
    /// Student's t test as in ministat.
    pub student: Option<Student>,
    /// Mann-Whitney.
    pub mann_whitney: Option<MannWhitney>,
    /// The verdict.
    pub verdict: Verdict,
    /// The direction of the effect, if the interval at `level` excludes no effect; also without a
    /// verdict. Records from before it was stored have none until they are judged again.
    #[serde(default)]
    pub direction: Option<Direction>,
    /// The smallest effect, in per cent, for which this run had an 80 % chance of a verdict.
    pub mde_pct: Option<f64>,
    /// Blocks that would probably decide; 10,000 means more than that.
    pub n_needed: Option<u32>,
    /// `log` or, if a value is not positive, `difference`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<String>,
    /// The reason why there is no verdict (control failed, too few blocks, interval across the
    /// margin), or a remark on the one that there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The effect on each node, if several measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_node: Option<ByNode>,
    /// The part of the code layouts, if several were measured. The effect is then the mean over
    /// layouts, and they are the replicates of its tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_layout: Option<ByLayout>,
}

/// The part of code layouts in an effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ByLayout {
    /// Layouts used.
    pub layouts: usize,
    /// Layouts that would probably decide; 10,000 means more than that.
    pub needed: Option<u32>,
    /// Estimated share of the variance of a block's effect that is due to the layout, in per cent;
    /// `None` with one block per layout, or if nothing varies.
    pub share_pct: Option<f64>,
    /// Its 95 % interval.
    pub share95_pct: Option<[f64; 2]>,
    /// p of the F test that layouts do not matter.
    pub p: Option<f64>,
}

/// One effect by the nodes of a fleet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ByNode {
    /// In the order of their names.
    pub effects: Vec<NodeEffect>,
    /// The test of a difference between them by more than chance.
    pub differ: Option<NodesTest>,
}

/// An effect on one node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeEffect {
    /// The node's name in the fleet.
    pub node: String,
    /// Its blocks.
    pub n: usize,
    /// As in the comparison.
    pub effect_pct: f64,
    /// From its own blocks alone; `None` with fewer than two.
    pub ci95_pct: Option<[f64; 2]>,
    /// `keep` or `revert` if this node alone proves it, at a level adjusted for the number of
    /// nodes.
    pub claim: Option<Verdict>,
}

/// The direction of an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// The arm is better than the baseline.
    Better,
    /// It is worse.
    Worse,
}

/// The conclusion of a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Better by more than the margin.
    Keep,
    /// Worse by more than the margin.
    Revert,
    /// Within the margin on both sides.
    Equivalent,
    /// This run cannot decide.
    #[default]
    Inconclusive,
}

impl Verdict {
    /// All verdicts, in the order in which reports list them.
    pub const ALL: [Verdict; 4] = [
        Verdict::Keep,
        Verdict::Revert,
        Verdict::Equivalent,
        Verdict::Inconclusive,
    ];

    /// The number of occurrences of each verdict among these, in that order, without zeros.
    pub fn tally(all: &[Verdict]) -> Vec<(Verdict, usize)> {
        let count = |verdict| all.iter().filter(|one| **one == verdict).count();
        let counted = Verdict::ALL.map(|verdict| (verdict, count(verdict)));
        counted.into_iter().filter(|(_, n)| *n > 0).collect()
    }
}
