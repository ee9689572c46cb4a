//! Synthetic workloads with a known truth, to measure how often the verdict errs.
//!
//! The samples pass through [`judge`] itself; no part of the rule is duplicated here.

use std::collections::BTreeMap;

use serde_json::json;

use crate::judge::judge;
use crate::random::Random;
use crate::stopping::{STOPPING, Stopping};
use crate::value::{
    ArmResult, Better, CONTROL, Comparison, Control, Kind, Metric, Verdict, WorkloadResult,
};

/// A disturbance by the machine during the run, in units of the noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disturbance {
    /// Independent normal noise alone.
    None,
    /// Linear slowdown, by two deviations from first to last sample.
    Linear,
    /// Correlated noise: first-order autoregression, 0.8, instead of independent noise.
    Ar1,
    /// A slowdown by one and a half deviations from a random moment on.
    Step,
    /// One sample in ten is slower by five deviations on average, exponentially distributed.
    Spikes,
}

/// All disturbances.
pub const DISTURBANCES: [Disturbance; 5] = [
    Disturbance::None,
    Disturbance::Linear,
    Disturbance::Ar1,
    Disturbance::Step,
    Disturbance::Spikes,
];

impl Disturbance {
    /// Its name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Linear => "linear drift 2σ",
            Self::Ar1 => "AR(1) 0.8",
            Self::Step => "step 1.5σ",
            Self::Spikes => "one-sided spikes",
        }
    }

    /// Noise of `n` samples in the order in which they run.
    pub(super) fn noise(self, n: usize, random: &mut Random) -> Vec<f64> {
        let step_at = random.below(n);
        let mut correlated = correlated(0.8, random);
        (0..n)
            .map(|i| match self {
                Self::None => random.normal(),
                Self::Linear => random.normal() + 2.0 * i as f64 / (n as f64 - 1.0),
                Self::Ar1 => correlated(random),
                Self::Step => random.normal() + if i >= step_at { 1.5 } else { 0.0 },
                Self::Spikes => {
                    let spike = if random.below(10) == 0 {
                        -5.0 * random.uniform().ln()
                    } else {
                        0.0
                    };
                    random.normal() + spike
                }
            })
            .collect()
    }
}

/// Noise of unit variance, each value of which has the correlation `lag1` with the one before.
pub fn correlated(lag1: f64, random: &mut Random) -> impl FnMut(&mut Random) -> f64 + use<> {
    let mut value = random.normal();
    move |random| {
        // The variance stays one.
        value = lag1 * value + (1.0 - lag1 * lag1).sqrt() * random.normal();
        value
    }
}

/// The order of a run's samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// The lab's order: blocks, each in a random order.
    Blocks,
    /// The wrong order: all of one arm, then all of the next.
    Grouped,
}

/// A kind of run with its truth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// The machine's disturbance.
    pub disturbance: Disturbance,
    /// The order of the samples.
    pub schedule: Schedule,
    /// Blocks.
    pub blocks: usize,
    /// Deviation of the noise, in per cent of the value.
    pub cv_pct: f64,
    /// True value of every arm over that of the baseline; less is better.
    pub ratio: f64,
    /// Declared margin, in per cent.
    pub margin_pct: f64,
    /// Arms besides the baseline.
    pub arms: usize,
    /// Metrics; the first is primary.
    pub metrics: usize,
    /// Looks at a run that ends as soon as its verdict is certain; `None` if it never does.
    pub looks: Option<u32>,
}

impl Cell {
    /// Undisturbed blocks at CV 1 % and margin 1 %, with one arm without effect and one metric.
    pub fn quiet(blocks: usize) -> Self {
        Self {
            disturbance: Disturbance::None,
            schedule: Schedule::Blocks,
            blocks,
            cv_pct: 1.0,
            ratio: 1.0,
            margin_pct: 1.0,
            arms: 1,
            metrics: 1,
            looks: None,
        }
    }
}

/// Numbers of runs of a cell by outcome. Several comparisons with one outcome count once per run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Runs.
    pub runs: u32,
    /// With a comparison called keep.
    pub keep: u32,
    /// With one called keep whose interval is beyond the noise floor, too.
    pub keep_beyond_floor: u32,
    /// With one called revert.
    pub revert: u32,
    /// With one called equivalent.
    pub equivalent: u32,
    /// Runs whose 95 % interval excludes no effect.
    pub rejected: u32,
    /// Runs whose sign-flip p is at most 0.05.
    pub flips_rejected: u32,
    /// Runs whose control failed.
    pub control_failed: u32,
}

impl Tally {
    fn add(&mut self, workload: &WorkloadResult) {
        let any = |test: fn(&Comparison) -> bool| u32::from(workload.comparisons.iter().any(test));
        self.runs += 1;
        self.keep += any(|c| c.verdict == Verdict::Keep);
        let floor = |metric: &str| workload.control.get(metric)?.floor_pct;
        let beyond_floor = |c: &Comparison| {
            let [_, high] = c.ci_adj_pct.or(c.ci95_pct).unwrap_or([c.effect_pct; 2]);
            let log = |pct: f64| (pct / 100.0).ln_1p();
            let beyond = floor(&c.metric).is_some_and(|floor| log(high) < -log(floor));
            c.verdict == Verdict::Keep && beyond
        };
        let comparisons = &workload.comparisons;
        self.keep_beyond_floor += u32::from(comparisons.iter().any(beyond_floor));
        self.revert += any(|c| c.verdict == Verdict::Revert);
        self.equivalent += any(|c| c.verdict == Verdict::Equivalent);
        self.rejected += any(|c| {
            c.ci95_pct
                .is_some_and(|[low, high]| low > 0.0 || high < 0.0)
        });
        self.flips_rejected += any(|c| c.sign_flip_p.is_some_and(|p| p <= 0.05));
        self.control_failed += u32::from(workload.control.values().any(|c| c.failed));
    }

