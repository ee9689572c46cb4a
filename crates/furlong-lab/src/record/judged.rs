//! A result with its summaries, comparisons and verdicts. They are never stored, because they
//! follow from the samples: an old run is shown with the verdicts of today's rule.

use crate::model::result::{Comparison, ExperimentResult, ResultFile, Verdict, WorkloadResult};
use furlong_stats::judge_together;

/// Metric of a command's instructions.
pub const INSTRUCTIONS: &str = "instructions";

/// Metric of the instructions of one operation.
pub const INSTRUCTIONS_PER_OP: &str = "instructions_per_op";

/// Judges a result without verdicts. Workloads without a single block or count are left out, with a
/// note.
///
/// # Shapes
///
/// `margin_pct` overrides the declared margins.
pub fn judged(result: &ResultFile, margin_pct: Option<f64>) -> ResultFile {
    let mut judged = result.clone();
    for experiment in &mut judged.experiments {
        let (measured, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut experiment.workloads)
            .into_iter()
            .partition(|workload| {
                let counted = workload.arms.iter().any(|arm| !arm.samples.is_empty());
                counted || !workload.blocks.is_empty() || !workload.warnings.is_empty()
            });
        experiment.workloads = measured;
        experiment
            .left_out
            .extend(rest.iter().map(|one| format!("{}: not reached", one.name)));
        judge_together(
            &mut experiment.workloads,
            &experiment.metrics,
            &experiment.metric_order,
            margin_pct,
        );
    }
    judged
}

/// Returns the comparisons that decide: those of the primary metric, each with its workload's name.
pub fn deciding(experiment: &ExperimentResult) -> impl Iterator<Item = (&str, &Comparison)> {
    experiment.workloads.iter().flat_map(move |workload| {
        let primary = experiment.wanted(None, workload).map(|(name, _)| name);
        let comparisons = workload.comparisons.iter();
        let deciding = comparisons.filter(move |one| Some(one.metric.as_str()) == primary);
        deciding.map(|comparison| (workload.name.as_str(), comparison))
    })
}

/// Returns the comparisons that are regressions, each with its workload: those that decide, and
/// more instructions of an arm that is not better for it.
pub fn regressions(
    experiment: &ExperimentResult,
) -> impl Iterator<Item = (&WorkloadResult, &Comparison)> {
    experiment.workloads.iter().flat_map(move |workload| {
        let primary = experiment.wanted(None, workload).map(|(name, _)| name);
        let decides = move |one: &Comparison| Some(one.metric.as_str()) == primary;
        let all = workload.comparisons.iter();
        let is_better = move |arm: &str| {
            let mut all = workload.comparisons.iter();
            all.any(|one| decides(one) && one.arm == arm && one.verdict == Verdict::Keep)
        };
        let worse = all.filter(|one| one.verdict == Verdict::Revert);
        let gates = worse.filter(move |one| {
            let counts = [INSTRUCTIONS, INSTRUCTIONS_PER_OP].contains(&&*one.metric);
            decides(one) || counts && !is_better(&one.arm)
        });
        gates.map(move |one| (workload, one))
    })
}
