//! Student's t test with a pooled variance: ministat's test, with exact quantiles.

use crate::describe::Moments;
use crate::distribution::{t_test, t_upper};
use crate::value::{Student, TTest};

/// Two samples with a common variance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pooled {
    /// Mean of the second minus mean of the first.
    pub difference: f64,
    /// Pooled standard deviation.
    pub pooled_s: f64,
    /// Standard error of the difference.
    pub standard_error: f64,
    /// `n1 + n2 - 2`.
    pub df: f64,
}

impl Pooled {
    /// From moments; each sample has at least two values.
    pub fn from_moments(a: Moments, b: Moments) -> Self {
        let (na, nb) = (a.n as f64, b.n as f64);
        let df = na + nb - 2.0;
        let variance = ((na - 1.0) * a.variance + (nb - 1.0) * b.variance) / df;
        Self {
            difference: b.mean - a.mean,
            pooled_s: variance.sqrt(),
            standard_error: (variance * (1.0 / na + 1.0 / nb)).sqrt(),
            df,
        }
    }

    /// Half width of the interval of the difference at a level such as 0.95.
    pub fn half_width(&self, level: f64) -> f64 {
        t_upper((1.0 - level) / 2.0, self.df) * self.standard_error
    }

    /// The test against no difference; `None` without any variance.
    pub fn test(&self) -> Option<TTest> {
        t_test(self.difference / self.standard_error, self.df)
    }
}

/// Difference of `b` against `a` in ministat's form, at a level such as 0.95.
///
/// `None` with fewer than two values in either, with a value that is not finite, or if the
/// baseline's mean is zero and has no percentage; [`Pooled`] has the rest even then. The half
/// widths are never negative, whatever the sign of the mean.
pub fn student(a: &[f64], b: &[f64], level: f64) -> Option<Student> {
    student_from_moments(Moments::of(a)?, Moments::of(b)?, level)
}

/// The same from moments.
pub fn student_from_moments(a: Moments, b: Moments, level: f64) -> Option<Student> {
    let pooled = Pooled::from_moments(a, b);
    let plus_minus = pooled.half_width(level);
    let found = Student {
        difference: pooled.difference,
        plus_minus,
        difference_pct: 100.0 * pooled.difference / a.mean,
        plus_minus_pct: 100.0 * plus_minus / a.mean.abs(),
        pooled_s: pooled.pooled_s,
    };
    (found.difference_pct.is_finite() && found.plus_minus_pct.is_finite()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::{Pooled, student};
    use crate::describe::Moments;

    fn pooled(a: &[f64], b: &[f64]) -> Pooled {
        Pooled::from_moments(Moments::of(a).unwrap(), Moments::of(b).unwrap())
    }

    #[test]
    fn a_difference_is_also_said_in_per_cent_of_the_first_mean_and_tested() {
        let (a, b) = ([1.0, 2.0, 3.0], [3.0, 4.0, 5.0]);
        assert_eq!(student(&a, &b, 0.95).unwrap().difference_pct, 100.0);
        let test = pooled(&a, &b).test().unwrap();
        assert_eq!(test.df, 4.0);
        // Two over the root of two thirds.
        assert!((test.t - 6.0_f64.sqrt()).abs() < 1e-12, "{test:?}");
        assert!((pooled(&b, &a).test().unwrap().t + test.t).abs() < 1e-12);
    }

    #[test]
    fn two_constant_samples_have_a_difference_and_no_test() {
        let found = student(&[1.0; 3], &[2.0; 3], 0.95).unwrap();
        assert_eq!(
            (found.difference, found.plus_minus, found.pooled_s),
            (1.0, 0.0, 0.0)
        );
        assert_eq!(pooled(&[1.0; 3], &[2.0; 3]).test(), None);
    }

    #[test]
    fn a_zero_mean_has_no_per_cent_but_keeps_its_difference() {
        let (a, b) = ([-1.0, 1.0], [1.0, 3.0]);
        assert_eq!(student(&a, &b, 0.95), None);
        assert_eq!(pooled(&a, &b).difference, 2.0);
    }

    #[test]
    fn half_width_in_per_cent_is_positive_under_a_negative_mean() {
        let found = student(&[-10.0, -11.0, -12.0], &[-20.0, -21.0, -22.0], 0.95).unwrap();
        assert!(found.plus_minus_pct > 0.0);
        assert!(found.difference_pct > 0.0);
    }
}
