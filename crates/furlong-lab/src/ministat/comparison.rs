//! A set against the first one: every test that two samples allow, side by side. One decides.

use serde::{Deserialize, Serialize};

use super::remark;
use crate::model::result::{MannWhitney, Student, TTest, VarianceTest};
use furlong_stats::paired::Paired;
use furlong_stats::rank::{is_exact, least_p, mann_whitney};
use furlong_stats::ratio::fieller_from_moments;
use furlong_stats::shift::{hodges_lehmann, hodges_lehmann_interval};
use furlong_stats::sign_flip::sign_flip_p;
use furlong_stats::student::Pooled;
use furlong_stats::variance::brown_forsythe;
use furlong_stats::verdict::Scale;
use furlong_stats::welch::Unpooled;
use furlong_stats::{Moments, holm};

/// Seed of the sign-flip test beyond its exact range: the same files give the same draws.
const SIGN_FLIP_SEED: u64 = 0x0070_6169_7265_6400;

/// The test that decides (`--test`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Test {
    /// Welch's, on means; the spreads may differ.
    #[default]
    Welch,
    /// Student's, on means; the spreads must be equal.
    Student,
    /// Mann and Whitney's, on ranks.
    MannWhitney,
    /// Student's on the ratios of paired values: the first of one file and the first of the other,
    /// and so on.
    Paired,
}

impl Test {
    /// Its name in front of a p.
    pub fn name(self) -> &'static str {
        match self {
            Self::Welch => "Welch",
            Self::Student => "Student",
            Self::MannWhitney => "Mann-Whitney",
            Self::Paired => "paired",
        }
    }
}

/// Paired values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Pairs {
    /// Change from the base, in per cent: of the ratios' geometric mean or, if a value is not
    /// positive, of the mean difference over the base's mean.
    pub change_pct: f64,
    /// Its interval.
    pub interval: [f64; 2],
    /// The t test; `None` if the pairs do not vary.
    pub t_test: Option<TTest>,
    /// The p of the sign-flip randomisation test.
    pub sign_flip_p: f64,
    /// True if the change is of ratios.
    pub of_ratios: bool,
}

impl Pairs {
    /// The pairs of two sets. `None` if their sizes differ, or if the base's mean is zero.
    fn of(base: Side<'_>, other: Side<'_>, level: f64) -> Option<Self> {
        let (a, b) = (base.values, other.values);
        if a.len() != b.len() {
            return None;
        }
        let of_ratios = a.iter().chain(b).all(|value| *value > 0.0);
        let size = base.moments.mean.abs();
        let change = |(a, b): (&f64, &f64)| {
            if of_ratios {
                b.ln() - a.ln()
            } else {
                (b - a) / size
            }
        };
        let changes: Vec<f64> = a.iter().zip(b).map(change).collect();
        let paired = Paired::of(&changes)?;
        let scale = if of_ratios {
            Scale::Log
        } else {
            Scale::Difference
        };
        let interval = paired.interval(level).map(|end| scale.pct(end));
        let change_pct = scale.pct(paired.mean);
        let is_finite = change_pct.is_finite() && interval.iter().all(|end| end.is_finite());
        is_finite.then(|| Self {
            change_pct,
            interval,
            t_test: paired.test(),
            sign_flip_p: sign_flip_p(&changes, SIGN_FLIP_SEED),
            of_ratios,
        })
    }
}

/// One set against the base. Intervals are at the report's confidence.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Name of the base.
    pub base: String,
    /// Name of the set.
    pub name: String,
    /// Mean of the set minus mean of the base.
    pub difference: f64,
    /// Its interval, by Welch's method.
    pub difference_interval: [f64; 2],
    /// The difference in per cent of the absolute value of the base's mean.
    pub difference_pct: Option<f64>,
    /// Its interval by Fieller's method; `None` if the base's mean cannot be told from zero.
    pub difference_pct_interval: Option<[f64; 2]>,
    /// Mean of the set over mean of the base.
    pub ratio: Option<f64>,
    /// Its interval, by Fieller's method.
    pub ratio_interval: Option<[f64; 2]>,
    /// Welch's test; `None` if neither set varies.
    pub welch: Option<TTest>,
    /// The test that decides.
    pub test: Test,
    /// Its p; `None` if nothing varies.
    pub p: Option<f64>,
    /// Its p adjusted by Holm, if several sets are compared.
    pub p_adjusted: Option<f64>,
    /// True if a difference is proven: p (adjusted, if there are several) is below 1 minus the
    /// confidence. Without any variance, any difference is proven.
    pub different: bool,
    /// Student's line as in ministat, with exact quantiles; `None` if the base's mean is 0.
    pub student: Option<Student>,
    /// Student's test.
    pub student_test: Option<TTest>,
    /// The values as pairs, if this was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pairs: Option<Pairs>,
    /// Mann-Whitney.
    pub mann_whitney: MannWhitney,
    /// True if its p is exact, false if it is from the normal approximation.
    pub mann_whitney_exact: bool,
    /// The least p that ranks can give with this many values.
    pub mann_whitney_least_p: f64,
    /// Hodges and Lehmann's shift: the median of all differences.
    pub shift: Option<f64>,
    /// Its interval; `None` if there are too few values for one.
    pub shift_interval: Option<[f64; 2]>,
    /// Brown and Forsythe's test for equal spreads.
    pub variance: Option<VarianceTest>,
    /// Caveats, each a sentence.
    pub notes: Vec<String>,
}

