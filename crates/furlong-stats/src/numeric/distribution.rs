//! Quantiles and tails of the distributions that the tests need.
//!
//! Tails are computed as tails: `1 - cdf` is zero beyond about eight standard deviations, while a
//! survival function still has sixteen digits there.

use statrs::distribution::{ChiSquared, ContinuousCDF, FisherSnedecor, Normal, StudentsT};
use statrs::function::beta::beta_reg;
use statrs::function::gamma::ln_gamma;

use crate::value::TTest;

/// Limit of Newton steps: fewer than ten are usual, and bisection alone would need some sixty.
const STEPS_MAX: usize = 200;

/// Below this square of t, the probability inside is computed instead of that outside.
const NEAR_MIDDLE: f64 = 3.0;

/// Probability that Student's t with `df` degrees of freedom is greater than `t`.
///
/// # Shapes
/// `df` is positive and may be fractional; invalid arguments give NaN.
pub fn t_sf(t: f64, df: f64) -> f64 {
    if df > 0.0 && t * t < NEAR_MIDDLE {
        // Near the middle, the tail's argument is nearly one, and rounding would lose the
        // difference.
        let inside = beta_reg(0.5, df / 2.0, t * t / (df + t * t));
        return 0.5 * (1.0 - inside.copysign(t));
    }
    StudentsT::new(0.0, 1.0, df).map_or(f64::NAN, |d| d.sf(t))
}

/// Probability that `|T|` is greater than `|t|`.
pub fn t_two_sided(t: f64, df: f64) -> f64 {
    (2.0 * t_sf(t.abs(), df)).min(1.0)
}

/// A t test, two-sided; `None` if `t` is not finite.
pub(crate) fn t_test(t: f64, df: f64) -> Option<TTest> {
    t.is_finite().then(|| TTest {
        t,
        df,
        p: t_two_sided(t, df),
    })
}

/// The `t` that Student's t with `df` degrees of freedom exceeds with probability `q`. `q` may be
/// far smaller than the distance between 1 and the next number.
///
/// Solves `ln sf(t) = ln q` over `ln t` by Newton steps inside a bracket. The tail is a power of
/// `t`, so the curve is nearly straight in these coordinates.
pub fn t_upper(q: f64, df: f64) -> f64 {
    let meaningful = q > 0.0 && q < 1.0 && df > 0.0 && df.is_finite();
    if !meaningful {
        return f64::NAN;
    }
    if q > 0.5 {
        return -t_upper(1.0 - q, df);
    }
    if q == 0.5 {
        return 0.0;
    }
    let constant = ln_gamma(f64::midpoint(df, 1.0))
        - ln_gamma(df / 2.0)
        - 0.5 * (df * std::f64::consts::PI).ln();
    let (mut low, mut high) = (-40.0_f64, 700.0_f64);
    let mut u = normal_upper(q).ln();
    for _ in 0..STEPS_MAX {
        let t = u.exp();
        let tail = t_sf(t, df);
        let miss = tail.ln() - q.ln();
        if miss > 0.0 {
            low = u;
        } else {
            high = u;
        }
        let density = (constant - f64::midpoint(df, 1.0) * (t * t / df).ln_1p()).exp();
        let newton = u + miss * tail / (density * t);
        let next = if newton > low && newton < high {
            newton
        } else {
            f64::midpoint(low, high)
        };
        if (next - u).abs() <= 1e-15 {
            return next.exp();
        }
        u = next;
    }
    u.exp()
}

/// Probability that a standard normal variable is greater than `z`.
pub fn normal_sf(z: f64) -> f64 {
    Normal::standard().sf(z)
}

/// The `z` that a standard normal variable exceeds with probability `q`.
pub fn normal_upper(q: f64) -> f64 {
    if q > 0.0 && q < 1.0 {
        -Normal::standard().inverse_cdf(q)
    } else {
        f64::NAN
    }
}

/// Probability that chi-squared with `df` degrees of freedom is greater than `x`.
pub fn chi2_sf(x: f64, df: f64) -> f64 {
    ChiSquared::new(df).map_or(f64::NAN, |d| d.sf(x.max(0.0)))
}

/// Probability that F with `df1` and `df2` degrees of freedom is greater than `x`.
pub fn f_sf(x: f64, df1: f64, df2: f64) -> f64 {
    FisherSnedecor::new(df1, df2).map_or(f64::NAN, |d| d.sf(x.max(0.0)))
}

#[cfg(test)]
mod tests {
    use super::{chi2_sf, f_sf, normal_sf, normal_upper, t_sf, t_two_sided, t_upper};

    fn close(found: f64, wanted: f64, relative: f64) {
        assert!(
            (found - wanted).abs() <= relative * wanted.abs(),
            "{found:e} is not {wanted:e}"
        );
    }

