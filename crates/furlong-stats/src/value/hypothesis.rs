//! The figures of hypothesis tests.

use serde::{Deserialize, Serialize};

/// One-way analysis of variance of an effect, by node.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodesTest {
    /// Statistic.
    pub f: f64,
    /// Degrees of freedom between the nodes.
    pub df1: f64,
    /// Degrees of freedom within them.
    pub df2: f64,
    /// Upper-tail p.
    pub p: f64,
}

/// A t test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TTest {
    /// Statistic.
    pub t: f64,
    /// Degrees of freedom.
    pub df: f64,
    /// Two-sided p.
    pub p: f64,
}

/// Brown-Forsythe test on the medians.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct VarianceTest {
    /// Variance of the arm over that of the baseline.
    pub ratio: f64,
    /// Two-sided p.
    pub p: f64,
}

/// ministat's figures of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Student {
    /// Mean of the arm minus mean of the baseline.
    pub difference: f64,
    /// Half width of its 95 % interval.
    pub plus_minus: f64,
    /// In per cent of the baseline's mean.
    pub difference_pct: f64,
    /// In per cent of the baseline's mean.
    pub plus_minus_pct: f64,
    /// Pooled standard deviation.
    pub pooled_s: f64,
}

/// Mann-Whitney test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MannWhitney {
    /// Pairs in which the arm is greater; ties count one half.
    pub u: f64,
    /// Two-sided p; exact while the number of arrangements allows.
    pub p: f64,
}
