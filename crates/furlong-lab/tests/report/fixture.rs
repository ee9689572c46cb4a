//! Results like those of real runs, from usual to unusual. They are made from seeds, and are the
//! same in every process.

use std::collections::BTreeMap;

use furlong_lab::model::result::{
    Better, ExperimentResult, Kind, Machine, Metric, ResultFile, Run, SCHEMA, WorkloadResult,
};
use furlong_lab::record::functions::{Difference, FRAMES_MAX};
use furlong_stats::attribution::{Calls, Costs, Function, attribution};
use furlong_stats::blocks::{Blocks, present};
use furlong_stats::comparison::{Evidence, Question, exact};
use furlong_stats::control::floor;
use furlong_stats::describe;
use furlong_stats::flame::frames;
use furlong_stats::random::Random;
use furlong_stats::stopping::Stopping;
use furlong_stats::verdict::Check;
use serde_json::{Value, json};

/// Disturbance by the machine during a workload.
#[derive(Clone, Copy)]
pub(crate) enum Weather {
    /// Only noise.
    Calm,
    /// Everything slows down by 4 % from the first to the last block.
    Drift,
    /// One block in eight is disturbed by up to 12 %.
    Spikes,
    /// The second half runs 3 % slower.
    Step,
}

/// A workload to invent.
pub(crate) struct Invention<'a> {
    /// Name.
    pub(crate) name: &'a str,
    /// Blocks.
    pub(crate) blocks: u32,
    /// Arms with their typical value in the primary metric, the baseline first.
    pub(crate) arms: &'a [(&'a str, f64)],
    /// Standard deviation, in per cent.
    pub(crate) noise_pct: f64,
    /// Behaviour of the machine.
    pub(crate) weather: Weather,
    /// Seed of every value.
    pub(crate) seed: u64,
}

/// A metric.
pub(crate) fn metric(unit: &str, better: Better, kind: Kind, about: &str) -> Metric {
    Metric {
        unit: unit.to_owned(),
        better,
        kind,
        primary: false,
        margin_pct: None,
        about: about.to_owned(),
    }
}

/// A run around experiments.
pub(crate) fn file(command: &[&str], experiments: Vec<ExperimentResult>) -> ResultFile {
    ResultFile {
        schema: SCHEMA.to_owned(),
        run: Run {
            id: "20261003-140211-7f3a".to_owned(),
            started: "2026-10-03T14:02:11+02:00".to_owned(),
            command: command.iter().map(|a| (*a).to_owned()).collect(),
            profile: "full".to_owned(),
            seed: 20_261_003,
            version: "0.1.0 (c241182)".to_owned(),
            machine: machine(),
            ..Run::default()
        },
        experiments,
    }
}

fn machine() -> Machine {
    Machine {
        id: "m-5d1c09ab".to_owned(),
        class: None,
        host: "bench-03".to_owned(),
        kernel: "Linux 6.12.41".to_owned(),
        cpu: Some("AMD EPYC 9354P 32-Core Processor".to_owned()),
        cpus: 2,
        memory_bytes: Some(25_769_803_776),
        caches: BTreeMap::from([
            ("L1d".to_owned(), 32_768),
            ("L2".to_owned(), 1_048_576),
            ("L3".to_owned(), 33_554_432),
        ]),
        hypervisor: Some("kvm".to_owned()),
        governor: None,
        turbo: None,
        smt: Some(true),
        aslr: Some(2),
        thp: Some("madvise".to_owned()),
        load_1m: Some(0.31),
        steal_pct: Some(0.02),
        rustc: "rustc 1.95.0".to_owned(),
        build: "release, x86_64-unknown-linux-gnu".to_owned(),
        fleet: None,
    }
}

