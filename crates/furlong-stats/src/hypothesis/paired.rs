//! Differences within blocks: their mean, its interval, and the p of every claim about it.

use crate::describe::Moments;
use crate::distribution::{t_sf, t_test, t_upper};
use crate::value::TTest;

/// The largest number of blocks that is reported.
pub const BLOCKS_NAMED_MAX: u32 = 10_000;

/// Probability of a verdict for which runs are planned.
const POWER: f64 = 0.80;

/// The mean of one difference per block, and its precision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paired {
    /// Blocks.
    pub n: usize,
    /// Mean difference.
    pub mean: f64,
    /// Standard deviation of the differences.
    pub stddev: f64,
}

impl Paired {
    /// The mean of at least two differences; otherwise `None`.
    pub fn of(differences: &[f64]) -> Option<Self> {
        let m = Moments::of(differences)?;
        // Equal blocks leave some 1e-16 after their values pass through a logarithm. Such a residue
        // is not a spread, and a t of 1e15 is not evidence.
        let residue = 1e-14
            * differences
                .iter()
                .fold(0.0_f64, |most, d| most.max(d.abs()));
        let stddev = if m.stddev() <= residue {
            0.0
        } else {
            m.stddev()
        };
        Some(Self {
            n: m.n,
            mean: m.mean,
            stddev,
        })
    }

    /// Degrees of freedom.
    pub fn df(&self) -> f64 {
        self.n as f64 - 1.0
    }

    /// Standard error of the mean.
    pub fn standard_error(&self) -> f64 {
        self.stddev / (self.n as f64).sqrt()
    }

    /// Half width of the interval at a level such as 0.95; infinite at 1.
    pub fn half_width(&self, level: f64) -> f64 {
        if level == 1.0 {
            return f64::INFINITY;
        }
        t_upper((1.0 - level) / 2.0, self.df()) * self.standard_error()
    }

    /// Interval of the mean at a level such as 0.95.
    pub fn interval(&self, level: f64) -> [f64; 2] {
        let half = self.half_width(level);
        [self.mean - half, self.mean + half]
    }

    /// t test against no difference; `None` without variance.
    pub fn test(&self) -> Option<TTest> {
        t_test(self.mean / self.standard_error(), self.df())
    }

    /// One-sided p of the claim that the true mean is above `limit`.
    pub fn p_above(&self, limit: f64) -> f64 {
        let distance = self.mean - limit;
        if self.stddev == 0.0 {
            return if distance > 0.0 { 0.0 } else { 1.0 };
        }
        t_sf(distance / self.standard_error(), self.df())
    }

    /// One-sided p of the claim that the true mean is below `limit`.
    pub fn p_below(&self, limit: f64) -> f64 {
        Self {
            mean: -self.mean,
            ..*self
        }
        .p_above(-limit)
    }

    /// p of the claim that the true mean is within `limit` of zero: the larger of two one-sided p.
    pub fn p_within(&self, limit: f64) -> f64 {
        self.p_below(limit).max(self.p_above(-limit))
    }

    /// The distance beyond the margin at which an effect has an 80 % chance of a verdict.
    pub fn reach(&self) -> f64 {
        self.quantiles() * self.standard_error()
    }

    /// Blocks that would give this effect an 80 % chance of a verdict at this margin. The number is
    /// from `blocks_min` to [`BLOCKS_NAMED_MAX`], which means more than that.
    pub fn blocks_needed(&self, margin: f64, blocks_min: u32) -> u32 {
        let beyond = (self.mean.abs() - margin).abs();
        let blocks = (self.quantiles() * self.stddev / beyond).powi(2).ceil();
        if self.stddev == 0.0 {
            blocks_min
        } else if blocks < f64::from(BLOCKS_NAMED_MAX) {
            (blocks as u32).max(blocks_min)
        } else {
            BLOCKS_NAMED_MAX
        }
    }

    fn quantiles(&self) -> f64 {
        t_upper(0.025, self.df()) + t_upper(1.0 - POWER, self.df())
    }
}

#[cfg(test)]
mod tests {
    use super::Paired;

    const K: f64 = 10.0;

    fn ten() -> Paired {
        Paired {
            n: 10,
            mean: 0.02,
            stddev: 0.01,
        }
    }

