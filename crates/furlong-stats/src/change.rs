//! Changes in a series of figures: splits by energy distance, and t tests that account for the
//! search.
//!
//! A series is split at the greatest energy statistic between the two sides, and both sides again,
//! as long as a t test with a generous bound supports the split. Each split then moves to the place
//! with the least residual between its neighbours. The weakest is removed, again and again, until
//! each of the rest passes the strict bound against the best fit without it. A series that only
//! drifts has no step: a step must remain significant beside a slope. Values that resemble their
//! neighbours count as fewer independent ones, by the correlation that the fit leaves.
//!
//! # Sources
//!
//! Matteson and James, JASA 2014 (the statistic); Fleming et al., ICPE 2023 (a t test in place of
//! permutations, weak splits first); Bayley and Hammersley, JRSS Supplement 1946 (the number of
//! independent values). The bound is our own: the p of a t test means nothing by itself after a
//! choice of the best split. White noise hardly ever passes this bound.

use super::describe::Moments;
use super::distribution::t_two_sided;
use super::drift::{lag1, n_effective};
use super::student::Pooled;

/// Fewest values of a level.
pub const SEGMENT_MIN: usize = 3;

/// Factor by which the bound of the first pass is more generous.
const WEAK: f64 = 10.0;

/// Largest p of a step beside a slope: a series that only drifts has no step.
const BESIDE_SLOPE: f64 = 0.01;

/// A place where the level of a series changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// Index of the first value of the new level.
    pub at: usize,
    /// Mean from the previous change to this one.
    pub before: f64,
    /// Mean from here to the next change.
    pub after: f64,
    /// The p of the t test between the two, to compare with [`p_max`], not with 0.05.
    pub p: f64,
}

/// The greatest p of a change in a series of `n` values.
///
/// # Source
///
/// Simulated (see the test): fewer than 1 % of white-noise series of 6 to 200 values have a change.
pub fn p_max(n: usize) -> f64 {
    0.02 / n as f64
}

/// The changes of a series, in their order.
///
/// # Shapes
///
/// `values` are finite, oldest first.
///
/// # Cost
///
/// O(n²) per split.
pub fn changes(values: &[f64]) -> Vec<Change> {
    changes_within(values, p_max(values.len()))
}

/// The same with a bound given by the caller.
pub fn changes_within(values: &[f64], p_max: f64) -> Vec<Change> {
    let mut splits = vec![];
    bisect(values, 0, p_max * WEAK, &mut splits);
    splits.sort_unstable();
    loop {
        settle(values, &mut splits);
        let found: Vec<Change> = (0..splits.len())
            .map(|place| Change::between(values, &splits, place))
            .collect();
        let weaker = |a: &(usize, f64), b: &(usize, f64)| a.1.total_cmp(&b.1);
        let strength = found.iter().map(|change| change.p).enumerate();
        match strength.max_by(weaker) {
            Some((place, p)) if p > p_max => drop(splits.remove(place)),
            _ => return found,
        }
    }
}

/// Moves every split to the place with the least residual around two levels between its neighbours.
/// The bisection found each split while others were still missing.
fn settle(values: &[f64], splits: &mut [usize]) {
    for place in 0..splits.len() {
        let start = place.checked_sub(1).map_or(0, |before| splits[before]);
        let end = splits.get(place + 1).copied().unwrap_or(values.len());
        let around = &values[start..end];
        let left = spreads(around.iter());
        let right = spreads(around.iter().rev());
        let rest = |at: &usize| left[at - 1] + right[around.len() - at - 1];
        let all = SEGMENT_MIN..=around.len().saturating_sub(SEGMENT_MIN);
        if let Some(at) = all.min_by(|a, b| rest(a).total_cmp(&rest(b))) {
            splits[place] = start + at;
        }
    }
}

