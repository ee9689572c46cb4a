//! Limits of the warnings, each from both sides.

use std::collections::BTreeMap;

use super::{autocorrelation, control_failed, drift, far_out, few_blocks, missing, of, series};
use crate::drift::{lag1, ljung_box_p, mann_kendall};
use crate::judge::judge;
use crate::random::Random;
use crate::value::{Better, Kind, Metric, Verdict, WorkloadResult};

/// Baseline, control and one arm with the metric `time`.
fn workload(baseline: &[f64], control: &[f64], new: &[f64]) -> WorkloadResult {
    let some = |values: &[f64]| values.iter().copied().map(Some).collect::<Vec<_>>();
    let arms = [("old", some(baseline)), ("new", some(new))];
    let mut w = WorkloadResult::sampled("w", "time", arms, some(control));
    w.blocks = (0..baseline.len() as u32).collect();
    w
}

fn metric(kind: Kind) -> Metric {
    Metric {
        unit: "1".to_owned(),
        better: Better::Lower,
        kind,
        primary: true,
        margin_pct: None,
        about: String::new(),
    }
}

fn numbered(values: &[f64]) -> Vec<(f64, f64)> {
    (0_u32..)
        .map(f64::from)
        .zip(values.iter().copied())
        .collect()
}

/// Noise whose neighbours have this correlation.
fn noise(seed: u64, n: usize, correlation: f64) -> Vec<f64> {
    let mut random = Random::new(seed);
    let mut last = 0.0;
    (0..n)
        .map(|_| {
            last = correlation * last + random.normal();
            100.0 + last
        })
        .collect()
}

/// A chance as a warning shows it: none is zero.
fn shown(p: f64) -> String {
    if p < 1e-4 {
        "p < 0.0001".to_owned()
    } else {
        format!("p = {p:.4}")
    }
}

/// The first number after a text.
fn number_after(said: &str, text: &str) -> f64 {
    let rest = said.split_once(text).unwrap().1;
    let end = rest.find([',', ';', ')', ' ', ':']).unwrap_or(rest.len());
    rest[..end].trim_end_matches('%').parse().unwrap()
}

#[test]
fn neighbours_are_correlated_beyond_two_deviations_and_one_chance_in_a_hundred() {
    let (mut warned, mut near) = (0, [0; 2]);
    for seed in 0..4000 {
        let values = noise(seed, 60, 0.3);
        let r = lag1(&values).unwrap();
        // With 60 values, ten lags.
        let p = ljung_box_p(&values, 10).unwrap();
        let wanted = r > 2.0 / 60.0_f64.sqrt() && p < 0.01;
        let found = autocorrelation("time", &numbered(&values));
        assert_eq!(found.is_some(), wanted, "{seed}: {r} {p}");
        if let Some(said) = found {
            warned += 1;
            assert!(
                (number_after(&said, "(lag 1 ") - r).abs() < 0.005_01,
                "{said}"
            );
            assert!(said.contains(&format!("Ljung-Box {};", shown(p))), "{said}");
            let worth = 60.0 * (1.0 - r) / (1.0 + r);
            assert!(
                (number_after(&said, "worth ") - worth).abs() < 0.501,
                "{said}"
            );
            assert!(said.contains("60 blocks"), "{said}");
            assert!(said.contains("sign flips only if no run is far"), "{said}");
        }
        near[0] += u32::from((0.009..0.01).contains(&p));
        near[1] += u32::from((0.01..0.011).contains(&p));
    }
    assert!(
        warned > 100 && near.iter().all(|n| *n > 0),
        "{warned} {near:?}"
    );
}

#[test]
fn a_constant_series_has_no_neighbours_to_warn_of() {
    // The mean of ten tenths is rounded: each value seems to be off by the same amount.
    for value in [0.0, 0.1, 1.1, 4_348.0] {
        let values = [value; 10];
        let w = workload(&values, &values, &values);
        assert_eq!(
            of(&w, &[("time", &metric(Kind::Sampled))]),
            Vec::<String>::new()
        );
    }
}

#[test]
fn a_short_series_is_tested_at_one_lag_and_a_longer_one_at_a_fifth_of_its_length() {
    for (n, lags) in [(9, 1), (12, 2), (24, 4), (54, 10), (300, 10)] {
        let mut found = 0;
        for seed in 0..100 {
            let values = noise(seed, n, 0.8);
            if let Some(said) = autocorrelation("time", &numbered(&values)) {
                let p = ljung_box_p(&values, lags).unwrap();
                assert!(
                    said.contains(&format!("Ljung-Box {};", shown(p))),
                    "{n}: {said} {p}"
                );
                found += 1;
            }
        }
        assert!(found > 0, "{n}");
    }
}

