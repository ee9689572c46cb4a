//! Whole workloads through [`judge`].

mod boundaries;
mod control;
mod family;
mod own_metrics;
mod precedence;
mod shares;

use std::collections::BTreeMap;

use super::judge;
use crate::random::Random;
use crate::value::{ArmResult, Better, Comparison, Control, Kind, Metric, Verdict, WorkloadResult};

/// Noise of about one per cent, the same in every test.
const NOISE: [f64; 10] = [0.3, -1.1, 0.6, 1.4, -0.2, -0.9, 0.8, 0.1, -1.3, 0.3];

/// At most ten values around a level, with the noise shifted by `places`.
fn around(level: f64, places: usize, blocks: usize) -> Vec<Option<f64>> {
    let noise = |i: usize| NOISE[(i * 3 + places) % NOISE.len()];
    (0..blocks)
        .map(|i| Some(level * (1.0 + 0.001 * noise(i))))
        .collect()
}

/// Baseline and control around 100, then arms around these levels, each with a place in the noise.
fn steady(arms: &[(f64, usize)]) -> Vec<Vec<Option<f64>>> {
    let all = [(100.0, 0), (100.0, 3)].iter().chain(arms);
    all.map(|(level, places)| around(*level, *places, 10))
        .collect()
}

/// The samples, higher by one per cent of the first with every block.
fn rising(mut samples: Vec<Option<f64>>) -> Vec<Option<f64>> {
    for (i, value) in samples.iter_mut().flatten().enumerate() {
        *value *= 1.0 + 0.01 * i as f64;
    }
    samples
}

struct Case {
    workload: WorkloadResult,
    metrics: BTreeMap<String, Metric>,
    order: Vec<String>,
}

impl Case {
    /// Baseline `old` and these arms, without metrics.
    fn new(arms: &[&str], blocks: usize) -> Self {
        let arm = |name: &&str| ArmResult {
            name: (*name).to_owned(),
            ..ArmResult::default()
        };
        let workload = WorkloadResult {
            name: "plain".to_owned(),
            blocks: (0..blocks as u32).collect(),
            arms: std::iter::once(&"old").chain(arms).map(arm).collect(),
            ..WorkloadResult::default()
        };
        Self {
            workload,
            metrics: BTreeMap::new(),
            order: vec![],
        }
    }

    /// Baseline, control and arms in the metric `time`. A single arm is called `new`.
    fn timed(samples: &[Vec<Option<f64>>]) -> Self {
        let arms = match samples.len() {
            3 => &["new"][..],
            n => &["b", "c", "d", "e"][..n - 2],
        };
        Self::new(arms, samples[0].len()).sampled("time", samples)
    }

    /// Adds a sampled metric: baseline, control, arms. The first declared metric is primary.
    fn sampled(mut self, name: &str, samples: &[Vec<Option<f64>>]) -> Self {
        self.declare(name, Kind::Sampled);
        let control = Control {
            samples: samples[1].clone(),
            ..Control::default()
        };
        self.workload.control.insert(name.to_owned(), control);
        let of_arms = std::iter::once(&samples[0]).chain(&samples[2..]);
        for (arm, samples) in self.workload.arms.iter_mut().zip(of_arms) {
            arm.samples.insert(name.to_owned(), samples.clone());
        }
        self
    }

    fn exact(mut self, name: &str, values: &[f64]) -> Self {
        self.declare(name, Kind::Exact);
        for (arm, value) in self.workload.arms.iter_mut().zip(values) {
            arm.samples.insert(name.to_owned(), vec![Some(*value)]);
        }
        self
    }

    fn declare(&mut self, name: &str, kind: Kind) {
        let metric = Metric {
            unit: "1".to_owned(),
            better: Better::Lower,
            kind,
            primary: self.order.is_empty(),
            margin_pct: None,
            about: String::new(),
        };
        self.metrics.insert(name.to_owned(), metric);
        self.order.push(name.to_owned());
    }

    /// The metric that decides.
    fn deciding(&self) -> &str {
        let order = self.order.iter();
        let metrics: Vec<_> = order
            .map(|name| (name.as_str(), &self.metrics[name]))
            .collect();
        self.workload.primary(&metrics).unwrap().0
    }

    fn judged(mut self) -> WorkloadResult {
        judge(&mut self.workload, &self.metrics, &self.order, None);
        self.workload
    }
}

