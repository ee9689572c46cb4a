//! One arm against the baseline in one metric: everything except the verdict, which may depend on
//! other comparisons.

use super::blocks::Blocks;
use super::exact;
use super::layouts::Layouts;
use super::paired::{BLOCKS_NAMED_MAX, Paired};
use super::rank::mann_whitney;
use super::sign_flip::sign_flip_p;
use super::stopping::Stopping;
use super::student::student;
use super::variance::brown_forsythe;
use super::verdict::{ALPHA, BLOCKS_MIN, Check, ROUNDING, Rule, Scale};
use super::welch::welch;
use crate::value::{Better, Comparison, TTest, Verdict};

/// Seed of the sign-flip test beyond its exact range. It is constant: a stored run that is judged
/// again gets the same p.
const SIGN_FLIP_SEED: u64 = 0x0066_7572_6c6f_6e67;

/// The subject of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// Name of the baseline.
    pub baseline: &'a str,
    /// Name of the arm.
    pub arm: &'a str,
    /// Name of the metric.
    pub metric: &'a str,
    /// The better direction.
    pub better: Better,
    /// In per cent.
    pub margin_pct: f64,
}

impl Question<'_> {
    fn blank(&self, n: usize, effect_pct: f64) -> Comparison {
        Comparison {
            baseline: self.baseline.to_owned(),
            arm: self.arm.to_owned(),
            metric: self.metric.to_owned(),
            n,
            effect_pct: effect_pct.clamp(f64::MIN, f64::MAX),
            margin_pct: self.margin_pct,
            verdict: Verdict::Inconclusive,
            ..Comparison::default()
        }
    }
}

/// A comparison of sampled values, with the data for its verdict.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// Complete except for `verdict`, `direction`, `ci_adj_pct`, `level` and `reason`.
    pub comparison: Comparison,
    /// Parameters that are fixed before the effect is known.
    pub rule: Rule,
    /// The unit of effects.
    pub scale: Scale,
    /// The least possible effect.
    pub least: f64,
    /// The effect with its spread; `None` with fewer than two blocks.
    pub effect: Option<Paired>,
    /// No value varies: numbers are compared, without a test.
    pub constant: bool,
    /// Differences are relative to the mean of all values, since the baseline's mean is zero.
    pub from_zero: bool,
}

impl Evidence {
    /// The evidence from at least one block; otherwise `None`. With layouts, their means are the
    /// replicates instead of the blocks.
    pub fn of(
        question: &Question<'_>,
        blocks: &Blocks,
        layouts: Option<&Layouts>,
        control: Check,
        stopping: Stopping,
    ) -> Option<Self> {
        let n = blocks.n();
        let scale = blocks.scale();
        let mut effects = blocks.effects();
        if n == 0 {
            return None;
        }
        let mut by_layout = layouts.map(|layouts| layouts.explain(&blocks.places, &effects));
        if let Some(layouts) = layouts {
            effects = layouts.means(&blocks.places, &effects);
        }
        let effect = stopping.effect(&effects);
        let constant = blocks.is_constant();
        // A damaged record can have samples of blocks that it does not name: they have no layout.
        let mean = effect.map_or(*effects.first()?, |e| e.mean);
        let least = blocks.least_effect();
        let mut comparison = question.blank(n, scale.pct(mean));
        comparison.scale = Some(scale.name().to_owned());
        let rule = Rule {
            better: question.better,
            margin: scale.distance(question.margin_pct),
            control,
        };
        if let Some(effect) = effect.filter(|_| !constant) {
            test(&mut comparison, blocks, &effects);
            comparison.ci95_pct = Some(pct(scale, least, effect.interval(1.0 - ALPHA)));
            comparison.paired = effect.test();
            let reach = scale.pct(rule.margin + effect.reach());
            comparison.mde_pct = Some(reach.min(f64::MAX));
            // The plan needs the spread of single differences, even if the interval uses the
            // pilot's.
            let spread = Paired::of(&effects).unwrap_or(effect);
            let needed = |spread: Paired| spread.blocks_needed(rule.margin, BLOCKS_MIN as u32);
            comparison.n_needed = Some(match &mut by_layout {
                None => needed(spread),
                Some(by_layout) => {
                    // Layouts are made before anything is measured: enough of them decide both
                    // between none and the margin, and between that and its double.
                    let mean = 0.0;
                    let needed = needed(Paired { mean, ..spread });
                    by_layout.needed = Some(needed);
                    let each = n.div_ceil(by_layout.layouts.max(1)) as u32;
                    needed.saturating_mul(each).min(BLOCKS_NAMED_MAX)
                }
            });
        }
        comparison.by_layout = by_layout;
        let from_zero = blocks.from_zero();
        Some(Self {
            comparison,
            rule,
            scale,
            least,
            effect,
            constant,
            from_zero,
        })
    }

    /// An interval in per cent, without its impossible part.
    pub fn pct(&self, interval: [f64; 2]) -> [f64; 2] {
        pct(self.scale, self.least, interval)
    }

    /// True if it takes part in adjustments: a constant is not tested.
    pub fn is_tested(&self) -> bool {
        self.effect.is_some() && !self.constant
    }

    /// One-sided p of the best claim it could make.
    pub fn best_p(&self) -> f64 {
        self.effect.map_or(1.0, |effect| self.rule.best_p(&effect))
    }

