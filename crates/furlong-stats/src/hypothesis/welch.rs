//! Welch's t test: two means, each with its own variance.

use crate::describe::Moments;
use crate::distribution::{t_test, t_upper};
use crate::value::TTest;

/// Two samples, each with its own variance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unpooled {
    /// Mean of the second minus mean of the first.
    pub difference: f64,
    /// Standard error of the difference.
    pub standard_error: f64,
    /// Welch's and Satterthwaite's degrees of freedom; NaN without any variance.
    pub df: f64,
}

impl Unpooled {
    /// From moments; each sample has at least two values.
    pub fn from_moments(a: Moments, b: Moments) -> Self {
        let (va, vb) = (a.variance_of_mean(), b.variance_of_mean());
        let sum = va + vb;
        // As shares of the sum: squares of tiny variances would underflow.
        let (wa, wb) = (va / sum, vb / sum);
        let df = 1.0 / (wa * wa / (a.n as f64 - 1.0) + wb * wb / (b.n as f64 - 1.0));
        Self {
            difference: b.mean - a.mean,
            standard_error: sum.sqrt(),
            df,
        }
    }

    /// Half width of the interval of the difference at a level such as 0.95; zero without variance.
    pub fn half_width(&self, level: f64) -> f64 {
        if self.standard_error == 0.0 {
            return 0.0;
        }
        t_upper((1.0 - level) / 2.0, self.df) * self.standard_error
    }

    /// The smallest true difference that samples like these have an 80 % chance to prove at 95 %;
    /// NaN without any variance.
    pub fn reach(&self) -> f64 {
        (t_upper(0.025, self.df) + t_upper(0.20, self.df)) * self.standard_error
    }

    /// The test against no difference; `None` without any variance.
    pub fn test(&self) -> Option<TTest> {
        t_test(self.difference / self.standard_error, self.df)
    }

    /// Interval of the difference.
    pub fn interval(&self, level: f64) -> [f64; 2] {
        let half = self.half_width(level);
        [self.difference - half, self.difference + half]
    }
}

/// Welch's test of `b` against `a`, two-sided.
///
/// `None` with fewer than two values in either, with a value that is not finite, or if neither
/// sample varies.
///
/// # Example
/// ```
/// let found = furlong_stats::welch(&[218.52, 217.24, 218.47], &[216.6, 217.07, 216.47]);
/// assert!((found.unwrap().p - 0.065_591_686).abs() < 1e-8);
/// ```
pub fn welch(a: &[f64], b: &[f64]) -> Option<TTest> {
    Unpooled::from_moments(Moments::of(a)?, Moments::of(b)?).test()
}

#[cfg(test)]
mod tests {
    use super::{Unpooled, welch};
    use crate::describe::Moments;

    #[test]
    fn one_value_or_no_variance_gives_no_test() {
        assert_eq!(welch(&[1.0], &[1.0, 2.0]), None);
        assert_eq!(welch(&[1.0, 1.0], &[2.0, 2.0]), None);
        let [one, two] = [1.0, 2.0].map(|mean| Moments::published(2, mean, 0.0));
        assert_eq!(Unpooled::from_moments(one, two).interval(0.95), [1.0; 2]);
    }

    #[test]
    fn five_against_five_at_one_per_cent_reach_two() {
        for (n, wanted) in [(5, 2.02), (10, 1.33), (20, 0.91), (64, 0.50)] {
            let one = Moments::published(n, 100.0, 1.0);
            assert!(
                (Unpooled::from_moments(one, one).reach() - wanted).abs() < 0.006,
                "{n}"
            );
        }
    }

    #[test]
    fn swapping_the_samples_turns_the_sign_and_nothing_else() {
        let (a, b) = ([1.0, 2.0, 4.0, 8.0], [3.0, 3.5, 9.0]);
        let (ab, ba) = (welch(&a, &b).unwrap(), welch(&b, &a).unwrap());
        assert_eq!((ab.t, ab.df, ab.p), (-ba.t, ba.df, ba.p));
    }

    #[test]
    fn variances_too_small_to_square_keep_their_degrees_of_freedom() {
        let a = [1e-170, 2e-170, 3e-170];
        let b = [2e-170, 3e-170, 4e-170];
        let a: Vec<f64> = a.iter().map(|v| v * 1e60).collect();
        let b: Vec<f64> = b.iter().map(|v| v * 1e60).collect();
        assert!((welch(&a, &b).unwrap().df - 4.0).abs() < 1e-9);
    }
}
