//! Mann-Whitney: is a value of one sample usually greater than one of the other?
#![forbid(unsafe_code)]

use super::distribution::normal_sf;
use crate::record::result::MannWhitney;

/// Up to so many arrangements of the ranks the test is exact.
pub const EXACT_ARRANGEMENTS_MAX: f64 = 1e6;

/// Number of ways to choose `k` of `n`.
#[must_use]
pub fn choose(n: usize, k: usize) -> f64 {
    let k = k.min(n - k.min(n));
    (0..k)
        .fold(1.0, |ways, i| ways * (n - i) as f64 / (i + 1) as f64)
        .round()
}

/// The two samples ranked together; ties share the mean of their ranks.
struct Ranks {
    /// Twice the mid-rank of each value of `a`, then of `b`: whole numbers.
    doubled: Vec<u64>,
    /// Values in `a`.
    na: usize,
    /// Values in `b`.
    nb: usize,
    /// Sum of `t^3 - t` over groups of `t` tied values.
    ties: f64,
}

impl Ranks {
    fn of(a: &[f64], b: &[f64]) -> Self {
        let all: Vec<f64> = a.iter().chain(b).copied().collect();
        let mut by_value: Vec<usize> = (0..all.len()).collect();
        by_value.sort_by(|&i, &j| all[i].total_cmp(&all[j]));
        let mut doubled = vec![0; all.len()];
        let mut ties = 0.0;
        let mut start = 0;
        while start < all.len() {
            let value = all[by_value[start]];
            let len = by_value[start..]
                .iter()
                .take_while(|&&i| all[i] == value)
                .count();
            for &i in &by_value[start..start + len] {
                doubled[i] = (2 * start + len + 1) as u64;
            }
            ties += (len as f64).powi(3) - len as f64;
            start += len;
        }
        Self {
            doubled,
            na: a.len(),
            nb: b.len(),
            ties,
        }
    }

    fn sum_of_b(&self) -> u64 {
        self.doubled[self.na..].iter().sum()
    }

    /// Pairs in which `b` is greater, ties counting one half.
    fn u(&self) -> f64 {
        self.sum_of_b() as f64 / 2.0 - (self.nb * (self.nb + 1)) as f64 / 2.0
    }

    /// Share of all arrangements whose rank sum is at least as far from the middle as this one.
    fn exact(&self) -> f64 {
        let ways = sums_of_subsets(&self.doubled, self.nb);
        let total: f64 = ways.iter().sum();
        // Doubled ranks: the expected sum of b is nb (na + nb + 1), a whole number.
        let middle = (self.nb * (self.na + self.nb + 1)) as u64;
        let distance = self.sum_of_b().abs_diff(middle);
        let as_far: f64 = (0..)
            .zip(&ways)
            .filter(|(sum, _)| middle.abs_diff(*sum) >= distance)
            .map(|(_, ways)| ways)
            .sum();
        (as_far / total).min(1.0)
    }

    /// Normal approximation with corrections for ties and continuity.
    fn asymptotic(&self) -> f64 {
        let (na, nb) = (self.na as f64, self.nb as f64);
        let n = na + nb;
        let variance = na * nb / 12.0 * ((n + 1.0) - self.ties / (n * (n - 1.0)));
        if variance <= 0.0 {
            return 1.0;
        }
        let distance = ((self.u() - na * nb / 2.0).abs() - 0.5).max(0.0);
        (2.0 * normal_sf(distance / variance.sqrt())).min(1.0)
    }
}

/// How many subsets of `size` items have each sum.
fn sums_of_subsets(items: &[u64], size: usize) -> Vec<f64> {
    let mut largest = items.to_vec();
    largest.sort_unstable_by(|x, y| y.cmp(x));
    let width = largest.iter().take(size).sum::<u64>() as usize + 1;
    let mut ways = vec![vec![0.0; width]; size + 1];
    ways[0][0] = 1.0;
    for &item in items {
        let item = item as usize;
        for taken in (0..size).rev() {
            let (fewer, more) = ways.split_at_mut(taken + 1);
            for (to, from) in more[0].iter_mut().skip(item).zip(&fewer[taken]) {
                *to += from;
            }
        }
    }
    ways.swap_remove(size)
}

/// Mann-Whitney of `b` against `a`, two-sided; exact with mid-ranks while there are at most
/// [`EXACT_ARRANGEMENTS_MAX`] arrangements, else by the normal approximation.
///
/// `u` counts the pairs in which `b` is greater. An empty sample gives `u` 0 and `p` 1.
#[must_use]
pub fn mann_whitney(a: &[f64], b: &[f64]) -> MannWhitney {
    if a.is_empty() || b.is_empty() {
        return MannWhitney { u: 0.0, p: 1.0 };
    }
    let ranks = Ranks::of(a, b);
    let p = if is_exact(a.len(), b.len()) {
        ranks.exact()
    } else {
        ranks.asymptotic()
    };
    MannWhitney { u: ranks.u(), p }
}