impl Invention<'_> {
    /// The workload with samples, order, control and comparisons of one sampled metric.
    pub(crate) fn make(&self, name: &str, metric: &Metric, margin_pct: f64) -> WorkloadResult {
        let mut noise = Random::new(self.seed);
        let mut order = vec![];
        let mut columns = vec![vec![]; self.arms.len() + 1];
        for block in 0..self.blocks {
            let shared = self.shared(block, &mut noise);
            let mut turns = vec![];
            for (column, place) in columns.iter_mut().zip(0..) {
                let arm = self.arms.get(place).or(self.arms.first());
                let level = arm.map_or(0.0, |(_, level)| *level);
                let own = 1.0 + self.noise_pct / 100.0 * noise.normal();
                column.push(Some(level * shared * own));
                let runner = self.arms.get(place).map_or("control", |(arm, _)| arm);
                turns.push(runner.to_owned());
            }
            noise.shuffle(&mut turns);
            order.push(turns);
        }
        let control = columns.pop().unwrap_or_default();
        let arms = self.arms.iter().map(|(arm, _)| *arm).zip(columns);
        let mut w = WorkloadResult::sampled(self.name, name, arms, control);
        w.blocks = (0..self.blocks).collect();
        w.order = order;
        w.params = BTreeMap::from([
            ("nodes".to_owned(), json!(65_536)),
            ("operations".to_owned(), json!(4_194_304)),
        ]);
        judge(&mut w, name, metric, margin_pct);
        w
    }

    fn shared(&self, block: u32, noise: &mut Random) -> f64 {
        let at = f64::from(block) / f64::from(self.blocks.max(2) - 1);
        let spike = noise.uniform();
        match self.weather {
            Weather::Calm => 1.0,
            Weather::Drift => 1.0 + 0.04 * at,
            Weather::Spikes if spike < 0.125 => 1.0 + 0.12 * noise.uniform(),
            Weather::Spikes => 1.0,
            Weather::Step => 1.0 + if at > 0.5 { 0.03 } else { 0.0 },
        }
    }
}

/// Fills summaries, the floor and the comparisons of a sampled metric: every arm against the first
/// and, with three or more arms, the last against the previous one.
pub(crate) fn judge(w: &mut WorkloadResult, name: &str, metric: &Metric, margin_pct: f64) {
    summarise(w, name);
    let last = w.arms.len().saturating_sub(1);
    let mut pairs: Vec<(usize, usize)> = (1..w.arms.len()).map(|arm| (0, arm)).collect();
    if w.arms.len() >= 3 {
        pairs.push((last - 1, last));
    }
    for (baseline, arm) in pairs {
        let (first, second) = (&w.arms[baseline], &w.arms[arm]);
        let (Some(a), Some(b)) = (first.samples.get(name), second.samples.get(name)) else {
            continue;
        };
        let question = question(&first.name, &second.name, name, metric.better, margin_pct);
        let control = w.control.get(name).filter(|_| baseline == 0);
        let blocks = Blocks::of(a, control.map(|control| control.samples.as_slice()), b);
        let found = Evidence::of(&question, &blocks, None, Check::Passed, Stopping::Planned);
        let found = found.map(|found| found.decided(0.975, None, 2));
        w.comparisons.extend(found);
    }
    if let (Some(control), Some(a)) = (w.control.get_mut(name), w.arms[0].samples.get(name)) {
        let blocks = Blocks::of(a, Some(&control.samples), a);
        let floor = floor(&blocks.control_effects(), blocks.scale());
        control.floor_pct = floor.map(|floor| floor.pct);
    }
}

fn summarise(w: &mut WorkloadResult, name: &str) {
    for arm in &mut w.arms {
        let samples = arm.samples.get(name);
        let found = samples.and_then(|samples| describe(&present(samples)));
        arm.summary
            .extend(found.map(|found| (name.to_owned(), found)));
    }
}

fn question<'a>(
    baseline: &'a str,
    arm: &'a str,
    metric: &'a str,
    better: Better,
    margin_pct: f64,
) -> Question<'a> {
    Question {
        baseline,
        arm,
        metric,
        better,
        margin_pct,
    }
}