/// The changes of a series without those that somebody has judged to be none: the nearest to each
/// of the places `dismissed`, if it is fewer than [`SEGMENT_MIN`] places away. The levels on both
/// sides are joined.
pub fn changes_except(values: &[f64], dismissed: impl IntoIterator<Item = usize>) -> Vec<Change> {
    let mut found = changes(values);
    for place in dismissed {
        let off = |change: &Change| change.at.abs_diff(place);
        let nearest = (0..found.len()).min_by_key(|one| off(&found[*one]));
        if let Some(nearest) = nearest.filter(|one| off(&found[*one]) < SEGMENT_MIN) {
            found.remove(nearest);
        }
    }
    let mut end = values.len();
    for place in (0..found.len()).rev() {
        let at = found[place].at;
        let start = place.checked_sub(1).map_or(0, |before| found[before].at);
        found[place].before = mean(&values[start..at]);
        found[place].after = mean(&values[at..end]);
        end = at;
    }
    found
}

impl Change {
    /// The change at one split between its neighbours.
    fn between(values: &[f64], splits: &[usize], place: usize) -> Change {
        let around = Around::of(values, splits, place);
        let (left, right) = (around.left(), around.right());
        let p = match slope_p(left, right) <= BESIDE_SLOPE {
            true => around.p(),
            false => 1.0,
        };
        Change {
            at: splits[place],
            before: mean(left),
            after: mean(right),
            p,
        }
    }
}

/// A split with its neighbours, and the values up to the neighbours of those.
struct Around<'a> {
    values: &'a [f64],
    splits: Vec<usize>,
    place: usize,
}

impl<'a> Around<'a> {
    fn of(values: &'a [f64], splits: &[usize], place: usize) -> Around<'a> {
        let first = place.saturating_sub(1);
        let last = (place + 2).min(splits.len());
        let start = first.checked_sub(1).map_or(0, |before| splits[before]);
        let end = splits.get(last).copied().unwrap_or(values.len());
        Around {
            values: &values[start..end],
            splits: splits[first..last].iter().map(|at| at - start).collect(),
            place: place - first,
        }
    }

    fn left(&self) -> &'a [f64] {
        let before = self.place.checked_sub(1);
        &self.values[before.map_or(0, |before| self.splits[before])..self.splits[self.place]]
    }

    fn right(&self) -> &'a [f64] {
        let after = self.splits.get(self.place + 1).copied();
        &self.values[self.splits[self.place]..after.unwrap_or(self.values.len())]
    }

    /// The p of a test that the split is needed. Without it, its neighbours may move: if both
    /// belong to one step, the level between them is only noise.
    fn p(&self) -> f64 {
        let mut without = self.splits.clone();
        without.remove(self.place);
        settle(self.values, &mut without);
        let levels = self.splits.len() + 1;
        let without = squares(&beside_levels(self.values, &without));
        let rest = beside_levels(self.values, &self.splits);
        f_to_p(without, &rest, self.values.len() - levels)
    }
}

/// The p of a term that reduces the sum of squares from `without` to that of the residual `rest`.
/// With two levels of independent values, it is that of Student's t.
fn f_to_p(without: f64, rest: &[f64], df: usize) -> f64 {
    let (n, df) = (rest.len(), df as f64);
    let with = squares(rest);
    // Without any variance there is no correlation.
    let independent = lag1(rest).map_or(1.0, |lag1| n_effective(n, lag1) / n as f64);
    match without > with {
        true => t_two_sided((independent * (without - with) / (with / df)).sqrt(), df),
        false => 1.0,
    }
}

fn squares(values: &[f64]) -> f64 {
    values.iter().map(|v| v * v).sum()
}

/// The residual around the levels between splits.
fn beside_levels(values: &[f64], splits: &[usize]) -> Vec<f64> {
    let starts = std::iter::once(0).chain(splits.iter().copied());
    let ends = splits.iter().copied().chain([values.len()]);
    let levels = starts.zip(ends).map(|(start, end)| &values[start..end]);
    beside(levels, 0.0)
}

/// The residual around the levels of parts and one slope that they have in common.
fn beside<'a>(parts: impl Iterator<Item = &'a [f64]>, slope: f64) -> Vec<f64> {
    let mut rest = vec![];
    for part in parts {
        let mean = mean(part);
        let around = part.iter().zip(places(part));
        rest.extend(around.map(|(v, place)| v - mean - slope * place));
    }
    rest
}

