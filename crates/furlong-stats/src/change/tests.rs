//! Changes of series that were made with them, and each step of the search by its definition.

use super::{
    Change, SEGMENT_MIN, best_split, changes, changes_except, changes_within, f_to_p, p_max, p_of,
    settle, slope_p,
};
use crate::describe::Moments;
use crate::distribution::t_two_sided;
use crate::random::Random;
use crate::simulation;
use crate::student::Pooled;

/// Ten series with their true changes, and the changes found by another implementation of the
/// statistic, with permutations. The file has its name and version.
const VECTORS: &str = include_str!("../../tests/vectors/change-points.json");

/// Mean distance over all pairs of one value from each side.
fn apart(left: &[f64], right: &[f64]) -> f64 {
    let pairs = left
        .iter()
        .flat_map(|l| right.iter().map(move |r| (l - r).abs()));
    pairs.sum::<f64>() / (left.len() * right.len()) as f64
}

#[test]
fn the_best_split_is_where_the_energy_statistic_is_greatest_by_its_definition() {
    let energy = |values: &[f64], at: usize| {
        let (left, right) = values.split_at(at);
        let (m, n) = (left.len() as f64, right.len() as f64);
        // The pairs within a side do not include a value with itself.
        let within = |side: &[f64], n: f64| apart(side, side) * n / (n - 1.0);
        let between = 2.0 * apart(left, right) - within(left, m) - within(right, n);
        m * n / (m + n) * between
    };
    for seed in 0..60 {
        let values = series(seed, 12 + seed as usize % 9, |at| {
            step(at, 7, seed as f64 / 30.0)
        });
        let all = SEGMENT_MIN..=values.len() - SEGMENT_MIN;
        let greatest = all.max_by(|a, b| energy(&values, *a).total_cmp(&energy(&values, *b)));
        assert_eq!(best_split(&values), greatest, "{seed}");
    }
}

/// Normal noise with deviation 1 around 100, plus `shape` at each index.
fn series(seed: u64, n: usize, shape: impl Fn(usize) -> f64) -> Vec<f64> {
    let mut random = Random::new(seed);
    (0..n)
        .map(|at| 100.0 + random.normal() + shape(at))
        .collect()
}

/// Noise of unit variance whose neighbours have the correlation `lag1`.
fn correlated(seed: u64, n: usize, lag1: f64) -> Vec<f64> {
    let mut random = Random::new(seed);
    let mut next = simulation::correlated(lag1, &mut random);
    (0..n).map(|_| next(&mut random)).collect()
}

fn step(at: usize, from: usize, height: f64) -> f64 {
    if at >= from { height } else { 0.0 }
}

fn drift(at: usize, total: f64) -> f64 {
    total * at as f64 / 60.0
}

fn outlier(at: usize, places: &[usize]) -> f64 {
    if places.contains(&at) { 12.0 } else { 0.0 }
}

/// The values, with `deviation` times the noise from index `from` on.
fn noisier(values: Vec<f64>, from: usize, deviation: f64) -> Vec<f64> {
    let wide = |(at, value): (usize, f64)| match at >= from {
        true => 100.0 + deviation * (value - 100.0),
        false => value,
    };
    values.into_iter().enumerate().map(wide).collect()
}