#[test]
fn a_drift_is_warned_of_at_one_chance_in_a_hundred_in_per_cent_of_the_level() {
    let (mut warned, mut near) = (0, [0; 2]);
    for seed in 0..4000 {
        let rising = noise(seed, 12, 0.0).into_iter().zip(0..);
        let values: Vec<f64> = rising.map(|(v, i)| v + 0.15 * f64::from(i)).collect();
        let trend = mann_kendall(&values).unwrap();
        let found = drift("time", &numbered(&values));
        assert_eq!(found.is_some(), trend.p < 0.01, "{seed}: {}", trend.p);
        if let Some(said) = found {
            warned += 1;
            let mut slopes = vec![];
            for i in 0..12 {
                slopes.extend((i + 1..12).map(|j| (values[j] - values[i]) / (j - i) as f64));
            }
            slopes.sort_by(f64::total_cmp);
            let slope = f64::midpoint(slopes[32], slopes[33]);
            let mut sorted = values.clone();
            sorted.sort_by(f64::total_cmp);
            let pct = 1100.0 * slope / f64::midpoint(sorted[5], sorted[6]);
            assert!(
                (number_after(&said, "drifted by ") - pct).abs() < 0.0501,
                "{said}"
            );
            assert!(
                said.contains(&format!("Mann-Kendall {})", shown(trend.p))),
                "{said}"
            );
        }
        near[0] += u32::from((0.008..0.01).contains(&trend.p));
        near[1] += u32::from((0.01..0.0112).contains(&trend.p));
    }
    assert!(
        warned > 100 && near.iter().any(|n| *n > 0),
        "{warned} {near:?}"
    );
    // From the first block of the series to its last, wherever it begins.
    let late: Vec<(f64, f64)> = (0_u32..10)
        .map(|i| (f64::from(100 + i), 100.0 + f64::from(i)))
        .collect();
    let said = drift("time", &late).unwrap();
    assert!(
        (number_after(&said, "drifted by ") - 900.0 / 104.5).abs() < 0.0501,
        "{said}"
    );
    // Per cent of nothing: no figure, and no warning.
    let around_zero: Vec<f64> = (-10..=10).map(f64::from).collect();
    assert_eq!(drift("time", &numbered(&around_zero)), None);
}

#[test]
fn a_series_has_eight_blocks_or_more_with_both_values() {
    let values: Vec<f64> = (1..=8).map(f64::from).collect();
    let again: Vec<f64> = values.iter().map(|v| v + 1.0).collect();
    let mut eight = workload(&values, &again, &values);
    let wanted: Vec<(f64, f64)> = (0_u32..8)
        .map(|i| (f64::from(i), f64::from(i) + 1.5))
        .collect();
    assert_eq!(series(&eight, "time"), Some(wanted));
    assert_eq!(series(&eight, "other"), None);
    eight.control.get_mut("time").unwrap().samples[3] = None;
    assert_eq!(series(&eight, "time"), None);
    // Without a control, the baseline alone.
    eight.control.clear();
    assert_eq!(series(&eight, "time").unwrap()[7], (7.0, 8.0));
    eight.arms[0].samples.get_mut("time").unwrap()[0] = Some(f64::INFINITY);
    assert_eq!(series(&eight, "time"), None);
}

#[test]
fn values_far_out_are_counted_for_every_arm_and_the_control() {
    let quiet = [5.0, 5.1, 4.9, 5.2, 4.8, 5.05];
    let mut wild = quiet;
    wild[2] = 500.0;
    let said = far_out(&workload(&wild, &quiet, &wild), "time").unwrap();
    assert!(
        said.contains("(1 of 6 from old, 1 of 6 from new)"),
        "{said}"
    );
    let said = far_out(&workload(&quiet, &wild, &quiet), "time").unwrap();
    assert!(said.contains("(1 of 6 from control)"), "{said}");
    assert_eq!(far_out(&workload(&quiet, &quiet, &quiet), "time"), None);
    // Five values are too few to call one of them far out.
    let five = workload(&wild[..5], &quiet[..5], &quiet[..5]);
    assert_eq!(far_out(&five, "time"), None);
}

#[test]
fn a_value_that_is_missing_is_reported_with_its_arm() {
    let values = [5.0; 6];
    let mut lacking = workload(&values, &values, &values);
    assert_eq!(missing(&lacking, "time"), None);
    lacking.arms[1].samples.get_mut("time").unwrap()[2] = None;
    let said = missing(&lacking, "time").unwrap();
    assert!(said.contains("no value from new in 1 of 6;"), "{said}");
    lacking.control.get_mut("time").unwrap().samples[..2].fill(None);
    let said = missing(&lacking, "time").unwrap();
    assert!(said.contains("new in 1 of 6, control in 2 of 6"), "{said}");
    // An arm that cannot run lacks nothing, and neither does a metric that no arm has.
    lacking.arms[1].na = Some("cannot".to_owned());
    let said = missing(&lacking, "time").unwrap();
    assert!(said.contains("no value from control in 2 of 6;"), "{said}");
    for arm in &mut lacking.arms {
        arm.samples.clear();
    }
    assert_eq!(missing(&lacking, "time"), None);
}