/// The places of a part's values, from its middle.
fn places(part: &[f64]) -> impl Iterator<Item = f64> + Clone {
    let middle = (part.len() as f64 - 1.0) / 2.0;
    (0..part.len()).map(move |place| place as f64 - middle)
}

/// Splits `values`, which begin at `start`, if the t test allows it.
fn bisect(values: &[f64], start: usize, p_max: f64, splits: &mut Vec<usize>) {
    let Some(at) = best_split(values) else { return };
    let (left, right) = values.split_at(at);
    if p_of(left, right) <= p_max {
        splits.push(start + at);
        bisect(left, start, p_max, splits);
        bisect(right, start + at, p_max, splits);
    }
}

/// The place of the greatest energy statistic between the two sides.
fn best_split(values: &[f64]) -> Option<usize> {
    let n = values.len();
    if n < 2 * SEGMENT_MIN {
        return None;
    }
    let distances = |at: usize, others: &[f64]| -> f64 {
        others.iter().map(|other| (values[at] - other).abs()).sum()
    };
    // Sums of distances over the pairs within each side, and over all pairs.
    let (mut left, mut right) = (0.0, 0.0);
    for at in 1..n {
        right += distances(at, &values[..at]);
    }
    let all = right;
    let mut best: Option<(f64, usize)> = None;
    for at in 1..=n - SEGMENT_MIN {
        // The value before `at` moves to the left side.
        left += distances(at - 1, &values[..at - 1]);
        right -= distances(at - 1, &values[at..]);
        if at >= SEGMENT_MIN {
            let energy = energy(at, n - at, left, right, all - left - right);
            if best.is_none_or(|(most, _)| energy > most) {
                best = Some((energy, at));
            }
        }
    }
    best.map(|(_, at)| at)
}

/// The statistic from the sums of distances within the sides and across them.
fn energy(left: usize, right: usize, within_left: f64, within_right: f64, across: f64) -> f64 {
    let (m, n) = (left as f64, right as f64);
    let pairs = |count: f64| count * (count - 1.0) / 2.0;
    let divergence = 2.0 * across / (m * n) - within_left / pairs(m) - within_right / pairs(n);
    m * n / (m + n) * divergence
}

/// The p of Student's t test; 0 if nothing varies and the levels differ.
fn p_of(left: &[f64], right: &[f64]) -> f64 {
    let (Some(a), Some(b)) = (Moments::of(left), Moments::of(right)) else {
        return 1.0;
    };
    let pooled = Pooled::from_moments(a, b);
    if pooled.difference == 0.0 {
        return 1.0;
    }
    t_two_sided(pooled.difference / pooled.standard_error, pooled.df)
}

/// The p of a step beside a slope: a series that only drifts has no step.
fn slope_p(left: &[f64], right: &[f64]) -> f64 {
    let all = [left, right].concat();
    let line = squares(&beside_slope(&[&all]));
    f_to_p(line, &beside_slope(&[left, right]), all.len() - 3)
}

/// The residual around the levels of parts and the best slope that they have in common.
fn beside_slope(parts: &[&[f64]]) -> Vec<f64> {
    let (mut along, mut across) = (0.0, 0.0);
    for part in parts {
        let mean = mean(part);
        for (v, place) in part.iter().zip(places(part)) {
            along += place * place;
            across += place * (v - mean);
        }
    }
    beside(parts.iter().copied(), across / along)
}

/// The sums of squared distances from the mean, of the first value, the first two, and so on.
fn spreads<'a>(values: impl Iterator<Item = &'a f64>) -> Vec<f64> {
    let (mut n, mut mean, mut spread) = (0.0, 0.0, 0.0);
    let add = |value: &f64| {
        n += 1.0;
        let off = value - mean;
        mean += off / n;
        spread += off * (value - mean);
        spread
    };
    values.map(add).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests;
