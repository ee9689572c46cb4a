//! From stored runs to series and their steps.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::model::command_fact::{COMMANDS, REVISIONS};
use crate::model::result::{ExperimentResult, Kind, Metric, Run, WorkloadResult};
use crate::model::schedule::{ENOUGH_RUNS, MAX_TIME_S, MIN_BLOCKS};
use crate::record::functions::FUNCTIONS;
use crate::record::ledger::OPERATIONS;
use crate::record::store::Saved;
use crate::report::outline::median;
use furlong_stats::blocks::{Blocks, present};
use furlong_stats::budget::{BLOCK_S, BUDGET_S, NEEDED};
use furlong_stats::change::changes_except;
use furlong_stats::control::historic;
use furlong_stats::describe::mean;
use furlong_stats::layouts::Layouts;
use furlong_stats::nodes::NODES;
use furlong_stats::paired::Paired;
use furlong_stats::stopping::{FAMILY, STOPPED, STOPPING};
use furlong_stats::verdict::Scale;

/// One figure of one arm on one workload, with one point per run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// The workload.
    pub workload: String,
    /// The arm.
    pub arm: String,
    /// Name of the metric.
    pub metric: String,
    /// Definition of the metric.
    pub about: Metric,
    /// The arm that it is a ratio to; `None` for an absolute figure.
    pub baseline: Option<String>,
    /// Oldest first, one for each run with this figure.
    pub points: Vec<Point>,
    /// Runs left out because they ran the workload with other parameters, or measured in another
    /// way.
    pub otherwise: usize,
    /// In 95 of 100 of these runs the baseline differs from itself by at most this, in per cent;
    /// `None` for a ratio, and with fewer than 20 runs.
    pub noise_pct: Option<f64>,
    /// The changes of level, in order.
    pub steps: Vec<Step>,
}

/// The figure in one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Name of the run.
    pub run: String,
    /// Start of the run.
    pub started: String,
    /// Version of furlong.
    pub version: String,
    /// The user's name for the run.
    pub tag: Option<String>,
    /// True if the user has judged that the run changed nothing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_dismissed: bool,
    /// Seed of the run's inputs.
    #[serde(skip)]
    pub seed: u64,
    /// The median of the run's samples, or the ratio to the baseline in the same blocks.
    pub value: f64,
}

/// A change of a series' level.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// Index of the first point of the new level.
    pub at: usize,
    /// The level before.
    pub before: f64,
    /// The level from that point on.
    pub after: f64,
    /// Of the t test; `None` for an exact figure, which needs none.
    pub p: Option<f64>,
    /// The change, in per cent of the level before.
    pub effect_pct: f64,
    /// The first run of the new level.
    pub run: String,
}

/// Parameters that may differ between comparable runs of a workload.
const RUNS_OWN: [&str; 14] = [
    COMMANDS,
    REVISIONS,
    FAMILY,
    OPERATIONS,
    FUNCTIONS,
    NODES,
    BLOCK_S,
    NEEDED,
    BUDGET_S,
    STOPPING,
    STOPPED,
    MAX_TIME_S,
    MIN_BLOCKS,
    ENOUGH_RUNS,
];

/// The changes of level, in order.
fn steps(about: &Metric, workload: &WorkloadResult, points: &[Point]) -> Vec<Step> {
    let mut pairs = points.windows(2);
    let varies = pairs.any(|pair| inputs_differ(workload, [pair[0].seed, pair[1].seed]));
    match (about.kind, varies) {
        (Kind::Exact, false) => counted_steps(points, |_, _| true),
        (Kind::Sampled, _) => sampled_steps(about, points),
        // Counts of different inputs vary like samples. Of the same input, they are facts.
        (Kind::Exact, true) => {
            let mut steps = counted_steps(points, |one, other| one.seed == other.seed);
            let found = sampled_steps(about, points).into_iter();
            let new = found.filter(|step| steps.iter().all(|known| known.at != step.at));
            let new: Vec<Step> = new.collect();
            steps.extend(new);
            steps.sort_by_key(|step| step.at);
            steps
        }
    }
}

/// All changes of a count from the last point that is `alike`: such a figure changes for a reason,
/// however small the change.
fn counted_steps(points: &[Point], alike: impl Fn(&Point, &Point) -> bool) -> Vec<Step> {
    let mut steps: Vec<Step> = vec![];
    for (at, now) in points.iter().enumerate() {
        let Some(last) = points[..at].iter().rposition(|before| alike(before, now)) else {
            continue;
        };
        let before = points[last].value;
        // Another input has shown the same change since.
        let up = now.value > before;
        let known = steps
            .iter()
            .any(|step| step.at > last && (step.after > step.before) == up);
        if before != now.value && !known {
            steps.push(Step::at(points, at, [before, now.value], None));
        }
    }
    steps
}

/// The changes by more than the metric's margin. None is at a dismissed run.
fn sampled_steps(about: &Metric, points: &[Point]) -> Vec<Step> {
    let values: Vec<f64> = points.iter().map(|point| point.value).collect();
    let margin = about.margin_pct.unwrap_or(1.0);
    let dismissed = (0..points.len()).filter(|at| points[*at].is_dismissed);
    let found = changes_except(&values, dismissed).into_iter();
    let steps = found.map(|one| Step::at(points, one.at, [one.before, one.after], Some(one.p)));
    steps
        .filter(|step| step.effect_pct.abs() > margin)
        .collect()
}

