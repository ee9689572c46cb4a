//! The parts of a simulation, each against a result that is known without it.

use std::collections::BTreeMap;

use serde_json::json;

use super::{
    Cell, Disturbance, Schedule, Tally, first_blocks, metrics, order, simulate, until_certain,
    workload,
};
use crate::judge::judge;
use crate::random::Random;
use crate::stopping::STOPPING;
use crate::value::{Better, CONTROL, Comparison, Control, Kind, Verdict};

const SEED: u64 = 3;

/// The noise of `n` samples, always from the same random numbers.
fn noise(disturbance: Disturbance, n: usize, seed: u64) -> Vec<f64> {
    let noise = disturbance.noise(n, &mut Random::new(seed));
    assert_eq!(noise.len(), n);
    noise
}

/// Mean, variance, and correlation of neighbours.
fn moments(values: &[f64]) -> [f64; 3] {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let about = |v: &f64| v - mean;
    let variance = values.iter().map(|v| about(v).powi(2)).sum::<f64>() / n;
    let pairs = values.windows(2).map(|two| about(&two[0]) * about(&two[1]));
    [mean, variance, pairs.sum::<f64>() / n / variance]
}

#[test]
fn noise_without_a_disturbance_is_independent_and_standard_normal() {
    let [mean, variance, lag1] = moments(&noise(Disturbance::None, 40_000, SEED));
    assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.03 && lag1.abs() < 0.02);
}

#[test]
fn a_linear_drift_adds_two_deviations_from_the_first_sample_to_the_last() {
    let quiet = noise(Disturbance::None, 21, SEED);
    for (i, (drifting, quiet)) in (0..).zip(noise(Disturbance::Linear, 21, SEED).iter().zip(quiet))
    {
        assert!((drifting - quiet - 0.1 * f64::from(i)).abs() < 1e-12, "{i}");
    }
}

#[test]
fn a_step_adds_one_and_a_half_deviations_from_a_random_moment_on() {
    let mut moments = [0; 5];
    for seed in 0..500 {
        let quiet = noise(Disturbance::None, 5, seed);
        let stepped = noise(Disturbance::Step, 5, seed);
        let added: Vec<f64> = stepped.iter().zip(quiet).map(|(s, q)| s - q).collect();
        let moment = added.iter().position(|added| *added > 0.0).unwrap();
        for (i, added) in added.iter().enumerate() {
            let wanted = if i < moment { 0.0 } else { 1.5 };
            assert!((added - wanted).abs() < 1e-12, "{seed} {i}");
        }
        moments[moment] += 1;
    }
    // A hundred each, with a deviation of nine.
    assert!(moments.iter().all(|n| (60..140).contains(n)), "{moments:?}");
}

#[test]
fn correlated_noise_keeps_four_fifths_of_its_last_value_and_a_deviation_of_one() {
    let quiet = noise(Disturbance::None, 30, SEED);
    let correlated = noise(Disturbance::Ar1, 30, SEED);
    for i in 1..30 {
        let kept = correlated[i] - 0.6 * quiet[i];
        assert!((kept - 0.8 * correlated[i - 1]).abs() < 1e-12, "{i}");
    }
    // The first value is as wide as the rest.
    let first: Vec<f64> = (0..4000)
        .map(|seed| noise(Disturbance::Ar1, 1, seed)[0])
        .collect();
    assert!(
        (moments(&first)[1] - 1.0).abs() < 0.1,
        "{:?}",
        moments(&first)
    );
}

#[test]
fn one_sample_in_ten_has_a_spike_of_five_deviations() {
    let [mean, variance, lag1] = moments(&noise(Disturbance::Spikes, 200_000, SEED));
    // A tenth of an exponential variable with mean 5, whose square has mean 50.
    assert!((mean - 0.5).abs() < 0.025, "{mean}");
    assert!((variance - (1.0 + 5.0 - 0.25)).abs() < 0.25, "{variance}");
    assert!(lag1.abs() < 0.01, "{lag1}");
}