    #[test]
    fn interval_and_test_follow_student() {
        let half = 2.262_157_162_740_992 * 0.01 / K.sqrt();
        let [low, high] = ten().interval(0.95);
        assert!((low - (0.02 - half)).abs() < 1e-12 && (high - (0.02 + half)).abs() < 1e-12);
        let test = ten().test().unwrap();
        assert!((test.t - 2.0 * K.sqrt()).abs() < 1e-12);
        assert_eq!(test.df, 9.0);
    }

    #[test]
    fn only_the_whole_line_holds_the_mean_for_certain() {
        for stddev in [0.0, 0.01] {
            let found = Paired { stddev, ..ten() }.interval(1.0);
            assert_eq!(found, [f64::NEG_INFINITY, f64::INFINITY]);
        }
    }

    #[test]
    fn a_claim_has_p_two_and_a_half_per_cent_where_the_interval_touches_it() {
        let [low, high] = ten().interval(0.95);
        assert!((ten().p_above(low) - 0.025).abs() < 1e-12);
        assert!((ten().p_below(high) - 0.025).abs() < 1e-12);
        assert!((ten().p_within(high) - 0.025).abs() < 1e-12);
        assert!((ten().p_above(0.02) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn blocks_needed_is_the_planning_formula_and_is_capped() {
        let t = 2.262_157_162_740_992 + 0.883_403_859_688_4;
        assert!((ten().reach() - t * 0.01 / K.sqrt()).abs() < 1e-9);
        let wanted = (t * 0.01 / 0.002_f64).powi(2).ceil() as u32;
        assert_eq!(ten().blocks_needed(0.022, 6), wanted);
        assert_eq!(ten().blocks_needed(0.02, 6), 10_000);
        assert_eq!(ten().blocks_needed(0.5, 6), 6);
    }

    #[test]
    fn rounding_is_not_taken_for_variance() {
        let third = 0.1_f64 + 0.2;
        let found = Paired::of(&[0.3, third, 0.3, third]).unwrap();
        assert_eq!((found.stddev, found.test()), (0.0, None));
        assert_eq!(
            (found.p_above(0.2), found.p_above(0.4), found.p_within(0.5)),
            (0.0, 1.0, 0.0)
        );
        assert_eq!(Paired::of(&[0.3]), None);
    }

    #[test]
    fn without_variance_only_what_is_beyond_a_limit_is_proven() {
        let exact = Paired {
            stddev: 0.0,
            ..ten()
        };
        let claims = |limit| (exact.p_above(limit), exact.p_below(limit));
        assert_eq!(claims(0.02), (1.0, 1.0));
        assert_eq!(claims(0.019), (0.0, 1.0));
        assert_eq!(claims(0.021), (1.0, 0.0));
        // Also for an effect at the margin.
        assert_eq!(
            [0.0, 0.02, 0.5].map(|margin| exact.blocks_needed(margin, 6)),
            [6; 3]
        );
        let wide = Paired {
            stddev: 1.0,
            ..ten()
        };
        assert_eq!(wide.blocks_needed(0.0, 6), 10_000);
    }

    #[test]
    fn the_planning_formula_ends_at_both_limits_of_what_is_named() {
        // (t.975 + t.80) deviations of 0.01, with 9 degrees of freedom.
        let t = 2.262_157_162_740_992 + 0.883_403_859_688_4;
        let at = |blocks: f64| ten().blocks_needed(0.02 + 0.01 * t / blocks.sqrt(), 6);
        assert_eq!(
            [at(9_998.5), at(9_999.5), at(10_500.0)],
            [9_999, 10_000, 10_000]
        );
        assert_eq!([at(5.5), at(6.5), at(7.5)], [6, 7, 8]);
    }

    #[test]
    fn differences_of_any_size_vary_unless_they_are_equal_to_the_last_digit() {
        for size in [1e-12, 1e-6, 1.0, 1e6, 1e12] {
            let found = Paired::of(&[size, 1.001 * size, size, 1.001 * size]).unwrap();
            let wanted = 0.001 * size / 3.0_f64.sqrt();
            assert!((found.stddev / wanted - 1.0).abs() < 1e-6, "{size}");
            let next = size * (1.0 + f64::EPSILON);
            assert_eq!(
                Paired::of(&[size, next, size]).unwrap().stddev,
                0.0,
                "{size}"
            );
        }
    }
}
