//! A result with its summaries, comparisons and verdicts. They are never stored, because they
//! follow from the samples: an old run is shown with the verdicts of today's rule.

use crate::model::result::{Comparison, ExperimentResult, ResultFile};
use furlong_stats::judge_together;

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
