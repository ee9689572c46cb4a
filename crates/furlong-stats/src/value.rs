//! The values that go in and out: metrics, samples by arm, and comparisons with their verdicts.
//!
//! They are the part of `furlong.result/1` below an experiment: fields may be added, never renamed.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What is measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// `ns`, `1`, `KiB`, ..
    pub unit: String,
    /// Which way is good.
    pub better: Better,
    /// Whether processes differ in it.
    pub kind: Kind,
    /// The one metric whose verdict decides.
    pub primary: bool,
    /// Declared margin, per cent; the run's own `--margin` goes before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin_pct: Option<f64>,
    /// One sentence: what it counts or times.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
}

/// Which way is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Less is better: times, misses, bytes.
    Lower,
    /// More is better: throughput.
    Higher,
}

/// Whether processes differ in a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A value a process; compared with statistics.
    Sampled,
    /// Identical in every process at the same input; compared as a number.
    Exact,
}

/// One workload of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkloadResult {
    /// As in the plan.
    pub name: String,
    /// What it was run with; `operations` (the frozen batch of a sample) is always there.
    pub params: BTreeMap<String, serde_json::Value>,
    /// Numbers of the finished blocks, ascending.
    pub blocks: Vec<u32>,
    /// For each block the arms in the order in which they ran; the control is [`CONTROL`].
    pub order: Vec<Vec<String>>,
    /// The baseline first.
    pub arms: Vec<ArmResult>,
    /// By sampled metric: the baseline again.
    pub control: BTreeMap<String, Control>,
    /// Every arm but the baseline, against the baseline, for every metric.
    pub comparisons: Vec<Comparison>,
    /// What was noticed (drift, steal, autocorrelation, a failed control, ..), each a sentence that
    /// says what to do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl WorkloadResult {
    /// The metric whose verdict decides here: the one marked, where this workload has values of it,
    /// else the first of its kind that has, in the place of a count the first of any kind; the one
    /// marked, or the first, where none has.
    ///
    /// # Shapes
    ///
    /// `metrics` come in the declared order.
    #[must_use]
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
        // A count never stands in for what was to be sampled and is missing.
        let mut others = there.filter(|_| marked.1.kind == Kind::Exact);
        alike
            .next()
            .or_else(|| others.next())
            .or(Some(marked))
            .copied()
    }
}

/// The parameter of a workload with its own margin, per cent.
pub const MARGIN: &str = "margin_pct";

/// How the control is called in [`WorkloadResult::order`].
pub const CONTROL: &str = "control";

/// One arm on one workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArmResult {
    /// As in the plan.
    pub name: String,
    /// Why it cannot run this workload, where it cannot.
    pub na: Option<String>,
    /// By metric: one value a block, aligned with `blocks`, `None` where the run failed; an exact
    /// metric has one value.
    pub samples: BTreeMap<String, Vec<Option<f64>>>,
    /// By metric, over the samples that are there.
    pub summary: BTreeMap<String, Summary>,
}

/// What ministat prints of a sample, and the coefficient of variation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Number of values.
    pub n: usize,
    /// Least.
    pub min: f64,
    /// Greatest.
    pub max: f64,
    /// True median: the mean of the two middle values where `n` is even.
    pub median: f64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation with `n - 1`; `None` when `n` is 1.
    pub stddev: Option<f64>,
    /// `100 stddev / |mean|`; `None` where that has no meaning.
    pub cv_pct: Option<f64>,
}

/// The baseline again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Control {
    /// Aligned with `blocks`.
    pub samples: Vec<Option<f64>>,
    /// The noise floor of this run, per cent; `None` with fewer than two blocks.
    pub floor_pct: Option<f64>,
    /// The control's own 99 % interval excludes no difference: nothing else here can be trusted.
    #[serde(default)]
    pub failed: bool,
}

impl Control {
    /// Before the first block.
    #[must_use]
    pub fn blank() -> Control {
        Control {
            samples: vec![],
            floor_pct: None,
            failed: false,
        }
    }
}