/// Adds an exact metric: one value per arm.
pub(crate) fn add_exact(w: &mut WorkloadResult, name: &str, better: Better, values: &[f64]) {
    for (arm, value) in w.arms.iter_mut().zip(values) {
        arm.samples.insert(name.to_owned(), vec![Some(*value)]);
    }
    summarise(w, name);
    for (arm, value) in w.arms.iter().zip(values).skip(1) {
        let question = question(&w.arms[0].name, &arm.name, name, better, 0.1);
        w.comparisons
            .extend(exact(&question, &values[..1], &[*value]));
    }
}

/// The metrics of the propagation experiment.
pub(crate) fn propagation_metrics() -> (Vec<String>, BTreeMap<String, Metric>) {
    let less = |unit, kind, about| metric(unit, Better::Lower, kind, about);
    let about = "Time of one operation, without the resets.";
    let time = Metric {
        primary: true,
        margin_pct: Some(1.0),
        ..less("ns", Kind::Sampled, about)
    };
    let augment = "How often a node's summary was recomputed.";
    let rotations = "Rotations, a double one counts two.";
    with_names([
        ("time_ns_per_op", time),
        ("augment_calls_per_op", less("1", Kind::Exact, augment)),
        ("rotations_per_op", less("1", Kind::Exact, rotations)),
    ])
}

/// Metrics with their order.
pub(crate) fn with_names<const N: usize>(
    metrics: [(&str, Metric); N],
) -> (Vec<String>, BTreeMap<String, Metric>) {
    let order = metrics.iter().map(|(name, _)| (*name).to_owned()).collect();
    (
        order,
        metrics
            .into_iter()
            .map(|(name, m)| (name.to_owned(), m))
            .collect(),
    )
}