/// One arm, one metric, around these levels of baseline, control and arm.
fn simple(levels: [f64; 3], blocks: usize) -> Case {
    let [a, again, b] = levels;
    let around = |level, places| around(level, places, blocks);
    Case::timed(&[around(a, 0), around(again, 3), around(b, 7)])
}

fn only(workload: &WorkloadResult) -> &Comparison {
    assert_eq!(workload.comparisons.len(), 1);
    &workload.comparisons[0]
}

fn warned(workload: &WorkloadResult, of: &str) -> bool {
    workload.warnings.iter().any(|warning| warning.contains(of))
}

#[test]
fn a_clear_gain_is_kept_and_every_figure_is_there() {
    let workload = simple([100.0, 100.0, 90.0], 10).judged();
    let found = only(&workload);
    assert_eq!((found.verdict, found.n), (Verdict::Keep, 10));
    assert_eq!(
        (found.baseline.as_str(), found.arm.as_str()),
        ("old", "new")
    );
    assert!((found.effect_pct + 10.0).abs() < 0.1);
    let [low, high] = found.ci95_pct.unwrap();
    assert!(low < found.effect_pct && found.effect_pct < high && high < -9.0);
    assert!(found.paired.unwrap().p < 1e-9 && found.welch.is_some() && found.student.is_some());
    assert_eq!(found.sign_flip_p, Some(2.0 / 1024.0));
    assert_eq!(found.mann_whitney.unwrap().u, 0.0);
    assert!(found.variance.is_some() && found.mde_pct.unwrap() > 1.0);
    assert_eq!((found.ci_adj_pct, found.level), (None, None));
    assert_eq!(
        (found.scale.as_deref(), found.margin_pct),
        (Some("log"), 1.0)
    );
    assert_eq!(workload.arms[1].summary["time"].n, 10);
    assert!(workload.control["time"].floor_pct.unwrap() < 0.2);
    assert_eq!(workload.warnings, Vec::<String>::new());
}

#[test]
fn direction_and_margin_come_from_the_metric_unless_overridden() {
    let mut case = simple([100.0, 100.0, 97.0], 10);
    case.metrics.get_mut("time").unwrap().better = Better::Higher;
    assert_eq!(only(&case.judged()).verdict, Verdict::Revert);
    let mut case = simple([100.0, 100.0, 97.0], 10);
    case.metrics.get_mut("time").unwrap().margin_pct = Some(5.0);
    judge(&mut case.workload, &case.metrics, &case.order, None);
    assert_eq!(only(&case.workload).verdict, Verdict::Equivalent);
    judge(&mut case.workload, &case.metrics, &case.order, Some(2.0));
    assert_eq!(only(&case.workload).verdict, Verdict::Keep);
    assert_eq!(only(&case.workload).margin_pct, 2.0);
}

#[test]
fn five_blocks_decide_nothing_and_say_why() {
    let workload = simple([100.0, 100.0, 50.0], 5).judged();
    assert_eq!(only(&workload).verdict, Verdict::Inconclusive);
    let why = only(&workload).reason.as_deref().unwrap();
    assert!(
        why.contains("needs 6 blocks") && why.contains("--blocks 6"),
        "{why}"
    );
    assert!(!warned(&workload, "blocks"), "it is said once");
    let one = simple([100.0, 100.0, 50.0], 1).judged();
    let why = only(&one).reason.as_deref().unwrap();
    assert!(why.contains("needs 6 blocks"), "{why}");
    assert_eq!((only(&one).ci95_pct, only(&one).n_needed), (None, None));
    assert!((only(&one).effect_pct + 50.0).abs() < 0.5);
}

#[test]
fn blocks_with_a_failed_run_are_left_out_and_reported() {
    let mut case = simple([100.0, 100.0, 90.0], 10);
    case.workload.arms[1].samples.get_mut("time").unwrap()[4] = None;
    case.workload.control.get_mut("time").unwrap().samples[7] = Some(f64::NAN);
    let workload = case.judged();
    assert_eq!(
        (only(&workload).n, only(&workload).verdict),
        (8, Verdict::Keep)
    );
    assert_eq!(workload.arms[1].summary["time"].n, 9);
    assert!(warned(&workload, "new in 1 of 10, control in 1 of 10"));
}

