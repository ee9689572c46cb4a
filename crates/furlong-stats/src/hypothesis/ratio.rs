//! The ratio of two means and its precision.

use crate::describe::Moments;
use crate::distribution::t_upper;
use crate::welch::Unpooled;

/// Fieller's interval of the mean of `b` over that of `a`, at a level such as 0.95, with Welch's
/// degrees of freedom. Each sample has at least two values.
///
/// `None` if the baseline's mean cannot be told from zero: the ratio then has no bounds.
///
/// # Example
/// ```
/// use furlong_stats::{describe::Moments, ratio::fieller_from_moments};
///
/// let (a, b) = (Moments::published(4, 10.0, 0.2), Moments::published(4, 8.0, 0.2));
/// let [low, high] = fieller_from_moments(a, b, 0.95).unwrap();
/// assert!(low < 0.8 && 0.8 < high && high - low < 0.08);
/// ```
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

#[cfg(test)]
mod tests {
    use super::fieller_from_moments;
    use crate::describe::Moments;
    use crate::distribution::t_upper;

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
        let found = |a: &[f64], b: &[f64]| {
            fieller_from_moments(Moments::of(a).unwrap(), Moments::of(b).unwrap(), 0.95)
        };
        assert_eq!(found(&[-1.0, 1.0, 0.5], &[3.0, 4.0, 5.0]), None);
        assert_eq!(found(&[0.0, 0.0], &[0.0, 0.0]), None);
        assert_eq!(found(&[2.0, 2.0], &[3.0, 3.0]), Some([1.5, 1.5]));
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
                let t = t_upper((1.0 - level) / 2.0, (va + vb).powi(2) / squares);
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