/// Whether [`mann_whitney`] is exact for samples of these sizes.
#[must_use]
pub fn is_exact(na: usize, nb: usize) -> bool {
    na + nb < 1_000_000 && choose(na + nb, na) <= EXACT_ARRANGEMENTS_MAX
}

/// The normal approximation whatever the sizes.
#[must_use]
pub fn mann_whitney_asymptotic(a: &[f64], b: &[f64]) -> MannWhitney {
    if a.is_empty() || b.is_empty() {
        return MannWhitney { u: 0.0, p: 1.0 };
    }
    let ranks = Ranks::of(a, b);
    MannWhitney {
        u: ranks.u(),
        p: ranks.asymptotic(),
    }
}

/// The smallest two-sided p that the exact test can give: three against three cannot fall under .10.
#[must_use]
pub fn least_p(na: usize, nb: usize) -> f64 {
    (2.0 / choose(na + nb, na)).min(1.0)
}

/// Distribution of U without ties: entry `u` is the probability of `u`.
#[must_use]
pub fn u_distribution(na: usize, nb: usize) -> Vec<f64> {
    let ranks: Vec<u64> = (1..=(na + nb) as u64).collect();
    let ways = sums_of_subsets(&ranks, nb);
    let total: f64 = ways.iter().sum();
    ways[nb * (nb + 1) / 2..]
        .iter()
        .map(|w| w / total)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{choose, least_p, mann_whitney, mann_whitney_asymptotic, u_distribution};

    /// The definition, by walking through every subset.
    fn by_enumeration(a: &[f64], b: &[f64]) -> f64 {
        let all: Vec<f64> = a.iter().chain(b).copied().collect();
        let rank = |v: f64| {
            let below = all.iter().filter(|&&w| w < v).count();
            let equal = all.iter().filter(|&&w| w == v).count();
            (2 * below + equal + 1) as i64
        };
        let ranks: Vec<i64> = all.iter().map(|&v| rank(v)).collect();
        let middle = (b.len() * (all.len() + 1)) as i64;
        let found = (ranks[a.len()..].iter().sum::<i64>() - middle).abs();
        let (mut total, mut as_far) = (0.0, 0.0);
        for subset in 0_u32..1 << all.len() {
            if subset.count_ones() as usize == b.len() {
                let sum: i64 = (0..all.len())
                    .filter(|i| subset >> i & 1 == 1)
                    .map(|i| ranks[i])
                    .sum();
                total += 1.0;
                as_far += f64::from((sum - middle).abs() >= found);
            }
        }
        as_far / total
    }

    #[test]
    fn exact_p_is_the_share_of_arrangements_with_and_without_ties() {
        let cases: [(&[f64], &[f64]); 4] = [
            (&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0, 7.0]),
            (&[1.0, 1.0, 2.0, 5.0], &[1.0, 2.0, 2.0]),
            (&[3.0; 5], &[3.0; 4]),
            (&[0.5, 9.0, -1.0, 2.0, 2.0], &[2.0, 7.0, 7.0, 8.0, 0.5, 1.0]),
        ];
        for (a, b) in cases {
            let found = mann_whitney(a, b);
            assert!(
                (found.p - by_enumeration(a, b)).abs() < 1e-12,
                "{a:?} {b:?}"
            );
            let mirrored = mann_whitney(b, a);
            assert_eq!(found.u + mirrored.u, (a.len() * b.len()) as f64);
            assert!((found.p - mirrored.p).abs() < 1e-12);
        }
    }

    #[test]
    fn small_samples_cannot_reach_a_small_p() {
        for (n, p) in [
            (3, 0.1),
            (4, 2.0 / 70.0),
            (5, 2.0 / 252.0),
            (6, 2.0 / 924.0),
        ] {
            assert!((least_p(n, n) - p).abs() < 1e-15);
            let low: Vec<f64> = (0..n).map(|i| i as f64).collect();
            let high: Vec<f64> = low.iter().map(|v| v + 100.0).collect();
            assert!((mann_whitney(&low, &high).p - p).abs() < 1e-12);
        }
    }

    #[test]
    fn u_without_ties_is_a_symmetric_distribution() {
        let found = u_distribution(4, 6);
        assert_eq!(found.len(), 25);
        assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!((0..25).all(|u| (found[u] - found[24 - u]).abs() < 1e-15));
        assert!((found[0] - 1.0 / choose(10, 4)).abs() < 1e-15);
    }

    #[test]
    fn nothing_to_rank_or_nothing_but_ties_is_no_evidence() {
        assert_eq!(mann_whitney(&[], &[1.0]).p, 1.0);
        assert_eq!(mann_whitney(&[1.0; 4], &[1.0; 3]).p, 1.0);
        assert_eq!(mann_whitney_asymptotic(&[1.0; 40], &[1.0; 30]).p, 1.0);
    }
}