impl Step {
    fn at(points: &[Point], at: usize, [before, after]: [f64; 2], p: Option<f64>) -> Self {
        Self {
            at,
            before,
            after,
            p,
            effect_pct: 100.0 * (after / before - 1.0),
            run: points[at].run.clone(),
        }
    }
}

/// The series of an experiment, from runs on one machine, oldest first. For each workload, these
/// are the baseline's figure and every other arm's ratio to it.
///
/// # Shapes
///
/// `metric` selects the metric; otherwise it is each workload's primary one.
pub fn series(past: &[Saved], metric: Option<&str>) -> Vec<Series> {
    let mut found: Vec<Series> = vec![];
    // The latest run defines the series: one that it lacks has ended.
    let Some((_, latest)) = past.last().and_then(only) else {
        return found;
    };
    for workload in &latest.workloads {
        let Some((name, about)) = latest.wanted(metric, workload) else {
            continue;
        };
        let (baseline, others) = match workload.arms.split_first() {
            Some((baseline, others)) => (baseline.name.as_str(), others),
            None => continue,
        };
        let ratios = others.iter().filter(|arm| arm.na.is_none());
        let arms = ratios.map(|arm| (arm.name.as_str(), Some(baseline)));
        for (arm, baseline) in [(baseline, None)].into_iter().chain(arms) {
            let (points, otherwise) = points(past, workload, arm, baseline, (name, about));
            if points.is_empty() {
                continue;
            }
            found.push(Series {
                workload: workload.name.clone(),
                arm: arm.to_owned(),
                metric: name.to_owned(),
                baseline: baseline.map(str::to_owned),
                steps: steps(about, workload, &points),
                about: about.clone(),
                points,
                otherwise,
                noise_pct: match baseline {
                    None => noise(past, workload, name),
                    Some(_) => None,
                },
            });
        }
    }
    found
}

/// True if two runs measured a metric of one name in the same way.
pub(super) fn are_alike(one: &Metric, other: &Metric) -> bool {
    let said = |metric: &Metric| (metric.unit.clone(), metric.better, metric.kind);
    said(one) == said(other)
}

/// True if a workload of two runs with these seeds has two inputs. Commands have their own.
pub(super) fn inputs_differ(workload: &WorkloadResult, [one, other]: [u64; 2]) -> bool {
    one != other && !workload.params.contains_key(COMMANDS)
}

/// The run and its one experiment.
fn only(saved: &Saved) -> Option<(&Run, &ExperimentResult)> {
    Some((&saved.result.run, saved.result.experiments.first()?))
}

fn points(
    past: &[Saved],
    like: &WorkloadResult,
    arm: &str,
    baseline: Option<&str>,
    (metric, about): (&str, &Metric),
) -> (Vec<Point>, usize) {
    let (mut points, mut otherwise) = (vec![], 0);
    for saved in past {
        let Some((run, experiment)) = only(saved) else {
            continue;
        };
        let mut workloads = experiment.workloads.iter();
        let Some(workload) = workloads.find(|one| one.name == like.name) else {
            continue;
        };
        let own = experiment.metrics.get(metric);
        let is_unlike = own.is_some_and(|own| !are_alike(own, about));
        let exact = own.map(|metric| metric.kind);
        let own = |arm| own_name(workload, like, arm);
        let value = match baseline.map(own) {
            None => level(workload, own(arm), metric),
            Some(baseline) => {
                let is_exact = exact == Some(Kind::Exact);
                ratio(workload, baseline, own(arm), metric, is_exact)
            }
        };
        match value {
            Some(_) if is_unlike || conditions(workload) != conditions(like) => otherwise += 1,
            Some(value) => points.push(Point {
                run: run.id.clone(),
                started: run.started.clone(),
                version: run.version.clone(),
                tag: run.tag.clone(),
                is_dismissed: saved.is_dismissed,
                seed: run.seed,
                value,
            }),
            None => {}
        }
    }
    (points, otherwise)
}

/// The historic noise of a workload: how far the control was from the baseline in runs like this.
fn noise(past: &[Saved], like: &WorkloadResult, metric: &str) -> Option<f64> {
    let workloads = past.iter().filter_map(only).filter_map(|(_, experiment)| {
        let mut workloads = experiment.workloads.iter();
        workloads.find(|one| one.name == like.name && conditions(one) == conditions(like))
    });
    let means = workloads.filter_map(|workload| {
        let baseline = samples(workload, &workload.arms.first()?.name, metric)?;
        let control = &workload.control.get(metric)?.samples;
        let blocks = Blocks::of(baseline, Some(control), baseline);
        let effects = blocks.control_effects();
        let mean = mean(&effects);
        (blocks.n() > 0 && blocks.scale() == Scale::Log).then_some(mean)
    });
    let means: Vec<f64> = means.collect();
    historic(&means).map(|off| Scale::Log.pct(off))
}

