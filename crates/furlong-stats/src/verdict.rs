//! The rule: the verdict for an interval.
//!
//! All values are logarithms of a ratio or, if values are not positive, shares of the baseline's
//! mean. [`Scale`] converts both.

use super::paired::Paired;
use crate::value::{Better, Direction, Verdict};

/// Fewest blocks of a verdict. With fewer, the level of error does not hold under a strong drift,
/// which leaves little more than the signs of differences to chance.
pub const BLOCKS_MIN: usize = 6;

/// Unadjusted two-sided error of every verdict.
pub const ALPHA: f64 = 0.05;

/// Share of a margin by which a fact may be beyond it. A change by exactly the margin is within it,
/// but its logarithm may be rounded up.
pub(crate) const ROUNDING: f64 = 1e-9;

/// The unit of effects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Differences of logarithms.
    Log,
    /// Differences relative to the baseline's mean, if a value is not positive.
    Difference,
}

impl Scale {
    /// Its name in the result file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Difference => "difference",
        }
    }

    /// A percentage, such as a margin, as a distance from no effect.
    pub fn distance(self, pct: f64) -> f64 {
        match self {
            Self::Log => (pct / 100.0).ln_1p(),
            Self::Difference => pct / 100.0,
        }
    }

    /// An effect in per cent.
    pub fn pct(self, effect: f64) -> f64 {
        match self {
            Self::Log => 100.0 * effect.exp_m1(),
            Self::Difference => 100.0 * effect,
        }
    }
}

/// State of the control: the baseline, compared with itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// It differs from the baseline by chance at most, or by too little to matter.
    Passed,
    /// It differs from the baseline by more than that.
    Failed,
    /// There is none.
    Missing,
}

/// Parameters of a verdict that are fixed before the effect is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// The better direction.
    pub better: Better,
    /// Distance of the declared margin from no effect.
    pub margin: f64,
    /// Only a control that passed allows a verdict.
    pub control: Check,
}

impl Rule {
    /// True if `n` blocks and this control allow a claim.
    fn allows(&self, n: usize) -> bool {
        n >= BLOCKS_MIN && self.control == Check::Passed
    }

    /// The verdict on an interval of the effect from `n` blocks. Only the margin counts: the
    /// interval contains the noise already.
    pub fn decide(&self, interval: [f64; 2], n: usize) -> Verdict {
        if !self.allows(n) {
            return Verdict::Inconclusive;
        }
        let ([low, high], margin) = (interval, self.margin);
        if low > margin || high < -margin {
            self.better.beyond(low > margin)
        } else if -margin <= low && high <= margin {
            Verdict::Equivalent
        } else {
            Verdict::Inconclusive
        }
    }

    /// The direction of an effect whose interval, from `n` blocks, excludes no effect. It is known
    /// before its size is: also without a verdict, though never without a control that passed.
    pub fn direction(&self, interval: [f64; 2], n: usize) -> Option<Direction> {
        self.better.direction(interval).filter(|_| self.allows(n))
    }

    /// One-sided p of the best claim that could be made: keep, revert or equivalent.
    pub fn best_p(&self, effect: &Paired) -> f64 {
        let beyond = effect
            .p_above(self.margin)
            .min(effect.p_below(-self.margin));
        beyond.min(effect.p_within(self.margin))
    }
}

#[cfg(test)]
mod tests {
    use super::{Check, Rule, Scale};
    use crate::paired::Paired;
    use crate::value::{Better, Direction, Verdict};

    fn rule() -> Rule {
        let margin = Scale::Log.distance(1.0);
        Rule {
            better: Better::Lower,
            margin,
            control: Check::Passed,
        }
    }

    #[test]
    fn swapping_the_arms_or_the_direction_turns_the_verdict_over() {
        let turned = |v| match v {
            Verdict::Keep => Verdict::Revert,
            Verdict::Revert => Verdict::Keep,
            other => other,
        };
        let higher = Rule {
            better: Better::Higher,
            ..rule()
        };
        for i in -40..40 {
            for width in [0.001, 0.01, 0.1] {
                let low = f64::from(i) / 1000.0;
                let found = rule().decide([low, low + width], 8);
                assert_eq!(rule().decide([-low - width, -low], 8), turned(found));
                assert_eq!(higher.decide([low, low + width], 8), turned(found));
            }
        }
    }

