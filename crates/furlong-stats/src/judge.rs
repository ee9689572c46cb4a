//! The interface to the rest of the lab: fills the comparisons of a workload from its samples.

use std::collections::BTreeMap;

use serde_json::Value;

use super::blocks::{Blocks, present};
use super::comparison::{Evidence, Question, exact};
use super::control::{Floor, floor};
use super::describe::describe;
use super::holm;
use super::layouts::Layouts;
use super::nodes::{Nodes, contradict};
use super::stopping::Stopping;
use super::verdict::Check;
use super::warnings;
use crate::value::{Comparison, Kind, MARGIN, Metric, Verdict, WorkloadResult};

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
    control: Check,
}

/// Fills summaries, floors, comparisons and warnings from the samples of one workload: see
/// [`judge_together`].
pub fn judge(
    workload: &mut WorkloadResult,
    metrics: &BTreeMap<String, Metric>,
    metric_order: &[String],
    margin_override: Option<f64>,
) {
    let alone = std::slice::from_mut(workload);
    judge_together(alone, metrics, metric_order, margin_override);
}

/// Fills summaries, floors, comparisons and warnings from the samples of an experiment's workloads.
///
/// Workloads are separate questions: none changes another's interval, unless they have the
/// parameter [`FAMILY`](super::stopping::FAMILY). Those are decided together by Holm's method, at
/// the level of one. Controls are always a family, one per metric, because one of many would often
/// fail by chance.
///
/// Previous values are replaced, except the warnings of the measurement. An arm that cannot run the
/// workload has no comparisons. The margin is the override, else (for a sampled metric) the
/// workload's own, else the metric's own, else [`MARGIN_PCT`].
///
/// # Shapes
/// `arms[0]` is the baseline. Samples of sampled metrics are aligned with `blocks`; exact metrics
/// have one value, or one per input. Values that are not finite count as missing.
pub fn judge_together(
    workloads: &mut [WorkloadResult],
    metrics: &BTreeMap<String, Metric>,
    metric_order: &[String],
    margin_override: Option<f64>,
) {
    let known: Vec<(&str, &Metric)> = metric_order
        .iter()
        .filter_map(|name| metrics.get_key_value(name))
        .map(|(name, metric)| (name.as_str(), metric))
        .collect();
    let floors = workloads
        .iter_mut()
        .map(|workload| measure_floors(workload, &known));
    let mut floors: Vec<Floors> = floors.collect();
    for (name, _) in &known {
        adjust(&mut floors, name);
    }
    let mut decided = 0;
    loop {
        for (workload, floors) in workloads.iter_mut().zip(&floors) {
            let open = Stopping::family(workload).saturating_sub(decided);
            judge_one(workload, &known, floors, (margin_override, open));
        }
        // Each verdict leaves more of the error to the others. It stands at a higher error too.
        let before = std::mem::replace(&mut decided, decided_of_family(workloads, &known));
        if decided <= before {
            break;
        }
    }
}

/// The margin of a metric on a workload, in per cent, if none overrides it.
pub fn declared_margin(metric: &Metric, workload: &WorkloadResult) -> f64 {
    let own = workload.params.get(MARGIN).and_then(Value::as_f64);
    let own = own.filter(|_| metric.kind == Kind::Sampled);
    own.or(metric.margin_pct).unwrap_or(MARGIN_PCT)
}

/// The number of workloads of a family with a verdict in their primary metric.
fn decided_of_family(workloads: &[WorkloadResult], known: &[(&str, &Metric)]) -> usize {
    let is_decided = |workload: &&WorkloadResult| {
        let primary = workload.primary(known).map(|(name, _)| name);
        let mut all = workload.comparisons.iter();
        let is_open = |one: &Comparison| one.verdict == Verdict::Inconclusive;
        let deciding = |one: &Comparison| Some(one.metric.as_str()) == primary;
        Stopping::family(workload) > 1
            && all.clone().any(deciding)
            && !all.any(|one| deciding(one) && is_open(one))
    };
    workloads.iter().filter(is_decided).count()
}