/// One arm against the baseline in one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Name of the baseline.
    pub baseline: String,
    /// Name of the arm.
    pub arm: String,
    /// Name of the metric.
    pub metric: String,
    /// Blocks that went into it.
    pub n: usize,
    /// Change of the metric against the baseline, per cent, negative when it is less.
    pub effect_pct: f64,
    /// 95 % interval of the effect, unadjusted; `None` for an exact metric or under two blocks.
    /// Where no value is negative, as much of it as can be: not below -100.
    pub ci95_pct: Option<[f64; 2]>,
    /// The margin that the verdict used, per cent, as asked or declared.
    pub margin_pct: f64,
    /// Paired t test of the logarithms (or differences, see `scale`) against no difference.
    pub paired: Option<TTest>,
    /// Sign-flip randomisation test, two-sided.
    pub sign_flip_p: Option<f64>,
    /// The interval at `level`, adjusted for several arms or metrics.
    pub ci_adj_pct: Option<[f64; 2]>,
    /// Confidence of `ci_adj_pct`, for example 0.975.
    pub level: Option<f64>,
    /// Brown-Forsythe: is one more variable than the other?
    pub variance: Option<VarianceTest>,
    /// Welch's t test on the unpaired values.
    pub welch: Option<TTest>,
    /// Student's t test as ministat has it.
    pub student: Option<Student>,
    /// Mann-Whitney.
    pub mann_whitney: Option<MannWhitney>,
    /// What it comes to.
    pub verdict: Verdict,
    /// The smallest effect for which this run had a fair chance of a verdict, per cent.
    pub mde_pct: Option<f64>,
    /// Blocks that would probably decide; 10,000 means more than that.
    pub n_needed: Option<u32>,
    /// `log` or, where a value is not positive, `difference`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<String>,
    /// Why the verdict is no better (control failed, too few blocks, floor above the margin).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What each node says of it, where several measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_node: Option<ByNode>,
}

/// What the nodes of a fleet say of one effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ByNode {
    /// In the order of their names.
    pub effects: Vec<NodeEffect>,
    /// Does the effect differ between them by more than chance?
    pub differ: Option<NodesTest>,
}

/// An effect on one node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeEffect {
    /// The node, by the name that the fleet has for it.
    pub node: String,
    /// Its blocks.
    pub n: usize,
    /// As in the comparison.
    pub effect_pct: f64,
    /// Of its own blocks alone; `None` with fewer than two.
    pub ci95_pct: Option<[f64; 2]>,
    /// `keep` or `revert` where that is beyond doubt on this node alone, however many there are.
    pub claim: Option<Verdict>,
}

/// One-way analysis of variance of an effect, by node.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodesTest {
    /// Statistic.
    pub f: f64,
    /// Degrees of freedom between the nodes.
    pub df1: f64,
    /// Degrees of freedom within them.
    pub df2: f64,
    /// Upper tail.
    pub p: f64,
}

/// A t test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TTest {
    /// Statistic.
    pub t: f64,
    /// Degrees of freedom.
    pub df: f64,
    /// Two-sided.
    pub p: f64,
}

/// Brown-Forsythe on the medians.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct VarianceTest {
    /// Variance of the arm over that of the baseline.
    pub ratio: f64,
    /// Two-sided.
    pub p: f64,
}

/// What ministat prints of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Student {
    /// Mean of the arm less mean of the baseline.
    pub difference: f64,
    /// Half width of its 95 % interval.
    pub plus_minus: f64,
    /// In per cent of the baseline's mean.
    pub difference_pct: f64,
    /// In per cent of the baseline's mean.
    pub plus_minus_pct: f64,
    /// Pooled standard deviation.
    pub pooled_s: f64,
}

/// Mann-Whitney.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MannWhitney {
    /// Pairs in which the arm is greater, ties counting one half.
    pub u: f64,
    /// Two-sided; exact while the number of arrangements allows.
    pub p: f64,
}

/// What a comparison comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Better by more than the margin.
    Keep,
    /// Worse by more than the margin.
    Revert,
    /// Within the margin on either side.
    Equivalent,
    /// This run cannot tell.
    Inconclusive,
}
