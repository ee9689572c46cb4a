//! Brown-Forsythe: tests if one sample is more variable than the other.
//!
//! An F test of the variances would in effect test for normality; distances from the medians do not
//! depend on it.

use crate::describe::{Moments, median};
use crate::distribution::t_two_sided;
use crate::student::Pooled;
use crate::value::VarianceTest;

/// Variance of `b` over that of `a`, and Brown and Forsythe's p.
///
/// `None` with fewer than three values in either (two always have equal distances from their
/// median), or if a sample or all distances do not vary.
pub fn brown_forsythe(a: &[f64], b: &[f64]) -> Option<VarianceTest> {
    if a.len() < 3 || b.len() < 3 {
        return None;
    }
    let ratio = Moments::of(b)?.variance / Moments::of(a)?.variance;
    let (a, b) = (Moments::of(&distances(a))?, Moments::of(&distances(b))?);
    // Two groups: the F of the analysis of variance is the square of Student's t.
    let pooled = Pooled::from_moments(a, b);
    let t = pooled.difference / pooled.standard_error;
    (ratio.is_finite() && t.is_finite()).then(|| VarianceTest {
        ratio,
        p: t_two_sided(t, pooled.df),
    })
}

fn distances(values: &[f64]) -> Vec<f64> {
    let middle = median(values);
    values.iter().map(|v| (v - middle).abs()).collect()
}

#[cfg(test)]
mod tests {
    use super::brown_forsythe;

    #[test]
    fn the_statistic_is_the_analysis_of_variance_of_distances_from_medians() {
        // Distances 2 1 0 1 2 and 10 5 0 5 10: means 1.2 and 6, variances 0.7 and 17.5.
        let a = [1.0, 2.0, 3.0, 4.0, 5.0];
        let b = [10.0, 15.0, 20.0, 25.0, 30.0];
        let found = brown_forsythe(&a, &b).unwrap();
        assert!((found.ratio - 25.0).abs() < 1e-12);
        let (between, within) = (2.0 * 5.0 * 2.4 * 2.4, f64::midpoint(0.7, 17.5));
        let f = between / within;
        assert!((found.p - crate::distribution::f_sf(f, 1.0, 8.0)).abs() < 1e-9);
    }

    #[test]
    fn a_shift_alone_is_no_difference_in_variance() {
        let a = [1.0, 2.5, 3.0, 7.0];
        let b = a.map(|v| v + 100.0);
        let found = brown_forsythe(&a, &b).unwrap();
        assert!((found.ratio - 1.0).abs() < 1e-12 && found.p > 0.999);
    }

    #[test]
    fn two_values_or_none_that_vary_are_refused() {
        assert_eq!(brown_forsythe(&[1.0, 2.0], &[1.0, 2.0, 3.0]), None);
        assert_eq!(brown_forsythe(&[1.0; 4], &[1.0, 2.0, 3.0]), None);
    }
}
