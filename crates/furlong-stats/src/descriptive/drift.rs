//! Signs that the machine changed during a run: trends, and correlated neighbours. They are only
//! warnings; the verdict does not depend on them, since blocks cancel a drift.

use crate::describe::{mean, median};
use crate::distribution::{chi2_sf, normal_sf};

/// A trend test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// Rising pairs minus falling pairs.
    pub s: f64,
    /// Two-sided p.
    pub p: f64,
}

/// Correlation of each value with the next; `None` with fewer than three or without variance.
pub fn lag1(values: &[f64]) -> Option<f64> {
    autocorrelation(values, 1)
}

/// Correlation of each value with the one `lag` places later; `None` for equal values.
pub fn autocorrelation(values: &[f64], lag: usize) -> Option<f64> {
    // The mean of equal values may be rounded: each would then be off by the same amount.
    let varies = values.iter().any(|value| *value != values[0]);
    if values.len() < lag + 2 || !varies {
        return None;
    }
    let mean = mean(values);
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    let products: f64 = values
        .iter()
        .zip(&values[lag..])
        .map(|(v, w)| (v - mean) * (w - mean))
        .sum();
    let found = products / squares;
    found.is_finite().then_some(found)
}

/// The p of Ljung and Box's test against correlation at any of the first `lags` lags.
pub fn ljung_box_p(values: &[f64], lags: usize) -> Option<f64> {
    let n = values.len() as f64;
    let mut sum = 0.0;
    for lag in 1..=lags {
        sum += autocorrelation(values, lag)?.powi(2) / (n - lag as f64);
    }
    (lags > 0).then(|| chi2_sf(n * (n + 2.0) * sum, lags as f64))
}

/// The number of independent values with the information of `n` values whose neighbours have this
/// correlation.
pub fn n_effective(n: usize, lag1: f64) -> f64 {
    let n = n as f64;
    (n * (1.0 - lag1) / (1.0 + lag1)).clamp(1.0, n)
}

/// Mann and Kendall's test for a trend, with corrections for ties and continuity; `None` with fewer
/// than four values.
///
/// # Cost
/// O(n^2).
pub fn mann_kendall(values: &[f64]) -> Option<Trend> {
    let n = values.len();
    if n < 4 {
        return None;
    }
    let mut s = 0.0;
    for (i, early) in values.iter().enumerate() {
        for late in &values[i + 1..] {
            s += f64::from(i8::from(late > early) - i8::from(late < early));
        }
    }
    let scale = |n: f64| n * (n - 1.0) * (2.0 * n + 5.0);
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let ties: f64 = sorted
        .chunk_by(|v, w| v == w)
        .map(|group| scale(group.len() as f64))
        .sum();
    let variance = (scale(n as f64) - ties) / 18.0;
    if variance <= 0.0 {
        return Some(Trend { s: 0.0, p: 1.0 });
    }
    let z = (s.abs() - 1.0).max(0.0) / variance.sqrt();
    Some(Trend {
        s,
        p: (2.0 * normal_sf(z)).min(1.0),
    })
}

/// Theil and Sen's slope of `values` over `times`: the median slope of all pairs. `None` if all
/// times are equal.
///
/// # Cost
/// O(n^2).
pub fn theil_sen(times: &[f64], values: &[f64]) -> Option<f64> {
    let points: Vec<(f64, f64)> = times.iter().copied().zip(values.iter().copied()).collect();
    let mut slopes = vec![];
    for (i, (t1, v1)) in points.iter().enumerate() {
        let later = points[i + 1..].iter().filter(|(t2, _)| t2 != t1);
        slopes.extend(later.map(|(t2, v2)| (v2 - v1) / (t2 - t1)));
    }
    (!slopes.is_empty()).then(|| median(&slopes))
}

#[cfg(test)]
mod tests {
    use super::{autocorrelation, lag1, ljung_box_p, mann_kendall, n_effective, theil_sen};
    use crate::distribution::{chi2_sf, normal_sf};
    use crate::random::Random;

    fn noise(seed: u64, n: usize, phi: f64) -> Vec<f64> {
        let mut random = Random::new(seed);
        let mut state = random.normal();
        (0..n)
            .map(|_| {
                state = phi * state + (1.0 - phi * phi).sqrt() * random.normal();
                state
            })
            .collect()
    }

    #[test]
    fn ties_count_wherever_they_stand() {
        // Three pairs rise and one falls: S is 2. Two pairs of ties leave (156 - 36) / 18.
        let found = mann_kendall(&[1.0, 2.0, 1.0, 2.0]).unwrap();
        assert_eq!(found.s, 2.0);
        assert!((found.p - 2.0 * normal_sf(1.0 / (120.0_f64 / 18.0).sqrt())).abs() < 1e-12);
    }