/// Name, typical times of the arms, deviation in per cent, disturbance, augmentations of the arms.
type Planned = (&'static str, [f64; 3], f64, Weather, [f64; 3]);

#[rustfmt::skip]
const RICH: [Planned; 6] = [
    ("plain", [148.2, 132.9, 109.4], 0.9, Weather::Calm, [33.61, 15.24, 4.66]),
    ("ins", [171.3, 158.8, 131.0], 1.4, Weather::Drift, [32.10, 15.80, 5.53]),
    ("rem", [139.6, 118.1, 87.3], 1.1, Weather::Spikes, [30.44, 14.10, 4.20]),
    ("plain-seq", [61.4, 61.55, 62.9], 0.7, Weather::Calm, [26.2, 13.6, 10.06]),
    ("ins-seq", [73.1, 72.6, 73.0], 2.9, Weather::Step, [31.9, 16.0, 9.8]),
    ("rem-seq", [58.3, 58.25, 58.31], 0.5, Weather::Drift, [20.1, 10.06, 10.05]),
];

const DRIFTS: &str = "The values drift by 4 % from the first to the last block (the interval is \
    still right, since every block holds every arm): let the machine warm up or pin its frequency.";
const NO_COUNTERS: &str = "No hardware counters on this machine: cycles and cache misses were not \
    measured; run on bare metal or ask for --counters callgrind.";

/// Six workloads of three arms and 64 blocks, with all disturbances, and every verdict at least
/// once.
pub(crate) fn rich() -> ResultFile {
    let (metric_order, metrics) = propagation_metrics();
    let mut workloads = vec![];
    for (seed, (name, levels, noise_pct, weather, augments)) in (1..).zip(RICH) {
        let arms = named(levels);
        let invention = Invention {
            name,
            blocks: 64,
            arms: &arms,
            noise_pct,
            weather,
            seed,
        };
        let mut w = invention.make("time_ns_per_op", &metrics["time_ns_per_op"], 1.0);
        add_exact(&mut w, "augment_calls_per_op", Better::Lower, &augments);
        add_exact(&mut w, "rotations_per_op", Better::Lower, &[0.5804; 3]);
        if matches!(weather, Weather::Drift) {
            w.warnings.push(DRIFTS.to_owned());
        }
        workloads.push(w);
    }
    let command = "furlong run iova-propagation --profile full --html report.html";
    let command: Vec<&str> = command.split(' ').collect();
    let mut experiment = propagation(metric_order, metrics, workloads);
    experiment.left_out = vec!["gas-1k, gas-64k, gas-1m: not named by --workloads".to_owned()];
    let mut result = file(&command, vec![experiment]);
    result.run.warnings.push(NO_COUNTERS.to_owned());
    result
}

/// The arms of the propagation experiment.
pub(crate) fn named([eager, deferred, checked]: [f64; 3]) -> [(&'static str, f64); 3] {
    [
        ("eager", eager),
        ("deferred", deferred),
        ("checked", checked),
    ]
}

/// One workload of three arms.
pub(crate) fn small(
    name: &str,
    blocks: u32,
    levels: [f64; 3],
    seed: u64,
) -> (ExperimentResult, Metric) {
    let (metric_order, metrics) = propagation_metrics();
    let time = metrics["time_ns_per_op"].clone();
    let arms = named(levels);
    let invention = Invention {
        name,
        blocks,
        arms: &arms,
        noise_pct: 0.8,
        weather: Weather::Calm,
        seed,
    };
    let mut w = invention.make("time_ns_per_op", &time, 1.0);
    add_exact(
        &mut w,
        "augment_calls_per_op",
        Better::Lower,
        &[33.6, 15.24, 4.66],
    );
    (propagation(metric_order, metrics, vec![w]), time)
}

fn propagation(
    metric_order: Vec<String>,
    metrics: BTreeMap<String, Metric>,
    workloads: Vec<WorkloadResult>,
) -> ExperimentResult {
    ExperimentResult {
        name: "iova-propagation".to_owned(),
        question: "Does it pay to stop recomputing summaries where nothing changes?".to_owned(),
        metrics,
        metric_order,
        workloads,
        ..ExperimentResult::default()
    }
}

/// Adds the metrics of the same arms on the same workload.
pub(crate) fn add(w: &mut WorkloadResult, mut other: WorkloadResult) {
    for (arm, other) in w.arms.iter_mut().zip(other.arms) {
        arm.samples.extend(other.samples);
        arm.summary.extend(other.summary);
    }
    w.control.append(&mut other.control);
    w.comparisons.append(&mut other.comparisons);
}

/// The difference between two builds of a program of functions with these names, in turn. Each
/// calls up to three, and the last one has a second caller. One has become slower and one faster.
pub(crate) fn difference(arm: &str, names: &[&str]) -> Value {
    let count = 80;
    let name = |at: usize| format!("{}{at}", names[at % names.len()]);
    let run = |slower: f64, faster: f64| {
        let mut costs = Costs::default();
        let mut whole = vec![0.0; count];
        for at in (0..count).rev() {
            let factor = match at {
                17 => slower,
                5 => faster,
                _ => 1.0,
            };
            let own = f64::from(u32::try_from(at % 7).unwrap() + 1) * 100.0 * factor;
            let callees = 3 * at + 1..(3 * at + 4).min(count);
            let calls = callees.map(|callee| (callee, whole[callee]));
            let mut calls: BTreeMap<usize, f64> = calls.collect();
            if at == 30 {
                calls.insert(count - 1, 50.0);
            }
            whole[at] = own + calls.values().sum::<f64>();
            let calls = calls.into_iter();
            let calls = calls.map(|(callee, cost)| (name(callee), Calls { number: 1.0, cost }));
            let calls = calls.collect();
            costs.functions.insert(name(at), Function { own, calls });
        }
        costs
    };
    let runs = [&run(1.0, 1.0), &run(3.0, 0.4)];
    json!({ arm: Difference {
        attribution: attribution(runs),
        frames: frames(runs, str::to_owned, FRAMES_MAX),
    } })
}