/// The name in a workload of an arm of a later run, `like`. The commands of a comparison are the
/// same by their order, whatever their names.
pub(super) fn own_name<'a>(
    workload: &'a WorkloadResult,
    like: &WorkloadResult,
    arm: &'a str,
) -> &'a str {
    let has = |name: &str| workload.arms.iter().any(|own| own.name == name);
    let is_comparison = like.params.contains_key(COMMANDS);
    let alike = workload.arms.len() == like.arms.len();
    if !is_comparison || !alike || like.arms.iter().all(|arm| has(&arm.name)) {
        return arm;
    }
    let place = like.arms.iter().position(|one| one.name == arm);
    let own = place.and_then(|place| workload.arms.get(place));
    own.map_or(arm, |own| &own.name)
}

/// The parameters that must be equal for two runs of a workload to be comparable.
pub(super) fn conditions(workload: &WorkloadResult) -> BTreeMap<&str, &Value> {
    let params = workload.params.iter();
    params
        .map(|(name, value)| (name.as_str(), value))
        .filter(|(name, _)| !RUNS_OWN.contains(name))
        .collect()
}

/// The values of an arm, one per block.
pub(super) fn samples<'a>(
    workload: &'a WorkloadResult,
    arm: &str,
    metric: &str,
) -> Option<&'a [Option<f64>]> {
    let arm = workload.arms.iter().find(|one| one.name == arm)?;
    arm.samples.get(metric).map(Vec::as_slice)
}

/// The median of an arm's values.
pub(super) fn level(workload: &WorkloadResult, arm: &str, metric: &str) -> Option<f64> {
    median(&present(samples(workload, arm, metric)?))
}

/// The log ratios of an arm to the baseline in the same blocks; `None` if there are no ratios.
pub(super) fn effects(
    workload: &WorkloadResult,
    baseline: &str,
    arm: &str,
    metric: &str,
) -> Option<Vec<f64>> {
    Some(blocks(workload, baseline, arm, metric)?.effects())
}

/// As [`effects`], but of each code layout if the blocks have several: the blocks of one are no
/// replicates.
pub(super) fn replicates(
    workload: &WorkloadResult,
    baseline: &str,
    arm: &str,
    metric: &str,
) -> Option<Vec<f64>> {
    let blocks = blocks(workload, baseline, arm, metric)?;
    Some(by_layout(workload, &blocks.places, blocks.effects()))
}

/// The means of values by code layout, if the blocks have several; `places` are their blocks.
pub(super) fn by_layout(workload: &WorkloadResult, places: &[usize], values: Vec<f64>) -> Vec<f64> {
    match Layouts::of(workload) {
        Some(layouts) => layouts.means(places, &values),
        None => values,
    }
}

/// The blocks in which an arm and its baseline have values above zero.
fn blocks(workload: &WorkloadResult, baseline: &str, arm: &str, metric: &str) -> Option<Blocks> {
    let control = workload.control.get(metric);
    let control = control.map(|control| control.samples.as_slice());
    let blocks = Blocks::of(
        samples(workload, baseline, metric)?,
        control.filter(|samples| !samples.is_empty()),
        samples(workload, arm, metric)?,
    );
    (blocks.n() > 0 && blocks.scale() == Scale::Log).then_some(blocks)
}

/// An arm over the baseline in the same blocks.
fn ratio(
    workload: &WorkloadResult,
    baseline: &str,
    arm: &str,
    metric: &str,
    exact: bool,
) -> Option<f64> {
    if exact {
        let of = |arm: &str| level(workload, arm, metric).filter(|value| *value > 0.0);
        return Some(of(arm)? / of(baseline)?);
    }
    let effects = effects(workload, baseline, arm, metric)?;
    let mean = mean(&effects);
    Paired::of(&effects).map_or(Some(mean.exp()), |paired| Some(paired.mean.exp()))
}

#[cfg(test)]
mod tests {
    use furlong_stats::layouts::LAYOUTS;

    use super::{effects, replicates};
    use crate::model::result::WorkloadResult;

    #[test]
    fn blocks_of_one_layout_are_no_replicates() {
        let values = |more: f64| {
            (0..8)
                .map(|block| Some(f64::from(block % 2) + more))
                .collect()
        };
        let arms = [("a", values(1.0)), ("b", values(2.0))];
        let mut workload = WorkloadResult::sampled("w", "time", arms, values(1.0));
        let count = |workload: &WorkloadResult| {
            let found = replicates(workload, "a", "b", "time").map(|all| all.len());
            let blocks = effects(workload, "a", "b", "time").map(|all| all.len());
            (found, blocks)
        };
        assert_eq!(count(&workload), (Some(8), Some(8)));
        workload.params.insert(LAYOUTS.to_owned(), 2.into());
        assert_eq!(count(&workload), (Some(2), Some(8)));
        let found = replicates(&workload, "a", "b", "time").expect("there are values");
        for (found, ratio) in found.iter().zip([2.0_f64, 1.5]) {
            assert!((found - ratio.ln()).abs() < 1e-12, "{found}");
        }
    }
}
