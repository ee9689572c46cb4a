//! Caveats about a workload's samples, each with a remedy.

use super::blocks::present;
use super::drift::{lag1, ljung_box_p, mann_kendall, n_effective, theil_sen};
use super::nodes::Nodes;
use super::outliers::outliers;
use super::verdict::BLOCKS_MIN;
use crate::value::{CONTROL, Comparison, Kind, Metric, Verdict, WorkloadResult};

/// With fewer blocks, a trend cannot be told from chance.
const SERIES_MIN: usize = 8;

/// Significance of a warning: one false alarm in a hundred quiet series is acceptable.
const ALARM_P: f64 = 0.01;

/// Spread of values, in per cent, above which few blocks of identical programs are called
/// different more often than is promised.
const SPREAD_PCT: f64 = 3.0;

/// Blocks that are enough at any spread.
const BLOCKS_AT_ANY_SPREAD: usize = 10;

/// The beginning of the warning about a control that failed.
const CONTROL_FAILED: &str = "control failed for ";

/// Removes warnings that an earlier judgement left and this one may not repeat: other workloads, or
/// another margin, can make a control pass.
pub fn forget(warnings: &mut Vec<String>) {
    warnings.retain(|warning| !warning.starts_with(CONTROL_FAILED));
}

/// All warnings about a workload that has its comparisons.
pub fn of(workload: &WorkloadResult, metrics: &[(&str, &Metric)]) -> Vec<String> {
    let mut found = vec![];
    // The blocks of several machines are not a series, and their values differ.
    let one_machine = Nodes::of(workload).is_none();
    for (name, metric) in metrics {
        if metric.kind == Kind::Exact {
            found.extend(not_matched(workload, name));
            continue;
        }
        found.extend(no_control(workload, name));
        found.extend(control_failed(workload, name));
        found.extend(few_blocks(workload, name));
        found.extend(missing(workload, name));
        if one_machine && let Some(series) = series(workload, name) {
            // A trend correlates neighbours, too: one cause, one warning.
            found.extend(drift(name, &series).or_else(|| autocorrelation(name, &series)));
        }
        if one_machine {
            found.extend(far_out(workload, name));
        }
    }
    found
}

fn not_matched(workload: &WorkloadResult, metric: &str) -> Option<String> {
    // An arm that failed has no value to match; its failure was already reported.
    let counted = |arm: &&crate::value::ArmResult| {
        let values = arm.samples.get(metric);
        arm.na.is_none() && values.is_some_and(|values| !present(values).is_empty())
    };
    let baseline = workload.arms.first().filter(counted)?;
    let lost = workload.arms[1..].iter().filter(counted).find(|arm| {
        !workload
            .comparisons
            .iter()
            .any(|c| c.arm == arm.name && c.metric == metric)
    })?;
    Some(format!(
        "{metric}: {} and {} have no values for the same inputs; count them again",
        baseline.name, lost.name
    ))
}

fn no_control(workload: &WorkloadResult, metric: &str) -> Option<String> {
    let compared = workload.comparisons.iter().any(|c| c.metric == metric);
    (compared && !workload.control.contains_key(metric)).then(|| {
        format!(
            "{metric} has no control, so noise and effect cannot be separated and there is no \
             verdict; measure it again with this furlong"
        )
    })
}

fn control_failed(workload: &WorkloadResult, metric: &str) -> Option<String> {
    let control = workload
        .control
        .get(metric)
        .filter(|control| control.failed)?;
    let floor = control.floor_pct.unwrap_or(f64::NAN);
    Some(format!(
        "{CONTROL_FAILED}{metric}: the baseline differs from itself by up to {floor:.2} %, more \
         than chance explains; every verdict is inconclusive. Stop other programs and repeat the \
         run"
    ))
}

/// A narrow decision from few blocks with a wide spread.
fn few_blocks(workload: &WorkloadResult, metric: &str) -> Option<String> {
    let summaries = workload.arms.iter().map(|arm| arm.summary.get(metric));
    let spreads = summaries.filter_map(|summary| summary?.cv_pct);
    let spread = spreads.fold(0.0, f64::max);
    let narrow = |c: &&Comparison| {
        let decided = matches!(c.verdict, Verdict::Keep | Verdict::Revert);
        let by_chance = c.paired.is_some_and(|test| test.p > ALARM_P);
        c.metric == metric && c.n < BLOCKS_AT_ANY_SPREAD && decided && by_chance
    };
    let narrow = workload.comparisons.iter().find(narrow)?;
    (spread > SPREAD_PCT).then(|| {
        format!(
            "{metric} varies by {spread:.0} %, and {} blocks decided narrowly: repeat the run with \
             --blocks {BLOCKS_AT_ANY_SPREAD} or more before trusting the verdict",
            narrow.n
        )
    })
}