/// Ten series, each with the indices of its level changes.
fn ten(seed: u64) -> [(&'static str, Vec<f64>, &'static [usize]); 10] {
    let s = |place: u64, n, shape: &dyn Fn(usize) -> f64| series(10 * seed + place, n, shape);
    [
        ("a step", s(0, 60, &|at| step(at, 30, 5.0)), &[30]),
        ("a late step", s(1, 60, &|at| step(at, 54, 6.0)), &[54]),
        (
            "up and down",
            s(2, 60, &|at| step(at, 20, 6.0) - step(at, 40, 6.0)),
            &[20, 40],
        ),
        (
            "a staircase",
            s(3, 80, &|at| {
                step(at, 20, 5.0) + step(at, 40, 5.0) + step(at, 60, 5.0)
            }),
            &[20, 40, 60],
        ),
        (
            "drift and a step",
            s(4, 60, &|at| drift(at, 2.0) + step(at, 35, 7.0)),
            &[35],
        ),
        (
            "drift and steps",
            s(5, 60, &|at| {
                drift(at, -2.0) + step(at, 20, 7.0) - step(at, 42, 7.0)
            }),
            &[20, 42],
        ),
        ("a drift alone", s(6, 60, &|at| drift(at, 8.0)), &[]),
        (
            "outliers alone",
            s(7, 60, &|at| outlier(at, &[9, 31, 52])),
            &[],
        ),
        (
            "noisier from half",
            noisier(s(8, 60, &|_| 0.0), 30, 4.0),
            &[],
        ),
        (
            "noisier and a step",
            noisier(s(9, 60, &|at| step(at, 30, 5.0)), 30, 2.0),
            &[30],
        ),
    ]
}

fn places(found: &[Change]) -> Vec<usize> {
    found.iter().map(|change| change.at).collect()
}

#[test]
fn ten_series_change_where_they_were_made_to() {
    for (name, values, wanted) in ten(1) {
        let found = places(&changes(&values));
        let near = |(found, wanted): (&usize, &usize)| found.abs_diff(*wanted) <= 1;
        assert!(
            found.len() == wanted.len() && found.iter().zip(wanted).all(near),
            "{name}: {found:?}, not {wanted:?}"
        );
    }
}

#[test]
fn white_noise_changes_in_one_series_of_a_hundred_at_most() {
    for n in [10, 20, 50, 100, 500] {
        let noisy = (0..2000).filter(|seed| !changes(&series(*seed, n, |_| 0.0)).is_empty());
        let share = noisy.count() as f64 / 2000.0;
        // Three standard errors of 2,000 series above 1 %.
        assert!(share < 0.0167, "{n} values: {share}");
    }
}

#[test]
fn what_another_program_found_is_found() {
    let vectors: serde_json::Value = serde_json::from_str(VECTORS).unwrap();
    for series in vectors["series"].as_array().unwrap() {
        let numbers = |name: &str| series[name].as_array().unwrap().iter();
        let values: Vec<f64> = numbers("values").map(|v| v.as_f64().unwrap()).collect();
        let made: Vec<u64> = numbers("made").map(|v| v.as_u64().unwrap()).collect();
        let package: Vec<u64> = numbers("package").map(|v| v.as_u64().unwrap()).collect();
        let found = places(&changes(&values));
        // The other program is once off by two.
        for (wanted, within) in [(made, 1), (package, 2)] {
            let near =
                |(found, wanted): (&usize, &u64)| (*found as u64).abs_diff(*wanted) <= within;
            assert!(
                found.len() == wanted.len() && found.iter().zip(&wanted).all(near),
                "{}: {found:?}, not {wanted:?}",
                series["name"]
            );
        }
    }
}

#[test]
fn a_change_has_its_levels() {
    let values = [5.0, 5.0, 5.0, 5.0, 4.0, 4.0, 4.0];
    let found = changes(&values);
    let wanted = Change {
        at: 4,
        before: 5.0,
        after: 4.0,
        p: 0.0,
    };
    assert_eq!(found, [wanted]);
    assert!(changes(&[5.0; 40]).is_empty());
    assert!(
        changes(&[1.0, 1.0, 9.0, 9.0]).is_empty(),
        "two values are no level"
    );
    assert!(changes(&[]).is_empty());
    assert!(p_max(50) < 0.05);
}

#[test]
fn levels_are_the_means_between_neighbouring_changes() {
    let level = |to: f64| [to + 0.3, to - 0.1, to, to - 0.2, to + 0.1, to - 0.1, to];
    let values: Vec<f64> = [10.0, 30.0, 20.0].into_iter().flat_map(level).collect();
    let found = changes(&values);
    assert_eq!(places(&found), [7, 14]);
    let mean = |part: &[f64]| part.iter().sum::<f64>() / 7.0;
    for (change, at) in found.iter().zip([7, 14]) {
        assert!((change.before - mean(&values[at - 7..at])).abs() < 1e-12);
        assert!((change.after - mean(&values[at..at + 7])).abs() < 1e-12);
    }
}

