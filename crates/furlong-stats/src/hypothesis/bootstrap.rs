//! Bootstrap: intervals for statistics that have no formula, such as a ratio of medians.
//!
//! Processes are resampled, never iterations within one: those are not independent.
#![forbid(unsafe_code)]

use crate::describe::{mean, median};
use crate::distribution::{normal_quantile, normal_sf};
use crate::outliers::quantile_sorted;
use crate::random::Random;

/// Fewest values of a sample: with fewer, resamples say too little about the tails.
pub const VALUES_MIN: usize = 8;

/// Resamples drawn.
const RESAMPLES: usize = 10_000;

/// Interval of the median of `b` over that of `a` at a level such as 0.95; the arms are resampled
/// independently.
///
/// Bias-corrected and accelerated. `None` with fewer than [`VALUES_MIN`] values in either, or if a
/// median of zero leaves no ratio.
///
/// # Cost
/// That of sorting both samples 10,000 times.
pub fn ratio_of_medians(a: &[f64], b: &[f64], level: f64, seed: u64) -> Option<[f64; 2]> {
    let mut random = Random::new(seed);
    let ratio = |a: &[f64], b: &[f64]| median(b) / median(a);
    let resample = |random: &mut Random| ratio(&drawn(a, random), &drawn(b, random));
    let mut without = vec![];
    without.extend((0..a.len()).map(|i| ratio(&left_out(a, i), b)));
    without.extend((0..b.len()).map(|i| ratio(a, &left_out(b, i))));
    let enough = a.len().min(b.len()) >= VALUES_MIN;
    let found = (0..RESAMPLES).map(|_| resample(&mut random));
    enough
        .then(|| interval(ratio(a, b), found.collect(), &without, level))
        .flatten()
}

/// The same for paired samples, one of each per block: blocks are resampled whole.
pub fn paired_ratio_of_medians(a: &[f64], b: &[f64], level: f64, seed: u64) -> Option<[f64; 2]> {
    if a.len() != b.len() || a.len() < VALUES_MIN {
        return None;
    }
    let mut random = Random::new(seed);
    let of = |blocks: &[usize]| {
        let [a, b] = [a, b].map(|v| median(&blocks.iter().map(|&i| v[i]).collect::<Vec<_>>()));
        b / a
    };
    let all: Vec<usize> = (0..a.len()).collect();
    let without: Vec<f64> = all
        .iter()
        .map(|i| of(&[&all[..*i], &all[i + 1..]].concat()))
        .collect();
    let found = (0..RESAMPLES).map(|_| {
        of(&all
            .iter()
            .map(|_| random.below(all.len()))
            .collect::<Vec<_>>())
    });
    interval(of(&all), found.collect(), &without, level)
}

fn drawn(values: &[f64], random: &mut Random) -> Vec<f64> {
    values
        .iter()
        .map(|_| values[random.below(values.len())])
        .collect()
}

fn left_out(values: &[f64], i: usize) -> Vec<f64> {
    [&values[..i], &values[i + 1..]].concat()
}

/// Efron's interval from the estimate, its resamples, and the estimates without each process.
fn interval(
    estimate: f64,
    mut resamples: Vec<f64>,
    without: &[f64],
    level: f64,
) -> Option<[f64; 2]> {
    if !estimate.is_finite() || resamples.iter().chain(without).any(|v| !v.is_finite()) {
        return None;
    }
    resamples.sort_by(f64::total_cmp);
    // Ties count half: resamples often have the same median.
    let below = resamples.partition_point(|&v| v < estimate);
    let up_to = resamples.partition_point(|&v| v <= estimate);
    let share = (below + up_to) as f64 / (2.0 * resamples.len() as f64);
    let bias = normal_quantile(share);
    let acceleration = acceleration(without);
    let tail = (1.0 - level) / 2.0;
    let ends = [tail, 1.0 - tail].map(|p| {
        if !bias.is_finite() {
            return quantile_sorted(&resamples, p);
        }
        let z = bias + normal_quantile(p);
        let moved = bias + z / (1.0 - acceleration * z);
        quantile_sorted(&resamples, 1.0 - normal_sf(moved))
    });
    Some(ends)
}