#[test]
fn a_block_has_every_runner_once_in_any_order_and_groups_run_one_after_the_other() {
    let blocks = Cell {
        arms: 2,
        ..Cell::quiet(2000)
    };
    let order_of = |schedule| order(&Cell { schedule, ..blocks }, &mut Random::new(SEED));
    let mut first = [0; 4];
    for block in order_of(Schedule::Blocks).chunks(4) {
        let mut sorted = block.to_vec();
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 1, 2, 3]);
        first[block[0]] += 1;
    }
    // 500 each, with a deviation of 19.
    assert!(first.iter().all(|n| (420..580).contains(n)), "{first:?}");
    let grouped: Vec<usize> = (0..4).flat_map(|runner| [runner; 2000]).collect();
    assert_eq!(order_of(Schedule::Grouped), grouped);
}

#[test]
fn the_first_metric_is_primary_and_all_have_the_margin_of_the_cell() {
    let cell = Cell {
        metrics: 3,
        margin_pct: 2.5,
        ..Cell::quiet(6)
    };
    let (metrics, order) = metrics(&cell);
    assert_eq!(order, ["metric-0", "metric-1", "metric-2"]);
    for (name, metric) in &metrics {
        assert_eq!(metric.primary, name == "metric-0");
        assert_eq!(metric.margin_pct, Some(2.5));
        assert_eq!((metric.better, metric.kind), (Better::Lower, Kind::Sampled));
    }
    assert_eq!(metrics.len(), 3);
}

/// Three arms of two metrics, 25 % faster than the baseline.
fn faster() -> Cell {
    Cell {
        ratio: 0.75,
        arms: 3,
        metrics: 2,
        ..Cell::quiet(4)
    }
}

#[test]
fn without_noise_every_value_is_its_truth() {
    let cell = Cell {
        cv_pct: 0.0,
        ..faster()
    };
    let (_, names) = metrics(&cell);
    let made = workload(&cell, &names, &mut Random::new(SEED));
    assert_eq!(made.blocks, [0, 1, 2, 3]);
    let arms: Vec<&str> = made.arms.iter().map(|arm| arm.name.as_str()).collect();
    assert_eq!(arms, ["arm-0", "arm-1", "arm-2", "arm-3"]);
    for name in &names {
        assert_eq!(made.control[name].samples, [Some(100.0); 4]);
        assert_eq!(made.arms[0].samples[name], [Some(100.0); 4]);
        for arm in &made.arms[1..] {
            assert_eq!(arm.samples[name], [Some(75.0); 4]);
        }
    }
}

#[test]
fn the_noise_follows_the_order_in_which_the_samples_ran() {
    for schedule in [Schedule::Blocks, Schedule::Grouped] {
        let cell = Cell {
            schedule,
            cv_pct: 2.0,
            disturbance: Disturbance::Linear,
            ..faster()
        };
        let (_, names) = metrics(&cell);
        let made = workload(&cell, &names, &mut Random::new(SEED));
        let mut random = Random::new(SEED);
        let ran = order(&cell, &mut random);
        let runners = ["arm-0", CONTROL, "arm-1", "arm-2", "arm-3"];
        let said: Vec<&str> = made.order.iter().flatten().map(String::as_str).collect();
        let wanted: Vec<&str> = ran.iter().map(|runner| runners[*runner]).collect();
        assert_eq!(said, wanted);
        assert_eq!(made.order.len(), 4);
        for name in &names {
            let noise = cell.disturbance.noise(20, &mut random);
            let mut seen = BTreeMap::new();
            for (runner, noise) in said.iter().zip(noise) {
                let place: &mut usize = seen.entry(*runner).or_default();
                let (samples, truth) = match made.arms.iter().find(|arm| arm.name == *runner) {
                    Some(arm) if *runner != "arm-0" => (&arm.samples[name], 75.0),
                    Some(arm) => (&arm.samples[name], 100.0),
                    None => (&made.control[name].samples, 100.0),
                };
                // A deviation of 2 % in the logarithm.
                let found = (samples[*place].unwrap() / truth).ln();
                assert!((found - 0.02 * noise).abs() < 1e-12, "{runner} {place}");
                *place += 1;
            }
        }
    }
}