#[test]
fn a_dismissed_change_is_not_found_and_its_levels_are_joined() {
    let level = |to: f64| [to + 0.3, to - 0.1, to, to - 0.2, to + 0.1, to - 0.1, to];
    let values: Vec<f64> = [10.0, 30.0, 20.0].into_iter().flat_map(level).collect();
    let both = changes(&values);
    assert_eq!(changes_except(&values, []), both);
    // The change at 7, and none: that at 14 is three places from 11 and from 17.
    for dismissed in [5, 7, 9] {
        let found = changes_except(&values, [dismissed, 11, 17]);
        assert_eq!(places(&found), [14], "{dismissed}");
        assert!((found[0].before - 20.0).abs() < 1e-12);
        assert_eq!((found[0].after, found[0].p), (both[1].after, both[1].p));
    }
    assert_eq!(places(&changes_except(&values, [4, 10])), [7, 14]);
    assert!(changes_except(&values, [14, 7]).is_empty());
}

#[test]
fn of_equal_splits_the_first_is_taken() {
    assert_eq!(best_split(&[5.0; 12]), Some(SEGMENT_MIN));
    assert_eq!(best_split(&[5.0; 6]), Some(3));
    assert_eq!(best_split(&[5.0; 5]), None);
}

#[test]
fn a_step_that_a_slope_explains_has_a_p_of_one() {
    let line: Vec<f64> = (0..30).map(f64::from).collect();
    let found = changes_within(&line, 1.0);
    assert!(!found.is_empty());
    assert!(found.iter().all(|change| change.p == 1.0), "{found:?}");
    assert_eq!(f_to_p(1.0, &[1.0, -1.0], 5), 1.0);
    assert_eq!(f_to_p(2.0, &[1.0, -1.0], 5), 1.0);
    // t is the root of (3 - 1) / (1 / 2) = 4; with two degrees p is 1 - 2 / sqrt(6).
    let rest = [0.5, -0.5, 0.5, -0.5];
    assert!((f_to_p(3.0, &rest, 2) - (1.0 - 2.0 / 6.0_f64.sqrt())).abs() < 1e-12);
}

#[test]
fn values_like_their_neighbours_count_as_fewer() {
    // The correlation of neighbours is 1 / 4: three in five values are independent.
    let rest = [0.5, 0.5, -0.5, -0.5];
    let t = (0.6_f64 * 4.0).sqrt();
    assert!((f_to_p(3.0, &rest, 2) - t_two_sided(t, 2.0)).abs() < 1e-12);
}

#[test]
fn autocorrelated_noise_seldom_changes_and_its_steps_are_found() {
    let shares = [0.0, 8.0].map(|height| {
        let found = (0..500).filter(|seed| {
            let noise = correlated(*seed, 100, 0.6).into_iter().enumerate();
            let values: Vec<f64> = noise.map(|(at, v)| v + step(at, 60, height)).collect();
            !changes(&values).is_empty()
        });
        found.count() as f64 / 500.0
    });
    // Three standard errors of 500 series around 4 %. Without regard to neighbours it is 45 %.
    assert!(shares[0] < 0.066 && shares[1] > 0.95, "{shares:?}");
}

#[test]
fn a_level_has_three_values_on_either_side() {
    for (values, at) in [
        ([1.0, 1.0, 1.0, 9.0, 9.0, 9.0, 9.0, 9.0], 3),
        ([1.0, 1.0, 1.0, 1.0, 1.0, 9.0, 9.0, 9.0], 5),
    ] {
        assert_eq!(places(&changes(&values)), [at]);
    }
    // The best place would leave two values, so the split stays where three are left.
    for (values, from, to) in [
        ([1.0, 1.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0], 4, 3),
        ([9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 1.0, 1.0], 4, 5),
    ] {
        let mut splits = [from];
        settle(&values, &mut splits);
        assert_eq!(splits, [to]);
    }
}

