//! A set against the first one: every test that two unpaired samples allow, side by side.
#![forbid(unsafe_code)]

use serde::Serialize;

use super::remark;
use crate::record::result::{MannWhitney, Student, TTest, VarianceTest};
use crate::stats::rank::{is_exact, least_p, mann_whitney};
use crate::stats::ratio::fieller_from_moments;
use crate::stats::shift::{hodges_lehmann, hodges_lehmann_interval};
use crate::stats::student::Pooled;
use crate::stats::variance::brown_forsythe;
use crate::stats::welch::Unpooled;
use crate::stats::{Moments, holm};

/// One set against the base. Intervals are at the report's confidence.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Name of the base.
    pub base: String,
    /// Name of the set.
    pub name: String,
    /// Mean of the set less mean of the base.
    pub difference: f64,
    /// Its interval, by Welch.
    pub difference_interval: [f64; 2],
    /// The difference in per cent of the base's mean, taken without its sign.
    pub difference_pct: Option<f64>,
    /// The same interval by Fieller; `None` where the base's mean cannot be told from zero.
    pub difference_pct_interval: Option<[f64; 2]>,
    /// Mean of the set over mean of the base.
    pub ratio: Option<f64>,
    /// Its interval, by Fieller.
    pub ratio_interval: Option<[f64; 2]>,
    /// Welch's test; `None` where neither set varies.
    pub welch: Option<TTest>,
    /// Welch's p adjusted by Holm, where several sets are compared.
    pub p_adjusted: Option<f64>,
    /// Whether a difference is proven: p, adjusted where there are several, is below what the
    /// confidence leaves; without any variance, whether there is one at all.
    pub different: bool,
    /// Student's line as ministat has it, by exact quantiles; `None` where the base's mean is 0.
    pub student: Option<Student>,
    /// Student's test.
    pub student_test: Option<TTest>,
    /// Mann-Whitney.
    pub mann_whitney: MannWhitney,
    /// Its p is exact rather than from the normal approximation.
    pub mann_whitney_exact: bool,
    /// The least p that ranks can give with so many values.
    pub mann_whitney_least_p: f64,
    /// Hodges and Lehmann's shift: the median of all differences.
    pub shift: Option<f64>,
    /// Its interval; `None` where there are too few values for one.
    pub shift_interval: Option<[f64; 2]>,
    /// Brown and Forsythe's test of the spreads.
    pub variance: Option<VarianceTest>,
    /// What to know before believing it, each a sentence.
    pub notes: Vec<String>,
}

/// A set of the comparison: its name, its values and what a t test needs of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side<'a> {
    pub(crate) name: &'a str,
    pub(crate) values: &'a [f64],
    pub(crate) moments: Moments,
}

/// Every set but the first against the first, at a level such as 0.95.
pub(crate) fn compare_all(sides: &[Side<'_>], level: f64) -> Vec<Comparison> {
    let Some((base, others)) = sides.split_first() else {
        return Vec::new();
    };
    let mut found: Vec<Comparison> = others.iter().map(|o| compare(*base, *o, level)).collect();
    if found.len() > 1 {
        let p: Vec<f64> = found.iter().map(|c| c.welch.map_or(1.0, |w| w.p)).collect();
        for (comparison, p) in found.iter_mut().zip(holm::adjust(&p)) {
            comparison.p_adjusted = comparison.welch.map(|_| p);
        }
    }
    for (comparison, other) in found.iter_mut().zip(others) {
        comparison.different = match comparison.welch {
            Some(welch) => comparison.p_adjusted.unwrap_or(welch.p) < 1.0 - level,
            None => comparison.difference != 0.0,
        };
        comparison.notes = remark::on_comparison(comparison, *base, *other, level);
    }
    found
}

fn compare(base: Side<'_>, other: Side<'_>, level: f64) -> Comparison {
    let (a, b) = (base.moments, other.moments);
    let welch = Unpooled::from_moments(a, b);
    let pooled = Pooled::from_moments(a, b);
    // Values near the ends of what a double holds can push a bound beyond it.
    let ratio_interval =
        fieller_from_moments(a, b, level).filter(|ends| ends.iter().all(|end| end.is_finite()));
    let (na, nb) = (base.values.len(), other.values.len());
    Comparison {
        base: base.name.to_string(),
        name: other.name.to_string(),
        difference: welch.difference,
        difference_interval: welch.interval(level),
        difference_pct: finite(100.0 * welch.difference / a.mean.abs()),
        difference_pct_interval: ratio_interval.map(|ends| per_cent(ends, a.mean)),
        ratio: finite(b.mean / a.mean),
        ratio_interval,
        welch: welch.test(),
        p_adjusted: None,
        different: false,
        student: crate::stats::student::student_from_moments(a, b, level),
        student_test: pooled.test(),
        mann_whitney: mann_whitney(base.values, other.values),
        mann_whitney_exact: is_exact(na, nb),
        mann_whitney_least_p: least_p(na, nb),
        shift: hodges_lehmann(base.values, other.values).map(positive_zero),
        shift_interval: hodges_lehmann_interval(base.values, other.values, level)
            .map(|ends| ends.map(positive_zero)),
        variance: brown_forsythe(base.values, other.values),
        notes: Vec::new(),
    }
}

/// A difference of nothing has no sign.
fn positive_zero(value: f64) -> f64 {
    value + 0.0
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// Ratios to a mean as differences in per cent of its size, the lesser first.
fn per_cent(ratios: [f64; 2], mean: f64) -> [f64; 2] {
    let [x, y] = ratios.map(|ratio| 100.0 * (ratio - 1.0) * mean.signum());
    [x.min(y), x.max(y)]
}
