//! Mann-Whitney: tests if values of one sample are usually greater than those of the other.

use crate::distribution::normal_sf;
use crate::value::MannWhitney;

/// Up to this number of arrangements of the ranks, the test is exact.
pub const EXACT_ARRANGEMENTS_MAX: f64 = 1e6;

/// Limit for the exact test: one value against a million has few arrangements, too, but does not
/// need it.
const EXACT_VALUES_MAX: usize = 2000;

/// Number of ways to choose `k` of `n`.
pub fn choose(n: usize, k: usize) -> f64 {
    let k = k.min(n - k.min(n));
    (0..k)
        .fold(1.0, |ways, i| ways * (n - i) as f64 / (i + 1) as f64)
        .round()
}

/// The two samples ranked together; ties share the mean of their ranks. Ranks are doubled to make
/// them integers.
struct Ranks {
    /// Ascending.
    a: Vec<f64>,
    /// Ascending.
    b: Vec<f64>,
    /// Sum of the doubled ranks of `b`.
    sum_of_b: u128,
    /// Sum of `t^3 - t` over groups of `t` tied values.
    ties: f64,
}

/// Values with the same rank.
struct Group {
    /// Twice their mean rank.
    doubled: u64,
    in_a: usize,
    in_b: usize,
}

fn same(x: f64, y: f64) -> bool {
    x == y || x.total_cmp(&y).is_eq()
}

/// Groups of equal values of two ascending samples, ascending.
fn groups(a: &[f64], b: &[f64]) -> impl Iterator<Item = Group> {
    let (mut i, mut j) = (0, 0);
    std::iter::from_fn(move || {
        let candidates = a.get(i).into_iter().chain(b.get(j));
        let least = *candidates.min_by(|x, y| x.total_cmp(y))?;
        let equal = |values: &[f64]| values.iter().take_while(|v| same(**v, least)).count();
        let (in_a, in_b) = (equal(&a[i..]), equal(&b[j..]));
        let doubled = (2 * (i + j) + in_a + in_b + 1) as u64;
        (i, j) = (i + in_a, j + in_b);
        Some(Group {
            doubled,
            in_a,
            in_b,
        })
    })
}

impl Ranks {
    fn of(a: &[f64], b: &[f64]) -> Self {
        let (mut a, mut b) = (a.to_vec(), b.to_vec());
        a.sort_unstable_by(f64::total_cmp);
        b.sort_unstable_by(f64::total_cmp);
        let (mut sum_of_b, mut ties) = (0, 0.0);
        for group in groups(&a, &b) {
            let len = (group.in_a + group.in_b) as f64;
            sum_of_b += u128::from(group.doubled) * group.in_b as u128;
            ties += len.powi(3) - len;
        }
        Self {
            a,
            b,
            sum_of_b,
            ties,
        }
    }

    /// Pairs in which `b` is greater; ties count one half.
    fn u(&self) -> f64 {
        let least = self.b.len() as u128 * (self.b.len() as u128 + 1);
        (self.sum_of_b - least) as f64 / 2.0
    }

    /// Share of all arrangements whose rank sum is at least as far from the middle as this one.
    fn exact(&self) -> f64 {
        let (na, nb) = (self.a.len(), self.b.len());
        let doubled: Vec<u64> = groups(&self.a, &self.b)
            .flat_map(|group| std::iter::repeat_n(group.doubled, group.in_a + group.in_b))
            .collect();
        // Either sample's sum gives the same result; the smaller sample has fewer subsets.
        let size = na.min(nb);
        let ways = sums_of_subsets(&doubled, size);
        let total: f64 = ways.iter().sum();
        let expected = |n: usize| (n * (na + nb + 1)) as u64;
        let distance = self.sum_of_b.abs_diff(u128::from(expected(nb)));
        let as_far: f64 = (0..)
            .zip(&ways)
            .filter(|(sum, _)| u128::from(expected(size).abs_diff(*sum)) >= distance)
            .map(|(_, ways)| ways)
            .sum();
        (as_far / total).min(1.0)
    }

    /// Normal approximation with corrections for ties and continuity.
    fn asymptotic(&self) -> f64 {
        let (na, nb) = (self.a.len() as f64, self.b.len() as f64);
        let n = na + nb;
        let variance = na * nb / 12.0 * ((n + 1.0) - self.ties / (n * (n - 1.0)));
        if variance <= 0.0 {
            return 1.0;
        }
        let distance = ((self.u() - na * nb / 2.0).abs() - 0.5).max(0.0);
        2.0 * normal_sf(distance / variance.sqrt())
    }
}

/// The number of subsets of `size` items with each sum.
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

/// Mann-Whitney of `b` against `a`, two-sided. Exact with mid-ranks for at most
/// [`EXACT_ARRANGEMENTS_MAX`] arrangements, otherwise by the normal approximation.
///
/// `u` counts the pairs in which `b` is greater. An empty sample gives `u` 0 and `p` 1.
pub fn mann_whitney(a: &[f64], b: &[f64]) -> MannWhitney {
    match is_exact(a.len(), b.len()) {
        true => test(a, b, Ranks::exact),
        false => test(a, b, Ranks::asymptotic),
    }
}

