//! The rule: the verdict for an interval.
//!
//! All values are logarithms of a ratio or, if values are not positive, shares of the baseline's
//! mean. [`Scale`] converts both.
#![forbid(unsafe_code)]

use super::paired::Paired;
use crate::value::{Better, Verdict};

/// Fewest blocks of a verdict. With fewer, the level of error does not hold under a strong drift,
/// which leaves little more than the signs of differences to chance.
pub const BLOCKS_MIN: usize = 6;

/// Unadjusted two-sided error of every verdict.
pub const ALPHA: f64 = 0.05;

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
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Difference => "difference",
        }
    }

    /// A percentage, such as a margin, as a distance from no effect.
    #[must_use]
    pub fn distance(self, pct: f64) -> f64 {
        match self {
            Self::Log => (pct / 100.0).ln_1p(),
            Self::Difference => pct / 100.0,
        }
    }

    /// An effect in per cent.
    #[must_use]
    pub fn pct(self, effect: f64) -> f64 {
        match self {
            Self::Log => 100.0 * effect.exp_m1(),
            Self::Difference => 100.0 * effect,
        }
    }
}

/// Parameters of a verdict that are fixed before the effect is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// The better direction.
    pub better: Better,
    /// Distance of the declared margin from no effect.
    pub margin: f64,
    /// Distance of the noise floor; `None` without a control, which excludes a verdict.
    pub floor: Option<f64>,
    /// The control differs from the baseline by more than chance, which excludes a verdict.
    pub control_failed: bool,
}

/// Position of an interval against a rule, before any reason to withhold a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Less,
    Within,
    Greater,
    Open,
}

impl Rule {
    /// The distance from no effect beyond which the whole interval must be for keep or revert.
    #[must_use]
    pub fn threshold(&self) -> f64 {
        self.margin.max(self.floor.unwrap_or(f64::INFINITY))
    }

    /// True if this run is quiet enough for the verdict equivalent. Only the declared margin counts
    /// here: if noise widened it, a true 2 % could become no change.
    #[must_use]
    pub fn can_be_equivalent(&self) -> bool {
        self.floor.is_some_and(|floor| floor <= self.margin)
    }

    /// The verdict on an interval of the effect from `n` blocks.
    #[must_use]
    pub fn decide(&self, interval: [f64; 2], n: usize) -> Verdict {
        if n < BLOCKS_MIN || self.control_failed || self.floor.is_none() {
            return Verdict::Inconclusive;
        }
        match (self.side(interval), self.better) {
            (Side::Within, _) => Verdict::Equivalent,
            (Side::Open, _) => Verdict::Inconclusive,
            (Side::Less, Better::Lower) | (Side::Greater, Better::Higher) => Verdict::Keep,
            (Side::Less, Better::Higher) | (Side::Greater, Better::Lower) => Verdict::Revert,
        }
    }

    fn side(&self, [low, high]: [f64; 2]) -> Side {
        if low > self.threshold() {
            Side::Greater
        } else if high < -self.threshold() {
            Side::Less
        } else if self.can_be_equivalent() && -self.margin <= low && high <= self.margin {
            Side::Within
        } else {
            Side::Open
        }
    }

    /// One-sided p of the best claim that could be made: keep, revert or equivalent.
    #[must_use]
    pub fn best_p(&self, effect: &Paired) -> f64 {
        let threshold = self.threshold();
        let beyond = effect.p_above(threshold).min(effect.p_below(-threshold));
        if self.can_be_equivalent() {
            beyond.min(effect.p_within(self.margin))
        } else {
            beyond
        }
    }
}

/// Non-inferiority: true if no part of the interval is worse than the margin.
#[must_use]
pub fn no_worse(interval: [f64; 2], margin: f64, better: Better) -> bool {
    match better {
        Better::Lower => interval[1] < margin,
        Better::Higher => interval[0] > -margin,
    }
}

/// The state of a promise such as "at most 0.5 times the baseline" in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// The whole interval satisfies it: a document may claim it.
    Holds,
    /// The interval includes the limit: neither broken nor proven.
    Open,
    /// The whole interval violates it: a check fails.
    Broken,
}

/// Compares an interval of an effect with the limit of a promise, both in per cent. A ratio of at
/// most 0.5 is an effect of at most -50.
#[must_use]
pub fn gate(interval_pct: [f64; 2], limit_pct: f64, better: Better) -> Gate {
    let [best, worst] = match better {
        Better::Lower => [interval_pct[0] - limit_pct, interval_pct[1] - limit_pct],
        Better::Higher => [limit_pct - interval_pct[1], limit_pct - interval_pct[0]],
    };
    if worst <= 0.0 {
        Gate::Holds
    } else if best > 0.0 {
        Gate::Broken
    } else {
        Gate::Open
    }
}

#[cfg(test)]
mod tests {
    use super::{Gate, Rule, Scale, gate, no_worse};
    use crate::paired::Paired;
    use crate::value::{Better, Verdict};