#[test]
fn the_first_blocks_of_a_run_are_its_first_samples() {
    let cell = faster();
    let (_, names) = metrics(&cell);
    let whole = workload(&cell, &names, &mut Random::new(SEED));
    let part = first_blocks(&whole, 3);
    assert_eq!(
        (&part.blocks[..], &part.order[..]),
        (&whole.blocks[..3], &whole.order[..3])
    );
    for name in &names {
        assert_eq!(part.control[name].samples, whole.control[name].samples[..3]);
        for (part, whole) in part.arms.iter().zip(&whole.arms) {
            assert_eq!(part.samples[name], whole.samples[name][..3]);
        }
    }
}

#[test]
fn a_run_that_may_end_early_ends_at_the_first_look_without_an_open_verdict() {
    let mut ended = BTreeMap::new();
    for seed in 0..40 {
        let cell = Cell {
            ratio: 0.98,
            arms: 2,
            looks: Some(5),
            ..Cell::quiet(30)
        };
        let (metrics, names) = metrics(&cell);
        let whole = workload(&cell, &names, &mut Random::new(seed));
        let judged = until_certain(&whole, 5, &metrics, &names);
        // Looks are at fifths of the plan.
        let open_at = |blocks: usize| {
            let mut part = first_blocks(&whole, blocks);
            let rule = json!({"rule": "early", "planned": 30});
            part.params.insert(STOPPING.to_owned(), rule);
            judge(&mut part, &metrics, &names, None);
            let open = |one: &&Comparison| one.verdict == Verdict::Inconclusive;
            part.comparisons.iter().filter(open).count()
        };
        let certain = [6, 12, 18, 24, 30]
            .into_iter()
            .find(|blocks| open_at(*blocks) == 0);
        assert_eq!(judged.blocks.len(), certain.unwrap_or(30), "{seed}");
        *ended.entry(judged.blocks.len()).or_insert(0) += 1;
        assert_eq!(judged.comparisons.len(), 2);
    }
    assert!(ended.len() >= 3, "{ended:?}");
}

/// The outcomes of 20 runs that can only end in one way.
fn certain(cell: &Cell) -> Tally {
    simulate(cell, 20, SEED)
}

#[test]
fn runs_without_noise_end_as_their_truth_says() {
    let none = Tally {
        runs: 20,
        ..Tally::default()
    };
    for (ratio, wanted) in [
        (
            0.9,
            Tally {
                keep: 20,
                keep_beyond_floor: 20,
                ..none
            },
        ),
        (1.1, Tally { revert: 20, ..none }),
        (
            1.005,
            Tally {
                equivalent: 20,
                ..none
            },
        ),
        (
            0.995,
            Tally {
                equivalent: 20,
                ..none
            },
        ),
    ] {
        for looks in [None, Some(5), Some(10)] {
            let cell = Cell {
                cv_pct: 0.0,
                ratio,
                looks,
                ..Cell::quiet(6)
            };
            assert_eq!(certain(&cell), wanted, "{ratio} {looks:?}");
        }
    }
}

#[test]
fn an_effect_far_beyond_the_noise_is_kept_and_rejected_by_both_tests() {
    for ratio in [0.9, 1.1] {
        let cell = Cell {
            cv_pct: 0.01,
            ratio,
            arms: 2,
            ..Cell::quiet(6)
        };
        let found = certain(&cell);
        assert_eq!((found.keep + found.revert, found.rejected), (20, 20));
        assert_eq!((found.flips_rejected, found.equivalent), (20, 0));
    }
}

#[test]
fn the_control_fails_in_one_run_of_a_hundred() {
    let found = simulate(&Cell::quiet(6), 1000, SEED);
    assert_eq!(found.runs, 1000);
    assert!((1..=25).contains(&found.control_failed), "{found:?}");
}