fn judge_one(
    workload: &mut WorkloadResult,
    known: &[(&str, &Metric)],
    floors: &Floors,
    (margin_override, open): (Option<f64>, usize),
) {
    summarise(workload);
    let primary = workload.primary(known).map(|(name, _)| name.to_owned());
    let mut places = vec![];
    for &(name, metric) in known {
        let margin_pct = margin_override.unwrap_or_else(|| declared_margin(metric, workload));
        let floor = floors.get(name);
        let check = floor.map_or(Check::Missing, |floor| floor.check(margin_pct));
        if let Some(control) = workload.control.get_mut(name) {
            control.failed = check == Check::Failed;
        }
        let place = Place {
            arm: 0,
            primary: primary.as_deref() == Some(name),
            margin_pct,
            control: check,
        };
        places.push((place, name, metric));
    }
    let mut pending = vec![];
    for arm in 1..workload.arms.len() {
        for &(place, name, metric) in &places {
            pending.extend(compare(workload, Place { arm, ..place }, (name, metric)));
        }
    }
    workload.comparisons = decide(
        pending,
        Stopping::alpha(workload, open),
        Stopping::chance(workload),
    );
    warnings::forget(&mut workload.warnings);
    for warning in warnings::of(workload, known) {
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

/// Floors of a workload, by metric.
type Floors = BTreeMap<String, Floor>;

/// Floors of the sampled metrics, also written to the workload's controls.
fn measure_floors(workload: &mut WorkloadResult, known: &[(&str, &Metric)]) -> Floors {
    let mut floors = Floors::new();
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
            control.floor_pct = Some(found.pct);
            floors.insert((*name).to_owned(), found);
        }
    }
    floors
}

/// Adjusts the p of a metric's controls for their number.
fn adjust(floors: &mut [Floors], metric: &str) {
    let family = floors.iter_mut();
    let family: Vec<&mut Floor> = family.filter_map(|floors| floors.get_mut(metric)).collect();
    let p: Vec<f64> = family.iter().map(|floor| floor.p).collect();
    for (floor, adjusted) in family.into_iter().zip(holm::adjust(&p)) {
        floor.p = adjusted;
    }
}

fn compare(
    workload: &WorkloadResult,
    place: Place,
    (name, metric): (&str, &Metric),
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
        let fact = are_alike(a, b).then(|| exact(&question, &present(a), &present(b)));
        return fact.flatten().map(Box::new).map(Pending::Done);
    }
    let control = workload.control.get(name).map(|c| c.samples.as_slice());
    // The primary metric alone determined the number of blocks.
    let stopping = match Stopping::of(workload) {
        Stopping::Width { .. } if !place.primary => Stopping::Planned,
        stopping => stopping,
    };
    let blocks = Blocks::of(a, control, b);
    let layouts = Layouts::of(workload);
    let layouts = layouts.as_ref();
    let mut evidence = Evidence::of(&question, &blocks, layouts, place.control, stopping)?;
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

/// True if counts are of the same inputs: both lack the same ones, or one value stands for all.
fn are_alike(a: &[Option<f64>], b: &[Option<f64>]) -> bool {
    let has = |value: &Option<f64>| value.is_some_and(f64::is_finite);
    let single = a.len() == 1 || b.len() == 1;
    single || a.iter().map(has).eq(b.iter().map(has))
}

/// Gives every comparison its verdict, at the level that results from `alpha` by Holm's method. The
/// primary metric's family is all arms; that of secondary metrics is all those of one arm. `chance`
/// is the error of [`Stopping::chance`], divided among a family likewise.
fn decide(pending: Vec<Pending>, alpha: f64, chance: Option<f64>) -> Vec<Comparison> {
    let mut families: BTreeMap<Option<String>, Vec<(usize, f64)>> = BTreeMap::new();
    for (i, one) in pending.iter().enumerate() {
        if let Pending::Sampled { evidence, primary } = one
            && evidence.is_tested()
        {
            let family = (!primary).then(|| evidence.comparison.arm.clone());
            let members = families.entry(family).or_default();
            members.push((i, evidence.best_p()));
        }
    }
    let mut placed = vec![(1.0 - alpha, 1); pending.len()];
    for members in families.values() {
        let p: Vec<f64> = members.iter().map(|(_, p)| *p).collect();
        for (&(i, _), level) in members.iter().zip(holm::levels(&p, alpha)) {
            placed[i] = (level, members.len());
        }
    }
    let decided = pending
        .into_iter()
        .zip(placed)
        .map(|(one, (level, family))| match one {
            Pending::Done(comparison) => *comparison,
            Pending::Sampled { evidence, .. } => {
                // Without any error left there is no family to divide it among.
                let share = if alpha > 0.0 {
                    (1.0 - level) / alpha
                } else {
                    1.0
                };
                let chance = chance.map(|chance| 1.0 - chance * share);
                let mut comparison = evidence.decided(level, chance, family);
                contradict(&mut comparison);
                comparison
            }
        });
    decided.collect()
}

#[cfg(test)]
mod tests;
