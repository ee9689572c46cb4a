//! Lookups in a result, total even for malformed files: an unknown name gives `None`.

use crate::model::result::{
    ArmResult, Comparison, ExperimentResult, Kind, Metric, ResultFile, Verdict, WorkloadResult,
};
use furlong_stats::outliers::quantile_sorted;

/// A metric with its name.
pub(crate) type Named<'a> = (&'a str, &'a Metric);

/// The metric whose verdict decides on a workload.
pub(super) fn primary<'a>(e: &'a ExperimentResult, w: &WorkloadResult) -> Option<Named<'a>> {
    w.primary(&e.named())
}

/// The metrics that are not the primary one of a workload.
pub(super) fn secondary<'a>(
    experiment: &'a ExperimentResult,
    w: &WorkloadResult,
    kind: Kind,
) -> Vec<Named<'a>> {
    let first = primary(experiment, w).map(|(name, _)| name);
    let mut named = experiment.named();
    named.retain(|(name, metric)| Some(*name) != first && metric.kind == kind);
    named
}

/// All comparisons of a metric, in their order.
pub(super) fn comparisons<'a>(w: &'a WorkloadResult, metric: &str) -> Vec<&'a Comparison> {
    let all = w.comparisons.iter();
    all.filter(|c| c.metric == metric).collect()
}

/// With more comparisons than this, only those that need a remark get a sentence: the tables have
/// all of them.
const SENTENCES_MAX: usize = 12;

/// The comparisons that get a sentence: those of the primary metric (of many, only the inconclusive
/// ones), and the inconclusive ones of the other metrics.
pub(super) fn worth_saying<'a>(
    e: &'a ExperimentResult,
    w: &'a WorkloadResult,
) -> Vec<(Named<'a>, &'a Comparison)> {
    let open = |c: &&Comparison| c.verdict == Verdict::Inconclusive;
    let Some(named) = primary(e, w) else {
        return vec![];
    };
    let mut main = comparisons(w, named.0);
    if main.len() > SENTENCES_MAX {
        main.retain(open);
    }
    let mut said: Vec<_> = main.into_iter().map(|c| (named, c)).collect();
    for named in secondary(e, w, Kind::Sampled) {
        let open = comparisons(w, named.0).into_iter().filter(open);
        said.extend(open.map(|c| (named, c)));
    }
    said
}

/// The comparison in an arm's row of a table: against the baseline of the workload.
pub(super) fn comparison<'a>(
    w: &'a WorkloadResult,
    arm: &str,
    metric: &str,
) -> Option<&'a Comparison> {
    let baseline = baseline(w);
    let all = w.comparisons.iter();
    let mut of_arm = all.filter(|c| c.metric == metric && c.arm == arm);
    let first = of_arm.clone().next();
    let own = of_arm.find(|c| Some(c.baseline.as_str()) == baseline);
    own.or(first)
}

/// The names of all arms, each in the order of the first workload that has it.
pub(super) fn arms(e: &ExperimentResult) -> Vec<&str> {
    let mut names: Vec<&str> = vec![];
    for arm in e.workloads.iter().flat_map(|w| &w.arms) {
        if !names.contains(&arm.name.as_str()) {
            names.push(&arm.name);
        }
    }
    names
}

/// The name of the workload's first arm.
pub(super) fn baseline(w: &WorkloadResult) -> Option<&str> {
    w.arms.first().map(|arm| arm.name.as_str())
}

/// The existing values of an arm in a metric.
pub(crate) fn values(arm: &ArmResult, metric: &str) -> Vec<f64> {
    let samples = arm.samples.get(metric).into_iter();
    samples.flatten().flatten().copied().collect()
}

/// The existing values of the control.
pub(crate) fn control_values(w: &WorkloadResult, metric: &str) -> Vec<f64> {
    let samples = w.control.get(metric).into_iter().flat_map(|c| &c.samples);
    samples.flatten().copied().collect()
}

/// The value of an exact metric, or the median of a sampled one.
pub(super) fn typical(arm: &ArmResult, metric: &str) -> Option<f64> {
    let summary = arm.summary.get(metric);
    summary.map_or_else(|| median(&values(arm, metric)), |s| Some(s.median))
}

/// The true median.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The quantile by linear interpolation between the ordered values.
pub(super) fn quantile(values: &[f64], at: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    (!sorted.is_empty()).then(|| quantile_sorted(&sorted, at))
}

/// One verdict of the primary metric, with its place.
pub(super) struct Finding<'a> {
    /// Index of the experiment.
    pub(super) experiment: usize,
    /// Index of the workload in it.
    pub(super) workload: usize,
    /// The comparison.
    pub(super) comparison: &'a Comparison,
}

/// The verdicts of the primary metrics, in their order.
pub(super) fn findings(file: &ResultFile) -> Vec<Finding<'_>> {
    let mut found = vec![];
    for (experiment, e) in file.experiments.iter().enumerate() {
        for (workload, w) in e.workloads.iter().enumerate() {
            let Some((name, _)) = primary(e, w) else {
                continue;
            };
            for comparison in comparisons(w, name) {
                found.push(Finding {
                    experiment,
                    workload,
                    comparison,
                });
            }
        }
    }
    found
}

/// The number of occurrences of each verdict.
pub(super) fn tally(found: &[Finding<'_>]) -> Vec<(Verdict, usize)> {
    let found = found.iter().map(|finding| finding.comparison.verdict);
    Verdict::tally(&found.collect::<Vec<_>>())
}
