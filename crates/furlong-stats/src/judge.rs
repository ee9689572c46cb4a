//! The interface to the rest of the lab: fills the comparisons of a workload from its samples.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;

use serde_json::Value;

use super::blocks::{Blocks, present};
use super::comparison::{Evidence, Question, exact};
use super::control::{Floor, floor};
use super::describe::describe;
use super::holm;
use super::nodes::{Nodes, contradict};
use super::stopping::Stopping;
use super::warnings;
use crate::value::{Comparison, Kind, MARGIN, Metric, WorkloadResult};

/// Margin of a metric that declares none, in per cent.
pub const MARGIN_PCT: f64 = 1.0;

/// A comparison whose verdict may depend on others.
enum Pending {
    Done(Box<Comparison>),
    Sampled {
        evidence: Box<Evidence>,
        primary: bool,
    },
}

/// The role of a comparison in its workload.
#[derive(Clone, Copy)]
struct Place {
    arm: usize,
    primary: bool,
    margin_pct: f64,
}

/// Fills summaries, floors, comparisons and warnings from the samples.
///
/// Previous values of the first three are replaced. New warnings are added to those of the
/// measurement, each once. An arm that cannot run the workload has no comparisons. The margin is
/// the override, else (for a sampled metric) the workload's own, else the metric's own, else
/// [`MARGIN_PCT`].
///
/// # Shapes
/// `arms[0]` is the baseline. Samples of sampled metrics are aligned with `blocks`; exact metrics
/// have one value, or one per input. Values that are not finite count as missing.
pub fn judge(
    workload: &mut WorkloadResult,
    metrics: &BTreeMap<String, Metric>,
    metric_order: &[String],
    margin_override: Option<f64>,
) {
    let known: Vec<(&str, &Metric)> = metric_order
        .iter()
        .filter_map(|name| metrics.get_key_value(name))
        .map(|(name, metric)| (name.as_str(), metric))
        .collect();
    summarise(workload);
    let floors = measure_floors(workload, &known);
    let primary = workload.primary(&known).map(|(name, _)| name);
    let own_margin = workload.params.get(MARGIN).and_then(Value::as_f64);
    let mut pending = vec![];
    for arm in 1..workload.arms.len() {
        for &(name, metric) in &known {
            let own = own_margin.filter(|_| metric.kind == Kind::Sampled);
            let declared = margin_override.or(own).or(metric.margin_pct);
            let margin_pct = declared.unwrap_or(MARGIN_PCT);
            let place = Place {
                arm,
                primary: primary == Some(name),
                margin_pct,
            };
            pending.extend(compare(
                workload,
                place,
                (name, metric),
                floors.get(name).copied(),
            ));
        }
    }
    workload.comparisons = decide(pending, Stopping::alpha(workload));
    for warning in warnings::of(workload, &known) {
        if !workload.warnings.contains(&warning) {
            workload.warnings.push(warning);
        }
    }
}

fn summarise(workload: &mut WorkloadResult) {
    for arm in &mut workload.arms {
        arm.summary = arm
            .samples
            .iter()
            .filter_map(|(metric, values)| Some((metric.clone(), describe(&present(values))?)))
            .collect();
    }
}

/// Floors of the sampled metrics, also written to the workload's controls.
fn measure_floors(
    workload: &mut WorkloadResult,
    known: &[(&str, &Metric)],
) -> BTreeMap<String, Floor> {
    let mut floors = BTreeMap::new();
    let Some(baseline) = workload.arms.first() else {
        return floors;
    };
    for control in workload.control.values_mut() {
        (control.floor_pct, control.failed) = (None, false);
    }
    for (name, _) in known
        .iter()
        .filter(|(_, metric)| metric.kind == Kind::Sampled)
    {
        let found = workload
            .control
            .get_mut(*name)
            .zip(baseline.samples.get(*name));
        let Some((control, a)) = found else { continue };
        let blocks = Blocks::of(a, Some(&control.samples), a);
        if let Some(found) = floor(&blocks.control_effects(), blocks.scale()) {
            (control.floor_pct, control.failed) = (Some(found.pct), found.failed);
            floors.insert((*name).to_owned(), found);
        }
    }
    floors
}

fn compare(
    workload: &WorkloadResult,
    place: Place,
    (name, metric): (&str, &Metric),
    floor: Option<Floor>,
) -> Option<Pending> {
    let (baseline, arm) = (&workload.arms[0], &workload.arms[place.arm]);
    if baseline.na.is_some() || arm.na.is_some() {
        return None;
    }
    let (a, b) = (baseline.samples.get(name)?, arm.samples.get(name)?);
    let question = Question {
        baseline: &baseline.name,
        arm: &arm.name,
        metric: name,
        better: metric.better,
        margin_pct: place.margin_pct,
    };
    if metric.kind == Kind::Exact {
        return exact(&question, &present(a), &present(b))
            .map(Box::new)
            .map(Pending::Done);
    }
    let control = workload.control.get(name).map(|c| c.samples.as_slice());
    // The primary metric alone determined the number of blocks.
    let stopping = match Stopping::of(workload) {
        Stopping::Width { .. } if !place.primary => Stopping::Planned,
        stopping => stopping,
    };
    let blocks = Blocks::of(a, control, b);
    let mut evidence = Evidence::of(&question, &blocks, floor, stopping)?;
    if let Some(nodes) = Nodes::of(workload) {
        let places = blocks.places.iter().copied();
        let effects: Vec<(usize, f64)> = places.zip(blocks.effects()).collect();
        evidence.comparison.by_node = Some(nodes.judge(&evidence, &effects));
    }
    Some(Pending::Sampled {
        evidence: Box::new(evidence),
        primary: place.primary,
    })
}

/// Gives every comparison its verdict, at the level that results from `alpha` by Holm's method. The
/// primary metric's family is all arms; that of secondary metrics is all those of one arm.
fn decide(pending: Vec<Pending>, alpha: f64) -> Vec<Comparison> {
    let mut families: BTreeMap<Option<String>, Vec<usize>> = BTreeMap::new();
    for (i, one) in pending.iter().enumerate() {
        if let Pending::Sampled { evidence, primary } = one
            && evidence.is_tested()
        {
            let family = (!primary).then(|| evidence.comparison.arm.clone());
            families.entry(family).or_default().push(i);
        }
    }
    let mut placed = vec![(1.0 - alpha, 1); pending.len()];
    for members in families.values() {
        let p: Vec<f64> = members.iter().map(|&i| best_p(&pending[i])).collect();
        for (&i, level) in members.iter().zip(holm::levels(&p, alpha)) {
            placed[i] = (level, members.len());
        }
    }
    let decided = pending
        .into_iter()
        .zip(placed)
        .map(|(one, (level, family))| match one {
            Pending::Done(comparison) => *comparison,
            Pending::Sampled { evidence, .. } => {
                let mut comparison = evidence.decided(level, family);
                contradict(&mut comparison);
                comparison
            }
        });
    decided.collect()
}

fn best_p(pending: &Pending) -> f64 {
    match pending {
        Pending::Done(_) => 1.0,
        Pending::Sampled { evidence, .. } => evidence.best_p(),
    }
}