/// One comparison, and a control, with this outcome.
fn outcome(edit: impl Fn(&mut Comparison, &mut Control)) -> Tally {
    let cell = Cell {
        arms: 2,
        ..Cell::quiet(6)
    };
    let (metrics, names) = metrics(&cell);
    let mut workload = workload(&cell, &names, &mut Random::new(SEED));
    judge(&mut workload, &metrics, &names, None);
    let control = workload.control.get_mut("metric-0").unwrap();
    control.failed = false;
    for one in &mut workload.comparisons {
        (one.verdict, one.ci95_pct, one.sign_flip_p) = (Verdict::Inconclusive, None, None);
    }
    edit(&mut workload.comparisons[1], control);
    let mut tally = Tally::default();
    tally.add(&workload);
    tally
}

#[test]
fn a_run_counts_where_its_interval_leaves_out_zero_and_its_p_is_at_most_a_twentieth() {
    let once = Tally {
        runs: 1,
        ..Tally::default()
    };
    assert_eq!(outcome(|_, _| ()), once);
    for (interval, rejected) in [
        ([0.1, 0.2], 1),
        ([-0.2, -0.1], 1),
        ([-0.1, 0.1], 0),
        ([0.0, 0.1], 0),
        ([-0.1, 0.0], 0),
    ] {
        let found = outcome(|one, _| one.ci95_pct = Some(interval));
        assert_eq!(found, Tally { rejected, ..once }, "{interval:?}");
    }
    for (p, flips_rejected) in [(0.01, 1), (0.05, 1), (0.051, 0), (1.0, 0)] {
        let found = outcome(|one, _| one.sign_flip_p = Some(p));
        assert_eq!(
            found,
            Tally {
                flips_rejected,
                ..once
            },
            "{p}"
        );
    }
    let failed = outcome(|_, control| control.failed = true);
    assert_eq!(
        failed,
        Tally {
            control_failed: 1,
            ..once
        }
    );
    for (verdict, wanted) in [
        // Its effect is above zero here, and so not beyond the floor.
        (Verdict::Keep, Tally { keep: 1, ..once }),
        (Verdict::Revert, Tally { revert: 1, ..once }),
        (
            Verdict::Equivalent,
            Tally {
                equivalent: 1,
                ..once
            },
        ),
    ] {
        assert_eq!(outcome(|one, _| one.verdict = verdict), wanted);
    }
}

#[test]
fn a_keep_is_beyond_the_floor_where_its_whole_interval_is() {
    let kept = |floor_pct, high, adjusted: Option<f64>| {
        let found = outcome(|one, control| {
            one.verdict = Verdict::Keep;
            one.ci95_pct = Some([-60.0, high]);
            one.ci_adj_pct = adjusted.map(|high| [-60.0, high]);
            control.floor_pct = floor_pct;
        });
        assert_eq!(found.keep, 1);
        found.keep_beyond_floor
    };
    // Twice as much and half as much are as far from no effect.
    assert_eq!(kept(Some(100.0), -50.01, None), 1);
    assert_eq!(kept(Some(100.0), -49.99, None), 0);
    assert_eq!(kept(Some(100.0), -50.01, Some(-49.99)), 0);
    assert_eq!(kept(None, -50.01, None), 0);
    let open = outcome(|one, control| {
        one.ci95_pct = Some([-60.0, -50.01]);
        control.floor_pct = Some(100.0);
    });
    assert_eq!(open.keep_beyond_floor, 0);
}

#[test]
fn two_arms_with_one_outcome_are_one_run_with_it() {
    let cell = Cell {
        cv_pct: 0.0,
        ratio: 0.9,
        arms: 3,
        ..Cell::quiet(6)
    };
    let found = certain(&cell);
    assert_eq!((found.runs, found.keep), (20, 20));
    let quarter = Tally {
        runs: 4,
        ..Tally::default()
    };
    assert_eq!(
        [quarter.share(0), quarter.share(1), quarter.share(4)],
        [0.0, 0.25, 1.0]
    );
}