#[test]
fn a_single_change_has_the_p_of_students_test() {
    let values = [5.0, 5.2, 4.9, 5.1, 9.0, 9.3, 8.8, 9.1, 9.2];
    let found = changes_within(&values, 0.5);
    assert_eq!(places(&found), [4]);
    let [a, b] = [&values[..4], &values[4..]].map(|part| Moments::of(part).unwrap());
    let wanted = Pooled::from_moments(a, b).test().unwrap().p;
    assert!(
        (found[0].p / wanted - 1.0).abs() < 1e-6,
        "{found:?} {wanted}"
    );
}

#[test]
fn a_step_beside_a_slope_is_tested_against_the_line_alone() {
    let (left, right) = ([1.0, 2.5, 2.0], [7.0, 9.5, 9.0, 11.5, 12.0]);
    let all: Vec<f64> = left.iter().chain(&right).copied().collect();
    // Squares and products around the mean of a part that begins at a place.
    let sums = |part: &[f64], from: usize| {
        let n = part.len() as f64;
        let places = (from..from + part.len()).map(|place| place as f64);
        let (x, y) = (
            places.clone().sum::<f64>() / n,
            part.iter().sum::<f64>() / n,
        );
        let about = || {
            places
                .clone()
                .map(|p| p - x)
                .zip(part.iter().map(|v| v - y))
        };
        [
            about().map(|(p, _)| p * p).sum::<f64>(),
            about().map(|(p, v)| p * v).sum(),
            about().map(|(_, v)| v * v).sum(),
        ]
    };
    let rest = |[along, across, values]: [f64; 3]| values - across * across / along;
    let (a, b) = (sums(&left, 0), sums(&right, 3));
    let with_step = rest([a[0] + b[0], a[1] + b[1], a[2] + b[2]]);
    let f = (rest(sums(&all, 0)) - with_step) / (with_step / 5.0);
    let wanted = t_two_sided(f.sqrt(), 5.0);
    assert!(wanted < 0.2, "{wanted}");
    assert!((slope_p(&left, &right) / wanted - 1.0).abs() < 1e-9);
}

#[test]
fn the_bound_is_two_per_cent_over_the_length_of_the_series() {
    assert_eq!([p_max(1), p_max(50), p_max(200)], [0.02, 0.0004, 0.0001]);
}

#[test]
fn levels_that_are_equal_or_of_one_value_have_a_p_of_one() {
    assert_eq!(p_of(&[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0]), 1.0);
    assert_eq!(p_of(&[1.0], &[3.0, 2.0, 1.0]), 1.0);
    assert_eq!(p_of(&[2.0; 3], &[1.0; 3]), 0.0);
}

#[test]
fn a_change_is_tested_beside_its_neighbours_and_not_beside_theirs() {
    let noise = [0.1, -0.3, 0.2, 0.4, -0.1, -0.2, 0.3, -0.4];
    let values: Vec<f64> = (0..40)
        .map(|i| f64::from(i / 8) * 0.4 + noise[(i * 3 % 8) as usize])
        .collect();
    let splits = [8, 16, 24, 32];
    let p = |values: &[f64], place| Change::between(values, &splits, place).p;
    let wild = |places: std::ops::Range<usize>| {
        let mut wild = values.clone();
        for (i, value) in wild[places].iter_mut().enumerate() {
            *value += if i % 2 == 0 { 9.0 } else { -9.0 };
        }
        wild
    };
    // Two levels on either side count.
    assert_eq!(p(&wild(0..16), 3), p(&values, 3));
    assert_ne!(p(&wild(16..24), 3), p(&values, 3));
    assert_eq!(p(&wild(24..40), 0), p(&values, 0));
    assert_ne!(p(&wild(16..24), 0), p(&values, 0));
}