#[test]
fn counts_without_a_comparison_are_told_to_be_counted_again() {
    let mut counted = workload(&[5.0, 6.0], &[], &[5.0, 6.0, 7.0]);
    counted.control.clear();
    let exact = metric(Kind::Exact);
    // A comparison of another arm or metric matches nothing.
    let metrics: BTreeMap<String, Metric> = ["time", "calls"]
        .map(|name| (name.to_owned(), metric(Kind::Exact)))
        .into();
    let order = ["calls", "time"].map(str::to_owned);
    for arm in &mut counted.arms {
        arm.samples.insert("calls".to_owned(), vec![Some(4.0)]);
    }
    judge(&mut counted, &metrics, &order, None);
    assert_eq!(counted.comparisons.len(), 1);
    assert_eq!(of(&counted, &[("calls", &exact)]), Vec::<String>::new());
    counted.warnings.clear();
    let said = of(&counted, &[("calls", &exact), ("time", &exact)]);
    assert_eq!(said.len(), 1);
    assert!(said[0].starts_with("time: old and new have no values for the same inputs"));
    for edit in [
        |w: &mut WorkloadResult| w.arms[1].na = Some("cannot".to_owned()),
        |w: &mut WorkloadResult| w.arms[0].na = Some("cannot".to_owned()),
        |w: &mut WorkloadResult| w.arms[1].samples.clear(),
        |w: &mut WorkloadResult| {
            w.arms[1].samples.get_mut("time").unwrap().fill(None);
        },
    ] {
        let mut other = counted.clone();
        edit(&mut other);
        assert_eq!(of(&other, &[("time", &exact)]), Vec::<String>::new());
    }
}

#[test]
fn a_failed_control_is_reported_with_its_floor() {
    let values = [5.0; 6];
    let mut failed = workload(&values, &values, &values);
    assert_eq!(control_failed(&failed, "time"), None);
    let control = failed.control.get_mut("time").unwrap();
    (control.floor_pct, control.failed) = (Some(2.345), true);
    let said = control_failed(&failed, "time").unwrap();
    assert!(said.contains("differs from itself by up to 2.35 %") || said.contains("2.34 %"));
}

#[test]
fn few_blocks_with_a_wide_spread_that_decide_narrowly_are_warned_of() {
    let judged = |blocks: usize, spread: f64, level: f64| {
        let around = |level: f64, turn: usize| -> Vec<f64> {
            let off = [0.5, -1.2, 0.9, 1.1, -0.8, -0.5, 0.2, -0.2, 0.4];
            (0..blocks)
                .map(|i| level * (1.0 + spread / 100.0 * off[(i * turn) % off.len()]))
                .collect()
        };
        let mut judged = workload(&around(100.0, 1), &around(100.0, 2), &around(level, 4));
        let metrics = [("time".to_owned(), metric(Kind::Sampled))].into();
        judge(&mut judged, &metrics, &["time".to_owned()], None);
        judged
    };
    let narrow = judged(6, 5.0, 105.0);
    let found = &narrow.comparisons[0];
    let p = found.paired.unwrap().p;
    assert_eq!(found.verdict, Verdict::Revert, "{found:?}");
    assert!((0.01..0.05).contains(&p), "{p}");
    let said = few_blocks(&narrow, "time").unwrap();
    assert!(said.contains("6 blocks decided narrowly") && said.contains("--blocks 10"));
    assert!(narrow.warnings.contains(&said));
    assert_eq!(few_blocks(&narrow, "faults"), None);
    // Far apart, quiet, open, or from more blocks.
    let edited = |edit: fn(&mut WorkloadResult)| {
        let mut other = narrow.clone();
        edit(&mut other);
        few_blocks(&other, "time")
    };
    assert_eq!(few_blocks(&judged(6, 5.0, 150.0), "time"), None);
    assert_eq!(
        edited(|w| w.comparisons[0].verdict = Verdict::Equivalent),
        None
    );
    assert!(edited(|w| w.comparisons[0].n = 9).is_some());
    assert_eq!(edited(|w| w.comparisons[0].n = 10), None);
    let spread = |cv_pct| {
        move |w: &mut WorkloadResult| {
            for arm in &mut w.arms {
                arm.summary.get_mut("time").unwrap().cv_pct = Some(1.0);
            }
            w.arms[1].summary.get_mut("time").unwrap().cv_pct = Some(cv_pct);
        }
    };
    for (cv_pct, warned) in [(3.0, false), (3.01, true)] {
        let mut other = narrow.clone();
        spread(cv_pct)(&mut other);
        assert_eq!(few_blocks(&other, "time").is_some(), warned, "{cv_pct}");
    }
}
