//! The ratio of two means and its precision.
#![forbid(unsafe_code)]

use crate::describe::Moments;
use crate::distribution::t_upper;
use crate::student::Pooled;
use crate::welch::Unpooled;

/// Fieller's interval of the mean of `b` over that of `a`, at a level such as 0.95.
///
/// `None` with fewer than two values in either, or if the baseline's mean cannot be told from zero:
/// the ratio then has no bounds.
///
/// # Example
/// ```
/// let [low, high] = furlong_stats::ratio::fieller(
///     &[10.0, 10.2, 9.8, 10.1], &[8.0, 8.1, 7.9, 8.2], 0.95).unwrap();
/// assert!(low < 0.804 && 0.804 < high && high - low < 0.06);
/// ```
pub fn fieller(a: &[f64], b: &[f64], level: f64) -> Option<[f64; 2]> {
    fieller_from_moments(Moments::of(a)?, Moments::of(b)?, level)
}

/// The same from moments, with Welch's degrees of freedom.
pub fn fieller_from_moments(a: Moments, b: Moments, level: f64) -> Option<[f64; 2]> {
    let ratio = b.mean / a.mean;
    let (va, vb) = (a.variance_of_mean(), b.variance_of_mean());
    if va + vb == 0.0 {
        return ratio.is_finite().then_some([ratio, ratio]);
    }
    let t = t_upper((1.0 - level) / 2.0, Unpooled::from_moments(a, b).df);
    let g = t * t * va / (a.mean * a.mean);
    if g.is_nan() || g >= 1.0 {
        return None;
    }
    let half = t / a.mean.abs() * (vb + ratio * ratio * va - g * vb).sqrt();
    Some([(ratio - half) / (1.0 - g), (ratio + half) / (1.0 - g)])
}

/// Half width of the relative difference, in per cent of the baseline's mean, as in FreeBSD's
/// ministat since version 12. It includes the uncertainty of the baseline's mean. Never negative;
/// `None` if the baseline's mean is zero.
pub fn ministat_half_width_pct(a: Moments, b: Moments, level: f64) -> Option<f64> {
    let (na, nb) = (a.n as f64, b.n as f64);
    let df = Pooled::from_moments(a, b).df;
    let ratio = b.mean / a.mean;
    let spread = (nb - 1.0) * b.variance + (na - 1.0) * a.variance * ratio * ratio;
    let error = (spread * (na + nb) / (na * nb * df)).sqrt();
    let pct = 100.0 * t_upper((1.0 - level) / 2.0, df) * error / a.mean.abs();
    pct.is_finite().then_some(pct)
}

/// Hedges' g: the difference in pooled deviations, corrected for small samples; `None` without
/// variance.
pub fn hedges_g(a: Moments, b: Moments) -> Option<f64> {
    let pooled = Pooled::from_moments(a, b);
    let correction = 1.0 - 3.0 / (4.0 * pooled.df - 1.0);
    let g = correction * pooled.difference / pooled.pooled_s;
    g.is_finite().then_some(g)
}

#[cfg(test)]
mod tests {
    use super::{fieller, fieller_from_moments, hedges_g, ministat_half_width_pct};
    use crate::describe::Moments;
    use crate::distribution::t_quantile;

    #[test]
    fn intervals_of_the_augmentation_figures_agree_with_the_reference() {
        for (a, b, wanted) in [
            (
                (75.588_976, 0.496_969_97),
                (62.116_771, 0.444_063_53),
                [0.819_798, 0.823_747],
            ),
            (
                (46.293_999, 0.267_690_06),
                (42.098_5, 0.356_050_9),
                [0.907_068, 0.911_681],
            ),
            (
                (51.457_622, 0.410_260_87),
                (36.847_862, 0.195_451_71),
                [0.714_382, 0.717_787],
            ),
        ] {
            let [a, b] = [a, b].map(|(mean, sd)| Moments::published(64, mean, sd));
            let found = fieller_from_moments(a, b, 0.95).unwrap();
            for (found, wanted) in found.iter().zip(wanted) {
                assert!((found - wanted).abs() < 6e-7, "{found} is not {wanted}");
            }
        }
    }

    #[test]
    fn a_baseline_that_may_be_zero_has_no_ratio() {
        assert_eq!(fieller(&[-1.0, 1.0, 0.5], &[3.0, 4.0, 5.0], 0.95), None);
        assert_eq!(fieller(&[0.0, 0.0], &[0.0, 0.0], 0.95), None);
        assert_eq!(fieller(&[2.0, 2.0], &[3.0, 3.0], 0.95), Some([1.5, 1.5]));
    }

    #[test]
    fn a_negative_baseline_gives_a_positive_half_width() {
        let [a, b] = [-10.0, -15.0].map(|mean| Moments::published(5, mean, 1.0));
        assert!(ministat_half_width_pct(a, b, 0.95).unwrap() > 0.0);
        let zero = Moments::published(5, 0.0, 1.0);
        assert_eq!(ministat_half_width_pct(zero, b, 0.95), None);
        assert_eq!(
            hedges_g(
                Moments::published(3, 1.0, 0.0),
                Moments::published(3, 2.0, 0.0)
            ),
            None
        );
    }

    #[test]
    fn the_ends_of_a_ratio_are_where_its_difference_from_zero_is_just_significant() {
        // Fieller's definition: b - r a is t standard errors from zero at both ends r.
        for (a, b) in [
            ((10, 100.0, 5.0), (10, 80.0, 5.0)),
            ((6, 3.0, 1.5), (20, 30.0, 0.1)),
            ((20, -50.0, 8.0), (5, 20.0, 0.0)),
            ((5, 7.0, 0.0), (9, -2.0, 4.0)),
            ((10, 0.68, 1.0), (10, 1.0, 1.0)),
        ] {
            let [a, b] = [a, b].map(|(n, mean, sd)| Moments::published(n, mean, sd));
            let (va, vb) = (a.variance / a.n as f64, b.variance / b.n as f64);
            let squares = va * va / (a.n as f64 - 1.0) + vb * vb / (b.n as f64 - 1.0);
            for level in [0.8, 0.95] {
                let t = t_quantile((1.0 + level) / 2.0, (va + vb).powi(2) / squares);
                let [low, high] = fieller_from_moments(a, b, level).unwrap();
                let estimate = b.mean / a.mean;
                assert!(low < estimate && estimate < high);
                for end in [low, high] {
                    let found = (b.mean - end * a.mean) / (vb + end * end * va).sqrt();
                    assert!((found.abs() - t).abs() < 1e-9 * t, "{a:?} {b:?}: {end}");
                }
            }
        }
    }

    #[test]
    fn a_ratio_has_bounds_while_its_baseline_is_significantly_not_zero() {
        // Two samples of ten with deviation 1: t(.975, 18) standard errors.
        let limit = 2.100_922_040_241 / 10.0_f64.sqrt();
        let b = Moments::published(10, 1.0, 1.0);
        for (share, bounded) in [
            (1.001, true),
            (0.999, false),
            (-0.999, false),
            (-1.001, true),
        ] {
            let a = Moments::published(10, share * limit, 1.0);
            let found = fieller_from_moments(a, b, 0.95);
            assert_eq!(found.is_some(), bounded, "{share}");
        }
    }
}