    #[test]
    fn a_tail_of_nothing_or_of_everything_has_no_beginning() {
        for q in [0.0, 1.0, 1.05] {
            assert!(t_upper(q, 5.0).is_nan() && normal_upper(q).is_nan(), "{q}");
        }
    }

    #[test]
    fn an_upper_tail_of_more_than_half_begins_below_zero() {
        for q in [0.6, 0.9, 0.999] {
            close(t_upper(q, 5.0), -t_upper(1.0 - q, 5.0), 1e-12);
        }
        close(t_upper(0.975, 10.0), -2.228_138_851_964_939, 1e-9);
    }

    #[test]
    fn t_quantiles_agree_with_the_reference_for_whole_and_fractional_degrees() {
        for (p, df, wanted) in [
            (0.975, 1.0, 12.706_204_736_175),
            (0.975, 2.5, 3.574_654_842_004),
            (0.975, 2.7319, 3.366_636_816_151),
            (0.975, 5.76, 2.471_839_723_675),
            (0.975, 5.73, 2.475_134_400_203),
            (0.975, 126.0, 1.978_970_601_991),
            (0.995, 4.0, 4.604_094_871_350),
            (0.9, 10.0, 1.372_183_641_110),
        ] {
            close(t_upper(p, df), -wanted, 1e-12);
            close(t_upper(1.0 - p, df), wanted, 1e-12);
        }
    }

    #[test]
    fn t_quantile_inverts_the_tail_from_half_a_degree_to_ten_million() {
        for df in [0.5, 1.0, 1.7, 3.0, 9.0, 40.0, 1e3, 1e5, 1e7] {
            for q in [0.499, 0.2, 0.025, 1e-4, 1e-9, 1e-30] {
                close(t_sf(t_upper(q, df), df), q, 1e-7);
            }
        }
        assert_eq!(t_upper(0.5, 3.0), 0.0);
        assert!(t_upper(0.1, 0.0).is_nan());
        assert!(t_upper(f64::NAN, 3.0).is_nan());
    }

    #[test]
    fn t_quantile_at_one_and_two_degrees_has_its_closed_form() {
        for q in [0.3_f64, 0.01, 1e-6] {
            close(
                t_upper(q, 1.0),
                1.0 / (std::f64::consts::PI * q).tan(),
                1e-12,
            );
            close(
                t_upper(q, 2.0),
                (1.0 - 2.0 * q) / (2.0 * q * (1.0 - q)).sqrt(),
                1e-12,
            );
        }
    }

    #[test]
    fn tails_do_not_vanish_where_one_minus_cdf_would() {
        close(
            t_two_sided(-161.716_111_884_852_04, 124.436_586_625_685_32),
            1.662_325e-146,
            1e-5,
        );
        close(normal_sf(10.0), 7.619_853_024_160_527e-24, 1e-9);
        close(chi2_sf(200.0, 2.0), (-100.0_f64).exp(), 1e-9);
    }

    #[test]
    fn normal_chi_squared_and_f_agree_with_tables() {
        close(normal_upper(0.025), 1.959_963_984_540_054, 1e-12);
        close(normal_upper(0.975), -1.959_963_984_540_054, 1e-12);
        close(chi2_sf(3.841_458_820_694_124, 1.0), 0.05, 1e-9);
        close(chi2_sf(5.991_464_547_107_979, 2.0), 0.05, 1e-9);
        close(f_sf(5.317_655_072_0, 1.0, 8.0), 0.05, 1e-8);
        close(f_sf(2.0, 2.0, 10.0), (1.0_f64 + 0.4).powi(-5), 1e-9);
    }

    #[test]
    fn a_tail_near_the_middle_keeps_its_distance_from_one_half() {
        for t in [1e-9, -1e-9, 1e-12] {
            // One degree has the density 1 / pi there, and two have the root of 1 / 8.
            for (df, density) in [(1.0, 1.0 / std::f64::consts::PI), (2.0, 0.125_f64.sqrt())] {
                assert!(
                    (t_sf(t, df) - (0.5 - t * density)).abs() < 2e-16,
                    "{t} {df}"
                );
            }
        }
    }

    #[test]
    fn tails_of_squares_begin_at_one() {
        for x in [0.0, 0.25, 0.5, 1.0, 3.0_f64] {
            close(chi2_sf(x, 2.0), (-x / 2.0).exp(), 1e-12);
            close(f_sf(x, 2.0, 10.0), (1.0 + x / 5.0).powi(-5), 1e-12);
            assert_eq!([chi2_sf(-x, 2.0), f_sf(-x, 2.0, 10.0)], [1.0, 1.0]);
        }
    }
}