    fn rule() -> Rule {
        let margin = Scale::Log.distance(1.0);
        Rule {
            better: Better::Lower,
            margin,
            floor: Some(0.005),
            control_failed: false,
        }
    }

    #[test]
    fn an_interval_wholly_beyond_the_margin_decides_and_one_within_is_equivalent() {
        let rule = rule();
        for (interval, wanted) in [
            ([-0.03, -0.02], Verdict::Keep),
            ([0.02, 0.03], Verdict::Revert),
            ([-0.004, 0.009], Verdict::Equivalent),
            ([-0.02, -0.005], Verdict::Inconclusive),
            ([-0.03, 0.03], Verdict::Inconclusive),
        ] {
            assert_eq!(rule.decide(interval, 10), wanted, "{interval:?}");
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
    fn a_floor_above_the_margin_raises_the_bar_and_forbids_equivalence() {
        let noisy = Rule {
            floor: Some(0.025),
            ..rule()
        };
        assert_eq!(noisy.decide([-0.03, -0.02], 10), Verdict::Inconclusive);
        assert_eq!(noisy.decide([-0.04, -0.03], 10), Verdict::Keep);
        assert_eq!(noisy.decide([-0.001, 0.001], 10), Verdict::Inconclusive);
        assert!(!noisy.can_be_equivalent());
    }

    #[test]
    fn five_blocks_a_failed_control_or_none_at_all_decide_nothing() {
        let sure = [-0.9, -0.8];
        assert_eq!(rule().decide(sure, 6), Verdict::Keep);
        assert_eq!(rule().decide(sure, 5), Verdict::Inconclusive);
        let failed = Rule {
            control_failed: true,
            ..rule()
        };
        assert_eq!(failed.decide(sure, 60), Verdict::Inconclusive);
        let blind = Rule {
            floor: None,
            ..rule()
        };
        assert_eq!(blind.decide(sure, 60), Verdict::Inconclusive);
    }

    #[test]
    fn best_p_and_the_interval_agree_at_every_level() {
        for floor in [0.0, 0.005, 0.02] {
            let rule = Rule {
                floor: Some(floor),
                ..rule()
            };
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
    fn a_promise_is_broken_only_when_the_whole_interval_breaks_it() {
        assert_eq!(gate([-60.0, -51.0], -50.0, Better::Lower), Gate::Holds);
        assert_eq!(gate([-55.0, -45.0], -50.0, Better::Lower), Gate::Open);
        assert_eq!(gate([-49.0, -45.0], -50.0, Better::Lower), Gate::Broken);
        assert_eq!(gate([21.0, 30.0], 20.0, Better::Higher), Gate::Holds);
        assert_eq!(gate([1.0, 19.0], 20.0, Better::Higher), Gate::Broken);
        assert!(no_worse([-0.5, 0.009], 0.01, Better::Lower));
        assert!(!no_worse([-0.5, 0.011], 0.01, Better::Lower));
        assert!(no_worse([-0.009, 0.5], 0.01, Better::Higher));
    }

    #[test]
    fn an_interval_that_touches_a_limit_is_within_the_margin_and_not_beyond_it() {
        let rule = Rule {
            margin: 0.25,
            floor: Some(0.125),
            ..rule()
        };
        for (interval, wanted) in [
            ([-0.25, 0.25], Verdict::Equivalent),
            ([-0.251, 0.25], Verdict::Inconclusive),
            ([-0.25, 0.251], Verdict::Inconclusive),
            ([0.25, 0.5], Verdict::Inconclusive),
            ([0.251, 0.5], Verdict::Revert),
            ([-0.5, -0.25], Verdict::Inconclusive),
            ([-0.5, -0.251], Verdict::Keep),
        ] {
            assert_eq!(rule.decide(interval, 6), wanted, "{interval:?}");
        }
        let as_noisy = Rule {
            floor: Some(0.25),
            ..rule
        };
        assert!(as_noisy.can_be_equivalent());
        assert_eq!(as_noisy.threshold(), 0.25);
    }

    #[test]
    fn a_promise_holds_up_to_its_limit_and_is_broken_beyond_it() {
        for (interval, lower, wanted) in [
            ([-60.0, -50.0], true, Gate::Holds),
            ([-60.0, -49.5], true, Gate::Open),
            ([-50.0, -45.0], true, Gate::Open),
            ([-49.5, -49.0], true, Gate::Broken),
            ([-50.0, -40.0], false, Gate::Holds),
            ([-50.5, -40.0], false, Gate::Open),
            ([-60.0, -50.0], false, Gate::Open),
            ([-60.0, -50.5], false, Gate::Broken),
        ] {
            let better = if lower { Better::Lower } else { Better::Higher };
            assert_eq!(
                gate(interval, -50.0, better),
                wanted,
                "{interval:?} {better:?}"
            );
        }
        // Non-inferiority excludes the margin itself.
        assert!(!no_worse([-0.5, 0.25], 0.25, Better::Lower));
        assert!(!no_worse([-0.25, 0.5], 0.25, Better::Higher));
        assert!(!no_worse([-0.5, 0.5], 0.25, Better::Higher));
    }
}