#[test]
fn values_that_never_vary_are_compared_as_numbers() {
    let constant = |value: f64| vec![Some(value); 10];
    for (arm, wanted) in [
        (4.0, Verdict::Equivalent),
        (3.0, Verdict::Keep),
        (5.0, Verdict::Revert),
        (0.0, Verdict::Keep),
    ] {
        let samples = [constant(4.0), constant(4.0), constant(arm)];
        let workload = Case::new(&["new"], 10).sampled("faults", &samples).judged();
        let found = only(&workload);
        assert_eq!(found.verdict, wanted, "{arm}");
        assert!(found.paired.is_none() && found.sign_flip_p.is_none() && found.ci95_pct.is_none());
        assert!(found.reason.as_deref().unwrap().contains("without a test"));
    }
    let zeros = [constant(0.0), constant(0.0), constant(0.0)];
    let nothing = Case::new(&["new"], 10).sampled("faults", &zeros).judged();
    assert_eq!(
        (only(&nothing).verdict, only(&nothing).effect_pct),
        (Verdict::Equivalent, 0.0)
    );
}

#[test]
fn exact_metrics_have_an_effect_and_a_verdict_and_no_tests() {
    let workload = simple([100.0, 100.0, 100.0], 10)
        .exact("calls", &[15.24, 4.66])
        .judged();
    let found = &workload.comparisons[1];
    assert_eq!(
        (found.metric.as_str(), found.verdict),
        ("calls", Verdict::Keep)
    );
    assert!((found.effect_pct - 100.0 * (4.66 / 15.24 - 1.0)).abs() < 1e-9);
    assert!(found.paired.is_none() && found.ci95_pct.is_none() && found.welch.is_none());
    assert_eq!(workload.comparisons[0].verdict, Verdict::Equivalent);
    assert_eq!(workload.comparisons[0].level, None);
}

#[test]
fn the_primary_metric_is_adjusted_over_arms_and_the_others_within_an_arm() {
    let three = |level: f64| steady(&[(level, 7), (level + 0.5, 4), (100.0, 8)]);
    let workload = Case::timed(&three(90.0))
        .sampled("faults", &three(95.0))
        .sampled("switches", &three(80.0))
        .judged();
    let levels = |metric: &str| -> Vec<f64> {
        let of = workload.comparisons.iter().filter(|c| c.metric == metric);
        let mut levels: Vec<f64> = of.map(|c| c.level.unwrap()).collect();
        levels.sort_by(f64::total_cmp);
        levels
    };
    let close = |found: &[f64], wanted: &[f64]| {
        assert_eq!(found.len(), wanted.len());
        assert!(
            found.iter().zip(wanted).all(|(f, w)| (f - w).abs() < 1e-12),
            "{found:?}"
        );
    };
    close(&levels("time"), &[0.95, 0.975, 1.0 - 0.05 / 3.0]);
    for arm in ["b", "c", "d"] {
        let of = workload
            .comparisons
            .iter()
            .filter(|c| c.arm == arm && c.metric != "time");
        let mut found: Vec<f64> = of.map(|c| c.level.unwrap()).collect();
        found.sort_by(f64::total_cmp);
        close(&found, &[0.95, 0.975]);
    }
    let adjusted = &workload.comparisons[0];
    let ([low, high], [plain_low, plain_high]) =
        (adjusted.ci_adj_pct.unwrap(), adjusted.ci95_pct.unwrap());
    assert!(low < plain_low && high > plain_high);
}

#[test]
fn what_is_decided_alone_can_be_undecided_among_many() {
    // An effect that exceeds the margin by slightly more than its half width.
    let workload = Case::timed(&steady(&[(98.85, 7)])).judged();
    let [_, high] = only(&workload).ci95_pct.unwrap();
    let level = 98.85 * (1.0 / 1.01) / (1.0 + high / 100.0) * 0.999_99;
    let single = Case::timed(&steady(&[(level, 7)]));
    assert_eq!(only(&single.judged()).verdict, Verdict::Keep);
    let many = steady(&[(level, 7), (99.0, 2), (99.0, 5), (99.0, 9)]);
    let workload = Case::timed(&many).judged();
    let found = &workload.comparisons[0];
    assert_eq!(found.verdict, Verdict::Inconclusive);
    assert!(
        found
            .reason
            .as_deref()
            .unwrap()
            .contains("correction for 4"),
        "{:?}",
        found.reason
    );
}