/// A set of the comparison: its name, its values, and their moments for a t test.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side<'a> {
    pub(crate) name: &'a str,
    pub(crate) values: &'a [f64],
    pub(crate) moments: Moments,
}

/// Every set but the first against the first, at a level such as 0.95.
pub(crate) fn compare_all(sides: &[Side<'_>], level: f64, test: Test) -> Vec<Comparison> {
    let Some((base, others)) = sides.split_first() else {
        return Vec::new();
    };
    let compared = others
        .iter()
        .map(|other| compare(*base, *other, level, test));
    let mut found: Vec<Comparison> = compared.collect();
    if found.len() > 1 {
        let p: Vec<f64> = found.iter().map(|c| c.p.unwrap_or(1.0)).collect();
        for (comparison, p) in found.iter_mut().zip(holm::adjust(&p)) {
            comparison.p_adjusted = comparison.p.map(|_| p);
        }
    }
    for (comparison, other) in found.iter_mut().zip(others) {
        comparison.different = match comparison.p {
            Some(p) => comparison.p_adjusted.unwrap_or(p) < 1.0 - level,
            // Without pairs there is no test, and without variance no need of one.
            None => {
                comparison.difference != 0.0 && (test != Test::Paired || comparison.pairs.is_some())
            }
        };
        comparison.notes = remark::on_comparison(comparison, *base, *other, level);
    }
    found
}

fn compare(base: Side<'_>, other: Side<'_>, level: f64, test: Test) -> Comparison {
    let (a, b) = (base.moments, other.moments);
    let welch = Unpooled::from_moments(a, b);
    let pooled = Pooled::from_moments(a, b);
    // Values near the limits of a double can make a bound infinite.
    let ratio_interval =
        fieller_from_moments(a, b, level).filter(|ends| ends.iter().all(|end| end.is_finite()));
    let (na, nb) = (base.values.len(), other.values.len());
    let ranks = mann_whitney(base.values, other.values);
    let pairs = (test == Test::Paired)
        .then(|| Pairs::of(base, other, level))
        .flatten();
    let p = match test {
        Test::Welch => welch.test().map(|t| t.p),
        Test::Student => pooled.test().map(|t| t.p),
        Test::MannWhitney => Some(ranks.p),
        Test::Paired => pairs.and_then(|pairs| pairs.t_test).map(|t| t.p),
    };
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
        test,
        p,
        p_adjusted: None,
        different: false,
        student: furlong_stats::student::student_from_moments(a, b, level),
        student_test: pooled.test(),
        pairs,
        mann_whitney: ranks,
        mann_whitney_exact: is_exact(na, nb),
        mann_whitney_least_p: least_p(na, nb),
        shift: hodges_lehmann(base.values, other.values).map(positive_zero),
        shift_interval: hodges_lehmann_interval(base.values, other.values, level)
            .map(|ends| ends.map(positive_zero)),
        variance: brown_forsythe(base.values, other.values),
        notes: Vec::new(),
    }
}

/// Removes the sign of zero.
fn positive_zero(value: f64) -> f64 {
    value + 0.0
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// Ratios to a mean as differences in per cent of its absolute value, the lesser first.
fn per_cent(ratios: [f64; 2], mean: f64) -> [f64; 2] {
    let [x, y] = ratios.map(|ratio| 100.0 * (ratio - 1.0) * mean.signum());
    [x.min(y), x.max(y)]
}