    #[test]
    fn an_interval_without_zero_has_a_direction_even_if_the_verdict_is_open() {
        let higher = Rule {
            better: Better::Higher,
            ..rule()
        };
        for (interval, lower, wanted) in [
            (
                [0.001, 0.044],
                Some(Direction::Worse),
                Verdict::Inconclusive,
            ),
            (
                [-0.044, -0.001],
                Some(Direction::Better),
                Verdict::Inconclusive,
            ),
            ([0.001, 0.004], Some(Direction::Worse), Verdict::Equivalent),
            ([0.02, 0.03], Some(Direction::Worse), Verdict::Revert),
            ([0.0, 0.044], None, Verdict::Inconclusive),
            ([-0.044, 0.0], None, Verdict::Inconclusive),
            ([-0.004, 0.004], None, Verdict::Equivalent),
        ] {
            assert_eq!(rule().direction(interval, 6), lower, "{interval:?}");
            assert_eq!(rule().decide(interval, 6), wanted, "{interval:?}");
            let turned = lower.map(|direction| match direction {
                Direction::Better => Direction::Worse,
                Direction::Worse => Direction::Better,
            });
            assert_eq!(higher.direction(interval, 6), turned, "{interval:?}");
        }
    }

    #[test]
    fn five_blocks_a_failed_control_or_none_at_all_decide_nothing() {
        let sure = [-0.9, -0.8];
        let said = |control, n| {
            let rule = Rule { control, ..rule() };
            (rule.decide(sure, n), rule.direction(sure, n))
        };
        let nothing = (Verdict::Inconclusive, None);
        assert_eq!(
            said(Check::Passed, 6),
            (Verdict::Keep, Some(Direction::Better))
        );
        assert_eq!(said(Check::Passed, 5), nothing);
        assert_eq!(said(Check::Failed, 60), nothing);
        assert_eq!(said(Check::Missing, 60), nothing);
    }

    #[test]
    fn best_p_and_the_interval_agree_at_every_level() {
        for margin in [0.0, 0.005, 0.02] {
            let rule = Rule { margin, ..rule() };
            for i in -60..60 {
                let effect = Paired {
                    n: 9,
                    mean: f64::from(i) / 1500.0,
                    stddev: 0.006,
                };
                for level in [0.9, 0.95, 0.975, 0.99] {
                    let decided = rule.decide(effect.interval(level), 9) != Verdict::Inconclusive;
                    assert_eq!(
                        decided,
                        rule.best_p(&effect) <= (1.0 - level) / 2.0,
                        "{effect:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_margin_is_the_same_distance_both_ways_on_the_logarithmic_scale() {
        let m = Scale::Log.distance(1.0);
        assert!((Scale::Log.pct(m) - 1.0).abs() < 1e-12);
        assert!((Scale::Log.pct(-m) + 100.0 / 101.0).abs() < 1e-12);
        assert!((Scale::Difference.pct(Scale::Difference.distance(3.0)) - 3.0).abs() < 1e-12);
    }

    #[test]
    fn an_interval_that_touches_a_limit_is_within_the_margin_and_not_beyond_it() {
        let rule = Rule {
            margin: 0.25,
            ..rule()
        };
        for (interval, wanted) in [
            ([-0.25, 0.25], Verdict::Equivalent),
            ([-0.251, 0.25], Verdict::Inconclusive),
            ([-0.25, 0.251], Verdict::Inconclusive),
            ([-0.5, 0.5], Verdict::Inconclusive),
            ([0.25, 0.5], Verdict::Inconclusive),
            ([0.251, 0.5], Verdict::Revert),
            ([-0.5, -0.25], Verdict::Inconclusive),
            ([-0.5, -0.251], Verdict::Keep),
        ] {
            assert_eq!(rule.decide(interval, 6), wanted, "{interval:?}");
        }
    }
}