fn missing(workload: &WorkloadResult, metric: &str) -> Option<String> {
    let blocks = workload.blocks.len();
    let arms = workload.arms.iter().filter(|arm| arm.na.is_none());
    let samples = arms.filter_map(|arm| Some((arm.name.as_str(), arm.samples.get(metric)?)));
    let samples: Vec<_> = samples.collect();
    // Every workload has a control for every metric. If no arm has the metric, nothing is missing.
    let control = workload.control.get(metric).filter(|_| !samples.is_empty());
    let control = control.map(|control| (CONTROL, &control.samples));
    let lost: Vec<String> = samples
        .into_iter()
        .chain(control)
        .map(|(name, values)| (name, blocks.saturating_sub(present(values).len())))
        .filter(|(_, lost)| *lost > 0)
        .map(|(name, lost)| format!("{name} in {lost} of {blocks}"))
        .collect();
    (!lost.is_empty()).then(|| {
        format!(
            "{metric} has no value from {}; those blocks are left out. Find out why the runs \
             failed before trusting the rest",
            lost.join(", ")
        )
    })
}

/// Mean of baseline and control in each block that has both, in run order.
fn series(workload: &WorkloadResult, metric: &str) -> Option<Vec<(f64, f64)>> {
    let a = workload.arms.first()?.samples.get(metric)?;
    let again = workload.control.get(metric).map_or(a, |c| &c.samples);
    let pairs = (0_u32..).zip(a.iter().zip(again));
    let series: Vec<(f64, f64)> = pairs
        .filter_map(|(block, (a, again))| Some((f64::from(block), f64::midpoint((*a)?, (*again)?))))
        .filter(|(_, value)| value.is_finite())
        .collect();
    (series.len() >= SERIES_MIN).then_some(series)
}

fn drift(metric: &str, series: &[(f64, f64)]) -> Option<String> {
    let (blocks, values): (Vec<f64>, Vec<f64>) = series.iter().copied().unzip();
    let trend = mann_kendall(&values).filter(|trend| trend.p < ALARM_P)?;
    let slope = theil_sen(&blocks, &values)?;
    let span = blocks.last()? - blocks.first()?;
    let level = super::describe::median(&values).abs();
    let change = 100.0 * slope * span / level;
    if !change.is_finite() {
        return None;
    }
    Some(format!(
        "{metric} of the baseline drifted by {change:+.1} % over the run (Mann-Kendall p {}): \
         blocks cancel the drift, but check for rising temperature, a changing clock or another \
         program",
        chance(trend.p)
    ))
}

fn autocorrelation(metric: &str, series: &[(f64, f64)]) -> Option<String> {
    let values: Vec<f64> = series.iter().map(|(_, value)| *value).collect();
    let n = values.len();
    let lag1 = lag1(&values).filter(|r| *r > 2.0 / (n as f64).sqrt())?;
    let p = ljung_box_p(&values, (n / 5).clamp(1, 10)).filter(|p| *p < ALARM_P)?;
    Some(format!(
        "{metric} of the baseline is autocorrelated (lag 1 {lag1:.2}, Ljung-Box p {}; {n} \
         blocks are worth {:.0}): trust the paired figures, not the unpaired tests, and the \
         sign flips only if no run is far slower than the rest",
        chance(p),
        n_effective(n, lag1)
    ))
}

/// `= 0.0123`, or `< 0.0001`: no chance is zero.
fn chance(p: f64) -> String {
    match p {
        p if p < 1e-4 => "< 0.0001".to_owned(),
        p => format!("= {p:.4}"),
    }
}

fn far_out(workload: &WorkloadResult, metric: &str) -> Option<String> {
    let arms = workload.arms.iter();
    let samples = arms.filter_map(|arm| Some((arm.name.as_str(), arm.samples.get(metric)?)));
    let control = workload.control.get(metric).map(|c| (CONTROL, &c.samples));
    let far: Vec<String> = samples
        .chain(control)
        .map(|(name, values)| (name, present(values)))
        .map(|(name, values)| (name, outliers(&values), values.len()))
        .filter(|(_, found, n)| *n >= BLOCKS_MIN && found.severe.max(found.by_mad) > 0)
        .map(|(name, found, n)| format!("{} of {n} from {name}", found.severe.max(found.by_mad)))
        .collect();
    (!far.is_empty()).then(|| {
        format!(
            "{metric} has outliers ({}): they are kept and shown; look at the values in the order \
             of the run, and find out what else ran at that time",
            far.join(", ")
        )
    })
}

#[cfg(test)]
mod tests;
