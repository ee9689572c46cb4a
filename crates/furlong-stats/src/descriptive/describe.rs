//! ministat's summary of a sample, accurate also for values far from zero.

use crate::value::Summary;

/// A sum with a term for the rounding errors of the additions.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    total: f64,
    lost: f64,
}

impl Sum {
    fn add(&mut self, value: f64) {
        let next = self.total + value;
        self.lost += if self.total.abs() >= value.abs() {
            (self.total - next) + value
        } else {
            (value - next) + self.total
        };
        self.total = next;
    }

    fn of(values: impl Iterator<Item = f64>) -> f64 {
        let mut sum = Self::default();
        values.for_each(|v| sum.add(v));
        sum.total + sum.lost
    }
}

/// Number, mean and variance: all of a sample that a t test needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    /// Number of values.
    pub n: usize,
    /// Arithmetic mean.
    pub mean: f64,
    /// Variance with `n - 1`, in squared units.
    pub variance: f64,
}

impl Moments {
    /// The moments of at least two finite values, in two passes; otherwise `None`.
    pub fn of(values: &[f64]) -> Option<Self> {
        let n = values.len();
        let mean = mean(values);
        let squares = Sum::of(values.iter().map(|v| (v - mean) * (v - mean)));
        // Error of the mean's own rounding; zero in exact arithmetic.
        let rest = Sum::of(values.iter().map(|v| v - mean));
        let variance = (squares - rest * rest / n as f64) / (n as f64 - 1.0);
        // Not `max`: it would turn the NaN of an overflow into a variance of zero.
        let variance = if variance < 0.0 { 0.0 } else { variance };
        // Fewer than two values, or one that is not finite, have no finite mean and variance.
        (mean.is_finite() && variance.is_finite()).then_some(Self { n, mean, variance })
    }

    /// Moments from published figures: number, mean, standard deviation.
    pub fn published(n: usize, mean: f64, stddev: f64) -> Self {
        Self {
            n,
            mean,
            variance: stddev * stddev,
        }
    }

    /// Standard deviation.
    pub fn stddev(&self) -> f64 {
        self.variance.sqrt()
    }

    /// Variance of the mean.
    pub fn variance_of_mean(&self) -> f64 {
        self.variance / self.n as f64
    }
}

/// Arithmetic mean; NaN for no values.
pub fn mean(values: &[f64]) -> f64 {
    Sum::of(values.iter().copied()) / values.len() as f64
}

/// True median: the mean of the two middle values if their number is even; NaN for no values.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    median_sorted(&sorted)
}

/// The same of values in ascending order.
pub fn median_sorted(sorted: &[f64]) -> f64 {
    let n = sorted.len();
    match n {
        0 => f64::NAN,
        _ if n % 2 == 1 => sorted[n / 2],
        _ => f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]),
    }
}

/// Summary of a sample. `None` if it is empty, has a value that is not finite, or has an infinite
/// variance.
///
/// # Cost
/// O(n log n), one copy.
///
/// # Example
/// ```
/// let s = furlong_stats::describe(&[1.0, 2.0, 3.0, 10.0]).unwrap();
/// assert_eq!((s.n, s.median, s.mean), (4, 2.5, 4.0));
/// ```
pub fn describe(values: &[f64]) -> Option<Summary> {
    let moments = Moments::of(values);
    let described = match values {
        [only] => only.is_finite(),
        _ => moments.is_some(),
    };
    if !described {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mean = moments.map_or(values[0], |m| m.mean);
    let stddev = moments.map(|m| m.stddev());
    let cv_pct = stddev
        .map(|s| 100.0 * s / mean.abs())
        .filter(|cv| cv.is_finite());
    Some(Summary {
        n: values.len(),
        min: sorted[0],
        max: sorted[sorted.len() - 1],
        median: median_sorted(&sorted),
        mean,
        stddev,
        cv_pct,
    })
}

#[cfg(test)]
mod tests {
    use super::{Moments, describe, median};

    #[test]
    fn equal_values_vary_by_no_more_than_their_rounding() {
        let mut random = crate::random::Random::new(2);
        for n in 2..40 {
            for _ in 0..200 {
                let value = random.uniform();
                let found = Moments::of(&vec![value; n]).unwrap();
                assert!(found.variance.abs() < 1e-30, "{n} times {value}: {found:?}");
            }
        }
    }

    #[test]
    fn the_coefficient_of_variation_is_in_per_cent_of_the_mean() {
        assert_eq!(describe(&[2.0, 4.0, 6.0]).unwrap().cv_pct, Some(50.0));
    }

    #[test]
    fn median_of_an_even_number_is_the_mean_of_the_middle_two() {
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), 2.5);
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn what_never_varies_has_no_variance_however_its_mean_is_rounded() {
        for n in 2..60 {
            for value in [0.1, 0.3, 1.0 / 3.0, 1e9 / 7.0, 2.0_f64.sqrt()] {
                let found = Moments::of(&vec![value; n]).unwrap();
                assert!(
                    (0.0..1e-12 * value).contains(&found.variance),
                    "{n} times {value}"
                );
            }
        }
    }

    #[test]
    fn spread_survives_an_offset_of_a_billion() {
        let near: Vec<f64> = (0..10).map(|i| f64::from(i) * 0.125).collect();
        let far: Vec<f64> = near.iter().map(|v| v + 1e9).collect();
        let (near, far) = (Moments::of(&near).unwrap(), Moments::of(&far).unwrap());
        assert!((near.variance - far.variance).abs() < 1e-12 * near.variance);
        assert_eq!(far.mean, near.mean + 1e9);
    }

    #[test]
    fn equal_values_have_no_spread_at_all() {
        let m = Moments::of(&[0.1; 7]).unwrap();
        assert_eq!((m.mean, m.variance), (0.1, 0.0));
    }

    #[test]
    fn what_cannot_be_described_is_refused() {
        assert_eq!(describe(&[]), None);
        assert_eq!(describe(&[1.0, f64::NAN]), None);
        assert_eq!(describe(&[1.0, f64::INFINITY]), None);
        assert_eq!(describe(&[1e308, -1e308]), None);
    }

    #[test]
    fn one_value_has_no_deviation_and_a_zero_mean_no_variation() {
        let one = describe(&[5.0]).unwrap();
        assert_eq!(
            (one.n, one.mean, one.stddev, one.cv_pct),
            (1, 5.0, None, None)
        );
        let zero = describe(&[-1.0, 1.0]).unwrap();
        assert_eq!((zero.mean, zero.cv_pct), (0.0, None));
        assert!((zero.stddev.unwrap() - 2.0_f64.sqrt()).abs() < 1e-15);
        assert!(describe(&[-2.0, -4.0]).unwrap().cv_pct.unwrap() > 0.0);
    }

    #[test]
    fn a_mean_between_two_numbers_does_not_widen_the_spread() {
        // The distance to the next number: a third of it is rounded away in the mean.
        let next = 1e9_f64.next_up() - 1e9;
        let found = Moments::of(&[1e9, 1e9, 1e9 + next]).unwrap();
        assert_eq!(found.mean, 1e9);
        assert!((found.variance / (next * next / 3.0) - 1.0).abs() < 1e-12);
    }
}