    #[test]
    fn lag_one_follows_its_definition() {
        // Deviations -2 -1 0 1 2: products 2 + 0 + 0 + 2 over squares 10.
        assert!((lag1(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap() - 0.4).abs() < 1e-15);
        assert_eq!(lag1(&[1.0, 2.0]), None);
        assert_eq!(lag1(&[1.0; 9]), None);
        assert!((n_effective(100, 0.8) - 100.0 / 9.0).abs() < 1e-12);
        assert_eq!(n_effective(10, -0.5), 10.0);
    }

    #[test]
    fn the_sum_over_lags_is_that_of_ljung_and_box() {
        // One lag of .4 in five values: 5 * 7 * .16 / 4 = 1.4.
        let found = ljung_box_p(&[1.0, 2.0, 3.0, 4.0, 5.0], 1).unwrap();
        assert!((found - 0.236_723_570_637_857).abs() < 1e-9, "{found}");
        assert_eq!(ljung_box_p(&[1.0, 2.0, 3.0], 0), None);
    }

    #[test]
    fn white_noise_alarms_as_often_as_its_level_says_and_a_memory_far_more() {
        let alarms = |phi| {
            (0..1000)
                .filter(|&seed| ljung_box_p(&noise(seed, 60, phi), 3).is_some_and(|p| p < 0.05))
                .count()
        };
        let (white, coloured) = (alarms(0.0), alarms(0.8));
        assert!((25..80).contains(&white), "{white}");
        assert!(coloured > 980, "{coloured}");
    }

    #[test]
    fn a_trend_is_seen_and_its_absence_too() {
        let rising: Vec<f64> = (0..10).map(f64::from).collect();
        let found = mann_kendall(&rising).unwrap();
        assert_eq!(found.s, 45.0);
        // z = 44 / sqrt(125).
        assert!((found.p - 8.303_070_332e-5).abs() < 1e-10, "{}", found.p);
        let white = (0..1000)
            .filter(|&seed| mann_kendall(&noise(seed, 20, 0.0)).is_some_and(|t| t.p < 0.05))
            .count();
        assert!((25..75).contains(&white), "{white}");
        assert_eq!(mann_kendall(&[2.0; 6]).unwrap().p, 1.0);
        assert_eq!(mann_kendall(&[2.0; 3]), None);
    }

    #[test]
    fn slope_ignores_one_wild_value() {
        let times = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let values = [1.0, 3.0, 5.0, 700.0, 9.0, 11.0, 13.0];
        assert_eq!(theil_sen(&times, &values), Some(2.0));
        assert_eq!(theil_sen(&[1.0, 1.0], &[1.0, 2.0]), None);
    }

    #[test]
    fn as_many_rising_pairs_as_falling_ones_are_no_trend() {
        let found = mann_kendall(&[1.0, 2.0, 2.0, 1.0]).unwrap();
        assert_eq!((found.s, found.p), (0.0, 1.0));
        // One pair is corrected to nothing.
        let found = mann_kendall(&[2.0, 4.0, 3.0, 1.0, 3.0]).unwrap();
        assert_eq!((found.s, found.p), (-1.0, 1.0));
        // Seven pairs rise and three fall.
        let found = mann_kendall(&[1.0, 4.0, 3.0, 2.0, 5.0]).unwrap();
        assert_eq!(found.s, 4.0);
        assert!((found.p - 2.0 * normal_sf(3.0 / (300.0_f64 / 18.0).sqrt())).abs() < 1e-12);
    }

    #[test]
    fn every_lag_pairs_each_value_with_the_one_so_many_places_later() {
        let values = [3.0, -1.0, 4.0, 1.0, -5.0, 9.0, 2.0, -6.0];
        let mean = values.iter().sum::<f64>() / 8.0;
        let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
        let (mut sum, mut r) = (0.0, vec![]);
        for lag in 1..=6 {
            let products = (lag..8).map(|i| (values[i] - mean) * (values[i - lag] - mean));
            r.push(products.sum::<f64>() / squares);
            assert!((autocorrelation(&values, lag).unwrap() - r[lag - 1]).abs() < 1e-12);
            sum += r[lag - 1].powi(2) / (8 - lag) as f64;
            let wanted = chi2_sf(8.0 * 10.0 * sum, lag as f64);
            assert!(
                (ljung_box_p(&values, lag).unwrap() - wanted).abs() < 1e-12,
                "{lag}"
            );
        }
        assert_eq!(autocorrelation(&values, 7), None);
        assert_eq!(ljung_box_p(&values, 7), None);
        assert_eq!([n_effective(10, 1.0), n_effective(10, -1.0)], [1.0, 10.0]);
    }
}
