//! Fieller: the interval of a ratio of two means.
#![forbid(unsafe_code)]

use crate::stats::Moments;
use crate::stats::distribution::t_upper;
use crate::stats::welch::Unpooled;

/// Interval of mean of `b` over mean of `a` at a level such as 0.95, each with its own variance.
///
/// `None` where the mean of `a` cannot be told from zero at this level (the ratio could then be
/// anything), and where it is zero. Two samples without variance have an interval of no width.
///
/// # Source
/// Fieller, *Some problems in interval estimation*, 1954; Welch's degrees of freedom.
#[must_use]
pub fn fieller(a: Moments, b: Moments, level: f64) -> Option<[f64; 2]> {
    let ratio = b.mean / a.mean;
    let welch = Unpooled::from_moments(a, b);
    if welch.standard_error == 0.0 {
        return ratio.is_finite().then_some([ratio, ratio]);
    }
    let t = t_upper((1.0 - level) / 2.0, welch.df);
    // Relative errors of the means: squares of the means themselves could overflow.
    let of_a = t * a.variance_of_mean().sqrt() / a.mean;
    let of_b = t * b.variance_of_mean().sqrt() / a.mean;
    let g = of_a * of_a;
    let half = (of_b * of_b * (1.0 - g) + ratio * ratio * g).sqrt();
    let ends = [(ratio - half) / (1.0 - g), (ratio + half) / (1.0 - g)];
    (g < 1.0 && ends.iter().all(|end| end.is_finite())).then_some(ends)
}

#[cfg(test)]
mod tests {
    use super::fieller;
    use crate::stats::Moments;
    use crate::stats::welch::welch_from_moments;

    #[test]
    fn the_ratio_excludes_one_exactly_when_the_difference_excludes_zero() {
        for shift in 0..60 {
            let a = Moments::published(5, 10.0, 1.0);
            let b = Moments::published(9, 10.0 + f64::from(shift) / 20.0, 2.0);
            let p = welch_from_moments(a, b).unwrap().p;
            let [low, high] = fieller(a, b, 0.95).unwrap();
            assert_eq!(low > 1.0 || high < 1.0, p < 0.05, "{shift}: {p}");
        }
    }

    #[test]
    fn ends_are_where_the_difference_to_that_multiple_just_loses_significance() {
        let a = Moments::published(6, 4.0, 0.5);
        let b = Moments::published(6, 7.0, 0.5);
        let df = welch_from_moments(a, b).unwrap().df;
        let t = crate::stats::distribution::t_upper(0.025, df);
        for end in fieller(a, b, 0.95).unwrap() {
            let error = (b.variance_of_mean() + end * end * a.variance_of_mean()).sqrt();
            assert!(((b.mean - end * a.mean).abs() / error - t).abs() < 1e-9);
        }
    }

    #[test]
    fn swapping_the_samples_inverts_the_interval_under_equal_spread() {
        let a = Moments::published(8, -3.0, 0.2);
        let b = Moments::published(8, -5.0, 0.2);
        let [low, high] = fieller(a, b, 0.9).unwrap();
        let [swapped_low, swapped_high] = fieller(b, a, 0.9).unwrap();
        assert!((low * swapped_high - 1.0).abs() < 1e-12);
        assert!((high * swapped_low - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_mean_near_zero_has_no_ratio_and_no_variance_has_no_width() {
        let vague = Moments::published(4, 0.1, 1.0);
        let zero = Moments::published(4, 0.0, 0.0);
        let sure = Moments::published(4, 2.0, 0.0);
        assert_eq!(fieller(vague, sure, 0.95), None);
        assert_eq!(fieller(zero, sure, 0.95), None);
        assert_eq!(fieller(sure, sure, 0.95), Some([1.0, 1.0]));
    }
}