    /// A count as a share of the runs.
    pub fn share(&self, count: u32) -> f64 {
        f64::from(count) / f64::from(self.runs)
    }
}

/// Names and values of a cell's metrics.
pub(super) fn metrics(cell: &Cell) -> (BTreeMap<String, Metric>, Vec<String>) {
    let order: Vec<String> = (0..cell.metrics).map(|i| format!("metric-{i}")).collect();
    let metric = |name: &String| Metric {
        unit: "1".to_owned(),
        better: Better::Lower,
        kind: Kind::Sampled,
        primary: *name == order[0],
        margin_pct: Some(cell.margin_pct),
        about: String::new(),
    };
    (
        order
            .iter()
            .map(|name| (name.clone(), metric(name)))
            .collect(),
        order,
    )
}

/// The runner at each position: the baseline 0, the control 1, the arms from 2 on.
fn order(cell: &Cell, random: &mut Random) -> Vec<usize> {
    let runners = cell.arms + 2;
    let mut order: Vec<usize> = (0..cell.blocks * runners).map(|i| i % runners).collect();
    match cell.schedule {
        Schedule::Blocks => order
            .chunks_mut(runners)
            .for_each(|block| random.shuffle(block)),
        Schedule::Grouped => order.sort_unstable(),
    }
    order
}

/// A workload with samples, not yet judged.
pub(super) fn workload(cell: &Cell, names: &[String], random: &mut Random) -> WorkloadResult {
    let order = order(cell, random);
    let runners = cell.arms + 2;
    let mut arms: Vec<ArmResult> = (0..=cell.arms)
        .map(|i| ArmResult {
            name: format!("arm-{i}"),
            ..ArmResult::default()
        })
        .collect();
    let mut control = BTreeMap::new();
    for name in names {
        let noise = cell.disturbance.noise(order.len(), random);
        let mut taken: Vec<Vec<Option<f64>>> = vec![vec![]; runners];
        for (runner, noise) in order.iter().zip(noise) {
            let truth = if *runner < 2 {
                100.0
            } else {
                100.0 * cell.ratio
            };
            taken[*runner].push(Some(truth * (cell.cv_pct / 100.0 * noise).exp()));
        }
        let mut taken = taken.into_iter();
        let baseline = taken.next().unwrap_or_default();
        let samples = taken.next().unwrap_or_default();
        control.insert(
            name.clone(),
            Control {
                samples,
                ..Control::default()
            },
        );
        for (arm, samples) in arms.iter_mut().zip(std::iter::once(baseline).chain(taken)) {
            arm.samples.insert(name.clone(), samples);
        }
    }
    let name = |runner: &usize| match runner {
        0 => "arm-0".to_owned(),
        1 => CONTROL.to_owned(),
        _ => format!("arm-{}", runner - 1),
    };
    WorkloadResult {
        name: "synthetic".to_owned(),
        blocks: (0..cell.blocks as u32).collect(),
        order: order
            .chunks(runners)
            .map(|block| block.iter().map(name).collect())
            .collect(),
        arms,
        control,
        ..WorkloadResult::default()
    }
}

/// The result of a run with interim looks that ends when every verdict is certain.
pub(super) fn until_certain(
    whole: &WorkloadResult,
    looks: u32,
    metrics: &BTreeMap<String, Metric>,
    order: &[String],
) -> WorkloadResult {
    let planned = whole.blocks.len() as u32;
    let rule = Stopping::Early { planned, looks };
    let mut judged = whole.clone();
    for blocks in (1..=planned).filter(|blocks| rule.looks_at(*blocks)) {
        judged = first_blocks(whole, blocks as usize);
        judged.params.insert(STOPPING.to_owned(), json!(rule));
        judge(&mut judged, metrics, order, None);
        let open = |one: &Comparison| one.verdict == Verdict::Inconclusive;
        if !judged.comparisons.iter().any(open) {
            break;
        }
    }
    judged
}

/// The first `blocks` blocks of a run.
fn first_blocks(whole: &WorkloadResult, blocks: usize) -> WorkloadResult {
    let mut part = whole.clone();
    part.blocks.truncate(blocks);
    part.order.truncate(blocks);
    for arm in &mut part.arms {
        arm.samples
            .values_mut()
            .for_each(|all| all.truncate(blocks));
    }
    for control in part.control.values_mut() {
        control.samples.truncate(blocks);
    }
    part
}

/// Judges `runs` runs of a cell.
pub fn simulate(cell: &Cell, runs: u32, seed: u64) -> Tally {
    let mut random = Random::new(seed);
    let (metrics, order) = metrics(cell);
    let mut tally = Tally::default();
    for _ in 0..runs {
        let mut workload = workload(cell, &order, &mut random);
        match cell.looks {
            Some(looks) => workload = until_certain(&workload, looks, &metrics, &order),
            None => judge(&mut workload, &metrics, &order, None),
        }
        tally.add(&workload);
    }
    tally
}

#[cfg(test)]
mod tests;