fn test(a: &[f64], b: &[f64], p: fn(&Ranks) -> f64) -> MannWhitney {
    if a.is_empty() || b.is_empty() {
        return MannWhitney { u: 0.0, p: 1.0 };
    }
    let ranks = Ranks::of(a, b);
    let (u, p) = (ranks.u(), p(&ranks));
    MannWhitney { u, p }
}

/// True if [`mann_whitney`] is exact for samples of these sizes.
pub fn is_exact(na: usize, nb: usize) -> bool {
    na + nb <= EXACT_VALUES_MAX && choose(na + nb, na) <= EXACT_ARRANGEMENTS_MAX
}

/// The normal approximation for all sizes.
pub fn mann_whitney_asymptotic(a: &[f64], b: &[f64]) -> MannWhitney {
    test(a, b, Ranks::asymptotic)
}

/// The smallest possible two-sided p of the exact test: with three against three, p is at least
/// .10.
pub fn least_p(na: usize, nb: usize) -> f64 {
    (2.0 / choose(na + nb, na)).min(1.0)
}

/// Distribution of U without ties: entry `u` is the probability of `u`.
pub fn u_distribution(na: usize, nb: usize) -> Vec<f64> {
    let ranks: Vec<u64> = (1..=(na + nb) as u64).collect();
    let size = na.min(nb);
    let ways = sums_of_subsets(&ranks, size);
    let total: f64 = ways.iter().sum();
    ways[size * (size + 1) / 2..]
        .iter()
        .map(|w| w / total)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{choose, is_exact, least_p, mann_whitney, mann_whitney_asymptotic, u_distribution};

    /// The definition, by enumeration of every subset.
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
    fn three_values_have_an_approximation_too() {
        // The variance is 2 / 12 * 4, and the distance is one minus the correction of a half.
        let found = mann_whitney_asymptotic(&[1.0], &[2.0, 3.0]);
        let wanted = 2.0 * crate::distribution::normal_sf(0.5 / (2.0_f64 / 3.0).sqrt());
        assert!((found.p - wanted).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn nothing_is_compared_with_nothing() {
        for (a, b) in [(&[][..], &[1.0][..]), (&[1.0], &[])] {
            let found = mann_whitney_asymptotic(a, b);
            assert_eq!((found.u, found.p), (0.0, 1.0));
        }
    }

    #[test]
    fn the_approximation_counts_the_same_pairs_as_the_exact_test() {
        let (a, b) = ([1.0, 5.0], [2.0, 3.0, 4.0, 6.0, 7.0]);
        assert_eq!(mann_whitney_asymptotic(&a, &b).u, mann_whitney(&a, &b).u);
        assert_ne!(mann_whitney(&a, &b).u, mann_whitney(&b, &a).u);
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
    fn very_unequal_sizes_and_odd_values_are_ranked_all_the_same() {
        let many: Vec<f64> = (0..1400).map(f64::from).collect();
        let exact = mann_whitney(&[-2.0, -1.0], &many);
        assert_eq!(exact.u, 2800.0);
        assert!((exact.p - 2.0 / choose(1402, 2)).abs() < 1e-15);
        let most: Vec<f64> = (0..200_000).map(f64::from).collect();
        assert!(mann_whitney(&[100_000.5], &most).p > 0.99);
        let odd = [f64::NAN, f64::INFINITY, -0.0, 0.0, f64::NAN];
        let found = mann_whitney(&odd, &odd);
        assert_eq!((found.u, found.p), (12.5, 1.0));
    }

    #[test]
    fn nothing_to_rank_or_nothing_but_ties_is_no_evidence() {
        assert_eq!(mann_whitney(&[], &[1.0]).p, 1.0);
        assert_eq!(mann_whitney(&[1.0; 4], &[1.0; 3]).p, 1.0);
        assert_eq!(mann_whitney_asymptotic(&[1.0; 40], &[1.0; 30]).p, 1.0);
    }

    #[test]
    fn the_test_is_exact_up_to_two_thousand_values_and_a_million_arrangements() {
        // C(22, 11) is 705,432, C(23, 11) 1,352,078, C(1414, 2) 998,991, C(1415, 2) 1,000,405.
        for (na, nb, exact) in [
            (11, 11, true),
            (11, 12, false),
            (1, 1999, true),
            (1, 2000, false),
            (1412, 2, true),
            (1413, 2, false),
        ] {
            assert_eq!(is_exact(na, nb), exact, "{na} {nb}");
            assert_eq!(is_exact(nb, na), exact, "{nb} {na}");
        }
    }

    #[test]
    fn one_arrangement_or_two_can_prove_nothing() {
        assert_eq!([least_p(0, 5), least_p(5, 0), least_p(1, 1)], [1.0; 3]);
        assert_eq!(least_p(1, 3), 0.5);
        assert_eq!([choose(5, 0), choose(5, 5), choose(5, 2)], [1.0, 1.0, 10.0]);
    }
}