    /// Decides at a level such as 0.95. With a second level, such as 0.99, a difference is only
    /// claimed if the interval at that level excludes no difference too. `family` is the number of
    /// comparisons in the adjustment, 1 without one.
    pub fn decided(mut self, level: f64, chance: Option<f64>, family: usize) -> Comparison {
        let Some(effect) = self.effect else {
            self.comparison.reason = Some(self.reason());
            return self.comparison;
        };
        if self.constant {
            let exactly = [effect.mean; 2];
            self.rule.margin *= 1.0 + ROUNDING;
            let verdict = self.rule.decide(exactly, effect.n);
            self.comparison.verdict = verdict;
            self.comparison.direction = self.rule.direction(exactly, effect.n);
            let stands = verdict != Verdict::Inconclusive;
            let fact =
                "no value varies: the values are compared as numbers, without a test".to_owned();
            self.comparison.reason = Some(if stands { fact } else { self.reason() });
            return self.comparison;
        }
        let interval = effect.interval(level);
        self.comparison.verdict = self.rule.decide(interval, effect.n);
        self.comparison.direction = self.rule.direction(interval, effect.n);
        let adjusted = self.pct(interval);
        // Without an end above, the interval excludes nothing that a reader may expect.
        if (family > 1 || level != 1.0 - ALPHA) && adjusted[1] < f64::MAX {
            self.comparison.ci_adj_pct = Some(adjusted);
            self.comparison.level = Some(level);
        }
        let is_change = matches!(self.comparison.verdict, Verdict::Keep | Verdict::Revert);
        let spans = |level| {
            let [low, high] = effect.interval(level);
            low <= 0.0 && high >= 0.0
        };
        if is_change && chance.is_some_and(spans) {
            self.comparison.verdict = Verdict::Inconclusive;
            self.comparison.reason = Some(CHANCE.to_owned());
            return self.comparison;
        }
        if self.comparison.verdict == Verdict::Inconclusive {
            let alone = self.rule.decide(effect.interval(1.0 - ALPHA), effect.n);
            self.comparison.reason = Some(if alone == Verdict::Inconclusive {
                self.reason()
            } else if family > 1 {
                format!("decided on its own, but not after the correction for {family} comparisons")
            } else {
                EARLY.to_owned()
            });
        } else if self.from_zero {
            self.comparison.reason = Some(FROM_ZERO.to_owned());
        }
        self.comparison
    }

    /// The reason why there is no verdict.
    fn reason(&self) -> String {
        let by_layout = self.comparison.by_layout.as_ref();
        match self.rule.control {
            _ if by_layout.is_some_and(|by_layout| by_layout.layouts < BLOCKS_MIN) => {
                format!(
                    "a verdict needs {BLOCKS_MIN} layouts: run it with --layouts {BLOCKS_MIN} or \
                     more"
                )
            }
            _ if self.comparison.n < BLOCKS_MIN => {
                format!(
                    "a verdict needs {BLOCKS_MIN} blocks: run it with --blocks {BLOCKS_MIN} or more"
                )
            }
            Check::Missing => {
                "there is no control, so noise and effect cannot be separated".to_owned()
            }
            Check::Failed => "control failed: the baseline differs from itself".to_owned(),
            Check::Passed => CROSSES.to_owned(),
        }
    }
}

/// The reason in a comparison whose size alone is open.
pub const CROSSES: &str = "the interval crosses the margin";

/// The reason in a comparison whose interval lies beyond the margin, in a run that may end early.
pub const CHANCE: &str = "at 99.5 %, which early stopping needs, no difference is still possible";

/// The reason in a comparison that a run without interim looks would have decided.
pub const EARLY: &str = "decided at 95 %, but not after the correction for early looks";

/// The reason in a comparison with a baseline of zero.
pub const FROM_ZERO: &str = "the baseline is zero: per cent of the mean of all values";

/// The tests shown beside the verdict.
fn test(comparison: &mut Comparison, blocks: &Blocks, effects: &[f64]) {
    let (a, b) = (&blocks.baseline, &blocks.arm);
    comparison.sign_flip_p = Some(sign_flip_p(effects, SIGN_FLIP_SEED));
    comparison.variance = brown_forsythe(a, b);
    comparison.welch = welch(a, b).filter(|t: &TTest| t.df.is_finite());
    comparison.student = student(a, b, 1.0 - ALPHA);
    comparison.mann_whitney = Some(mann_whitney(a, b));
}

/// An interval in per cent. One of differences is symmetric, so it may begin below the least
/// possible effect; it is cut there. The verdict uses all of it.
fn pct(scale: Scale, least: f64, interval: [f64; 2]) -> [f64; 2] {
    interval.map(|end| scale.pct(end.max(least)).clamp(f64::MIN, f64::MAX))
}

/// A comparison of exact values; `None` if they cannot be matched.
pub fn exact(question: &Question<'_>, a: &[f64], b: &[f64]) -> Option<Comparison> {
    let fact = exact::compare(a, b, question.margin_pct, question.better)?;
    let mut comparison = question.blank(a.len().max(b.len()), fact.effect_pct);
    comparison.verdict = fact.verdict;
    comparison.direction = question.better.direction(fact.range_pct);
    let [least, greatest] = fact.range_pct;
    comparison.reason = if fact.from_zero {
        Some(FROM_ZERO.to_owned())
    } else if least < greatest {
        Some(format!(
            "from {least:+.2} % to {greatest:+.2} % over the inputs"
        ))
    } else {
        None
    };
    Some(comparison)
}
