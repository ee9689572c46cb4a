//! One ratio per arm over all workloads of an experiment.

use super::outline;
use super::quantity::fixed;
use super::text::plain;
use crate::model::result::{ExperimentResult, Kind, WorkloadResult};
use furlong_stats::geomean::{Geomean, geomean};

/// Workloads that a mean over them needs at least.
const FROM: usize = 4;

/// A sentence for each sampled metric of at least `FROM` workloads: every arm's geometric mean over
/// the baseline's.
pub(super) fn sentences(e: &ExperimentResult) -> Vec<String> {
    let metrics = e.named().into_iter();
    let sampled = metrics.filter(|(_, metric)| metric.kind == Kind::Sampled);
    sampled.filter_map(|(name, _)| of_metric(e, name)).collect()
}

fn of_metric(e: &ExperimentResult, metric: &str) -> Option<String> {
    let arms = outline::arms(e);
    let (baseline, others) = arms.split_first()?;
    let ratios = others.iter().filter_map(|arm| {
        let logs = e
            .workloads
            .iter()
            .filter_map(|w| logs(w, baseline, arm, metric));
        let logs: Vec<Vec<Option<f64>>> = logs.collect();
        let mean = geomean(&logs).filter(|_| logs.len() >= FROM)?;
        Some(format!(
            "{} {} over {}",
            plain(arm),
            ratio(&mean),
            logs.len()
        ))
    });
    let ratios: Vec<String> = ratios.collect();
    (!ratios.is_empty()).then(|| {
        let (metric, baseline) = (plain(metric), plain(baseline));
        format!(
            "{metric}, geometric mean of the workloads, over {baseline}'s [95 % interval]: {}",
            ratios.join("; ")
        )
    })
}

fn ratio(mean: &Geomean) -> String {
    let text = fixed(mean.ratio, 3);
    match mean.interval {
        Some([low, high]) => format!("{text} [{}, {}]", fixed(low, 3), fixed(high, 3)),
        None => text,
    }
}

/// For each block, the logarithm of an arm's value over the mean of baseline and control. `None` if
/// the workload has no such values at all.
fn logs(w: &WorkloadResult, baseline: &str, arm: &str, metric: &str) -> Option<Vec<Option<f64>>> {
    let samples = |name: &str| {
        let arm = w.arms.iter().find(|arm| arm.name == name)?;
        arm.samples
            .get(metric)
            .filter(|samples| !samples.is_empty())
    };
    let (a, b) = (samples(baseline)?, samples(arm)?);
    let again = w.control.get(metric).map_or(a, |control| &control.samples);
    let log = |values: &[Option<f64>], block: usize| {
        let value = values.get(block).copied().flatten();
        value.filter(|value| *value > 0.0).map(f64::ln)
    };
    let of_block = |block| Some(log(b, block)? - f64::midpoint(log(a, block)?, log(again, block)?));
    let logs: Vec<Option<f64>> = (0..a.len()).map(of_block).collect();
    logs.iter().any(Option::is_some).then_some(logs)
}