#[test]
fn an_arm_that_cannot_run_has_no_comparison_and_counts_for_nothing() {
    let samples = [100.0, 100.0, 90.0, 90.0].map(|level| around(level, level as usize, 10));
    let mut case = Case::timed(&samples);
    case.workload.arms[2].na = Some("at most 32 segments".to_owned());
    case.workload.arms[2].samples.clear();
    let workload = case.judged();
    assert_eq!(
        (only(&workload).arm.as_str(), only(&workload).level),
        ("b", None)
    );
}

#[test]
fn judging_again_overwrites_and_repeats_no_warning() {
    let mut case = simple([100.0, 103.0, 50.0], 10);
    case.workload.warnings.push("steal was 3 %".to_owned());
    judge(&mut case.workload, &case.metrics, &case.order, None);
    let once = case.workload.clone();
    judge(&mut case.workload, &case.metrics, &case.order, None);
    assert_eq!(case.workload, once);
    assert_eq!(once.warnings[0], "steal was 3 %");
}

#[test]
fn drift_and_values_far_out_are_warned_of_and_change_no_verdict() {
    let samples = [100.0, 100.0, 90.0].map(|level| rising(around(level, level as usize, 10)));
    let drifting = Case::timed(&samples).judged();
    assert!(
        warned(&drifting, "drifted by +8."),
        "{:?}",
        drifting.warnings
    );
    assert_eq!(drifting.warnings.len(), 1);
    assert_eq!(only(&drifting).verdict, Verdict::Keep);
    let mut case = simple([100.0, 100.0, 80.0], 10);
    case.workload.arms[1].samples.get_mut("time").unwrap()[2] = Some(85.0);
    let spiked = case.judged();
    assert!(warned(&spiked, "1 of 10 from new"), "{:?}", spiked.warnings);
    assert_eq!(
        (only(&spiked).n, only(&spiked).verdict),
        (10, Verdict::Keep)
    );
}

#[test]
fn a_machine_with_two_speeds_is_warned_of() {
    let slow_and_fast = |level: f64, places| -> Vec<Option<f64>> {
        let steady = around(level, places, 24).into_iter().enumerate();
        steady
            .map(|(i, v)| v.map(|v| if i / 6 % 2 == 0 { v } else { 1.05 * v }))
            .collect()
    };
    let samples = [(100.0, 0), (100.0, 3), (90.0, 7)].map(|(l, p)| slow_and_fast(l, p));
    let workload = Case::timed(&samples).judged();
    assert!(
        warned(&workload, "is autocorrelated"),
        "{:?}",
        workload.warnings
    );
    assert_eq!(only(&workload).verdict, Verdict::Keep);
}

#[test]
fn no_samples_however_odd_cause_a_panic_or_a_figure_that_json_cannot_hold() {
    let mut random = Random::new(12);
    let odd = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        1e300,
        1e-300,
        -1e300,
        f64::NAN,
        f64::INFINITY,
        5e-324,
    ];
    for _ in 0..3000 {
        let mut draw = |most: usize| -> Vec<Option<f64>> {
            let plain = random.below(3) == 0;
            (0..random.below(most))
                .map(|_| match random.below(8) {
                    0 => None,
                    1..=4 if plain => Some(100.0 + random.normal()),
                    _ => Some(odd[random.below(odd.len())]),
                })
                .collect()
        };
        let samples: Vec<_> = (0..4).map(|_| draw(9)).collect();
        let others: Vec<_> = (0..4).map(|_| draw(9)).collect();
        let counts = draw(4);
        let mut case = Case::new(&["b", "c"], 8)
            .sampled("time", &samples)
            .sampled("x", &others);
        case.declare("calls", Kind::Exact);
        for arm in &mut case.workload.arms {
            arm.samples.insert("calls".to_owned(), counts.clone());
        }
        let mut workload = case.judged();
        for arm in &mut workload.arms {
            arm.samples.clear();
        }
        workload
            .control
            .values_mut()
            .for_each(|control| control.samples.clear());
        let text = serde_json::to_string(&workload).unwrap();
        let back: WorkloadResult = serde_json::from_str(&text).expect(&text);
        assert_eq!(back.comparisons.len(), workload.comparisons.len());
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    }
}