/// Skewness of the estimates without each process, over six.
fn acceleration(without: &[f64]) -> f64 {
    let centre = mean(without);
    let sum = |power: i32| {
        without
            .iter()
            .map(|v| (centre - v).powi(power))
            .sum::<f64>()
    };
    let found = sum(3) / (6.0 * sum(2).powf(1.5));
    if found.is_finite() { found } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::{acceleration, interval, paired_ratio_of_medians, ratio_of_medians};
    use crate::describe::median;
    use crate::distribution::{normal_quantile, normal_sf};
    use crate::outliers::quantile_sorted;
    use crate::random::Random;

    #[test]
    fn fewer_than_eight_values_are_refused() {
        let (seven, eight) = ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], [1.0; 8]);
        assert_eq!(ratio_of_medians(&seven, &eight, 0.95, 1), None);
        assert_eq!(ratio_of_medians(&eight, &seven, 0.95, 1), None);
        assert_eq!(paired_ratio_of_medians(&seven, &seven, 0.95, 1), None);
        assert_eq!(ratio_of_medians(&[0.0; 8], &eight, 0.95, 1), None);
        assert_eq!(ratio_of_medians(&eight, &eight, 0.95, 1), Some([1.0, 1.0]));
    }

    #[test]
    fn the_ends_are_those_of_efrons_formula() {
        // Deviations 1, 1, 1 and -3: cubes sum to -24, squares to 12.
        let without = [1.0, 1.0, 1.0, 5.0];
        let skewed = -24.0 / (6.0 * 12.0_f64.powf(1.5));
        assert!((acceleration(&without) - skewed).abs() < 1e-12);
        assert_eq!(acceleration(&[2.0; 4]), 0.0);
        // A share q of the numbers from 0 to 1000 is below 1000 q.
        let resamples: Vec<f64> = (0..=1000).map(f64::from).collect();
        let found = interval(600.5, resamples, &without, 0.9).unwrap();
        let bias = normal_quantile(601.0 / 1001.0);
        for (end, p) in found.into_iter().zip([0.05, 0.95]) {
            let z = bias + normal_quantile(p);
            let wanted = 1000.0 * (1.0 - normal_sf(bias + z / (1.0 - skewed * z)));
            assert!((end - wanted).abs() < 1e-6, "{end} is not {wanted}");
        }
    }

    #[test]
    fn the_interval_holds_the_truth_about_as_often_as_it_says() {
        let mut random = Random::new(4);
        let (mut apart, mut together) = (0, 0);
        let runs = 40;
        for seed in 0..runs {
            let draw = |random: &mut Random, to: f64| -> Vec<f64> {
                (0..25)
                    .map(|_| to * (0.1 * random.normal()).exp())
                    .collect()
            };
            let (a, b) = (draw(&mut random, 1.0), draw(&mut random, 1.3));
            let holds = |found: Option<[f64; 2]>| {
                let [low, high] = found.unwrap();
                u32::from(low <= 1.3 && 1.3 <= high)
            };
            apart += holds(ratio_of_medians(&a, &b, 0.9, seed));
            together += holds(paired_ratio_of_medians(&a, &b, 0.9, seed));
        }
        assert!(
            (29..40).contains(&apart) && (29..40).contains(&together),
            "{apart} {together}"
        );
    }

    #[test]
    fn pairs_that_move_together_have_a_narrow_interval() {
        let mut random = Random::new(5);
        let a: Vec<f64> = (0..20).map(|_| 10.0 + random.normal()).collect();
        let b: Vec<f64> = a.iter().map(|v| 1.2 * v).collect();
        let [low, high] = paired_ratio_of_medians(&a, &b, 0.95, 1).unwrap();
        assert!(high - low < 1e-9 && (low - 1.2).abs() < 1e-9);
        let [low, high] = ratio_of_medians(&a, &b, 0.95, 1).unwrap();
        assert!(high - low > 0.05, "{low} {high}");
        assert_eq!(
            ratio_of_medians(&a, &b, 0.95, 7),
            ratio_of_medians(&a, &b, 0.95, 7)
        );
    }

    #[test]
    fn both_forms_leave_out_every_value_once_and_draw_each_sample_from_itself() {
        let a = [9.0, 10.0, 10.5, 11.0, 12.0, 13.5, 16.0, 21.0];
        let b = [4.0, 5.5, 6.0, 6.2, 7.0, 9.0, 14.0, 30.0, 31.0];
        let of = |a: &[f64], b: &[f64]| median(b) / median(a);
        let without = |v: &[f64], i: usize| {
            let rest = v.iter().enumerate().filter(|(at, _)| *at != i);
            rest.map(|(_, v)| *v).collect::<Vec<f64>>()
        };
        let mut random = Random::new(3);
        let mut draw =
            |v: &[f64]| -> Vec<f64> { v.iter().map(|_| v[random.below(v.len())]).collect() };
        let resamples: Vec<f64> = (0..10_000).map(|_| of(&draw(&a), &draw(&b))).collect();
        let mut left: Vec<f64> = (0..8).map(|i| of(&without(&a, i), &b)).collect();
        left.extend((0..9).map(|i| of(&a, &without(&b, i))));
        let wanted = interval(of(&a, &b), resamples, &left, 0.9);
        assert_eq!(ratio_of_medians(&a, &b, 0.9, 3), wanted);

        let b = &b[..8];
        let mut random = Random::new(3);
        let pairs: Vec<f64> = (0..10_000)
            .map(|_| {
                let (a, b): (Vec<f64>, Vec<f64>) = (0..8)
                    .map(|_| random.below(8))
                    .map(|i| (a[i], b[i]))
                    .unzip();
                of(&a, &b)
            })
            .collect();
        let left: Vec<f64> = (0..8)
            .map(|i| of(&without(&a, i), &without(b, i)))
            .collect();
        let wanted = interval(of(&a, b), pairs, &left, 0.9);
        assert_eq!(paired_ratio_of_medians(&a, b, 0.9, 3), wanted);
    }

    #[test]
    fn ten_thousand_resamples_of_pairs_make_the_interval() {
        let mut random = Random::new(8);
        let mut values = |level: f64| -> Vec<f64> {
            let noise = (0..25).map(|_| level + random.normal());
            noise.collect()
        };
        let (a, b) = (values(10.0), values(12.0));
        let of = |blocks: &[usize]| {
            let chosen = |v: &[f64]| blocks.iter().map(|&i| v[i]).collect::<Vec<f64>>();
            median(&chosen(&b)) / median(&chosen(&a))
        };
        let mut random = Random::new(9);
        let resamples = (0..10_000).map(|_| {
            let blocks: Vec<usize> = (0..25).map(|_| random.below(25)).collect();
            of(&blocks)
        });
        let resamples: Vec<f64> = resamples.collect();
        let rest = |left: usize| (0..25).filter(|i| *i != left).collect::<Vec<usize>>();
        let without: Vec<f64> = (0..25).map(|left| of(&rest(left))).collect();
        let all: Vec<usize> = (0..25).collect();
        let wanted = interval(of(&all), resamples, &without, 0.9);
        assert_eq!(paired_ratio_of_medians(&a, &b, 0.9, 9), wanted);
    }

    #[test]
    fn resamples_that_equal_the_estimate_count_half_below_it() {
        let resamples: Vec<f64> = [1.0, 1.5, 1.8, 2.0, 2.0, 2.0, 2.0, 2.2, 2.5, 3.0].to_vec();
        let [low, high] = interval(2.0, resamples.clone(), &[2.0; 4], 0.8).unwrap();
        // As many are below as above, so that nothing is corrected.
        assert!(
            (low - quantile_sorted(&resamples, 0.1)).abs() < 1e-9,
            "{low}"
        );
        assert!(
            (high - quantile_sorted(&resamples, 0.9)).abs() < 1e-9,
            "{high}"
        );
    }

    #[test]
    fn an_estimate_beyond_all_resamples_has_the_plain_interval() {
        let resamples: Vec<f64> = (0..=1000).map(f64::from).collect();
        for estimate in [-1.0, 1001.0] {
            let [low, high] = interval(estimate, resamples.clone(), &[1.0, 2.0], 0.9).unwrap();
            assert!((low - 50.0).abs() < 1e-9 && (high - 950.0).abs() < 1e-9);
        }
    }

    #[test]
    fn one_figure_that_is_not_finite_leaves_no_interval() {
        let fine = || vec![1.0, 2.0, 3.0];
        assert!(interval(2.0, fine(), &[1.0, 2.0], 0.9).is_some());
        for odd in [f64::NAN, f64::INFINITY] {
            assert_eq!(interval(odd, fine(), &[1.0, 2.0], 0.9), None);
            assert_eq!(interval(2.0, vec![1.0, odd], &[1.0, 2.0], 0.9), None);
            assert_eq!(interval(2.0, fine(), &[1.0, odd], 0.9), None);
        }
    }
}
