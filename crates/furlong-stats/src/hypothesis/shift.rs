//! Hodges-Lehmann: the median of all differences between two samples, and its interval.
//!
//! The pairs are never listed. Bisection over the range of numbers and counting find the k-th
//! smallest, so ten million values take time but no memory.

use crate::distribution::normal_upper;
use crate::rank::{is_exact, u_distribution};

/// Differences of all pairs, ordered without being listed.
struct Pairs<'a> {
    /// Ascending.
    a: &'a [f64],
    /// Ascending.
    b: &'a [f64],
}

impl Pairs<'_> {
    fn count(&self) -> u128 {
        self.a.len() as u128 * self.b.len() as u128
    }

    /// The number of pairs whose difference is at most `limit`.
    fn at_most(&self, limit: f64) -> u128 {
        let mut found = 0;
        let mut reached = 0;
        for &a in self.a {
            while reached < self.b.len() && self.b[reached] - a <= limit {
                reached += 1;
            }
            found += reached as u128;
        }
        found
    }

    /// The `k`-th smallest, counted from one; it is always the value of a pair.
    fn kth(&self, k: u128) -> f64 {
        let (mut low, mut high) = (ordered(f64::NEG_INFINITY), ordered(f64::INFINITY));
        while low < high {
            let middle = low + (high - low) / 2;
            if self.at_most(number(middle)) >= k {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        number(low)
    }

    fn median(&self) -> f64 {
        let n = self.count();
        if n % 2 == 1 {
            return self.kth(n.div_ceil(2));
        }
        f64::midpoint(self.kth(n / 2), self.kth(n / 2 + 1))
    }
}

/// Numbers as integers in the same order.
fn ordered(value: f64) -> u64 {
    let bits = value.to_bits();
    if bits >> 63 == 1 {
        !bits
    } else {
        bits | 1 << 63
    }
}

/// The reverse of [`ordered`].
fn number(ordered: u64) -> f64 {
    f64::from_bits(if ordered >> 63 == 1 {
        ordered & !(1 << 63)
    } else {
        !ordered
    })
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

fn usable(a: &[f64], b: &[f64]) -> bool {
    !a.is_empty() && !b.is_empty() && a.iter().chain(b).all(|v| v.is_finite())
}

/// Median of all `b - a`; `None` for an empty sample or values that are not finite.
///
/// # Cost
/// O(n log n), and about a hundred passes.
pub fn hodges_lehmann(a: &[f64], b: &[f64]) -> Option<f64> {
    usable(a, b).then(|| {
        Pairs {
            a: &sorted(a),
            b: &sorted(b),
        }
        .median()
    })
}

/// Interval of the shift from the distribution of U, at least at `level`. `None` if the samples are
/// too small to reach it (three against three cannot reach 95 %).
pub fn hodges_lehmann_interval(a: &[f64], b: &[f64], level: f64) -> Option<[f64; 2]> {
    if !usable(a, b) {
        return None;
    }
    let from_each_end = cut(a.len(), b.len(), (1.0 - level) / 2.0)?;
    let pairs = Pairs {
        a: &sorted(a),
        b: &sorted(b),
    };
    Some([
        pairs.kth(from_each_end),
        pairs.kth(pairs.count() + 1 - from_each_end),
    ])
}

/// The largest `c` with `P(U < c) <= tail`, at least 1.
fn cut(na: usize, nb: usize, tail: f64) -> Option<u128> {
    if is_exact(na, nb) {
        let mut below = 0.0;
        let mut c = 0;
        for p in u_distribution(na, nb) {
            below += p;
            // Rounding must not exclude a tail that is met exactly.
            if below > tail * (1.0 + 1e-12) {
                break;
            }
            c += 1;
        }
        return (c > 0).then_some(c);
    }
    let (na, nb) = (na as f64, nb as f64);
    let sd = (na * nb * (na + nb + 1.0) / 12.0).sqrt();
    let c = (na * nb / 2.0 - normal_upper(tail) * sd).floor();
    (c >= 1.0).then_some(c as u128)
}

#[cfg(test)]
mod tests {
    use super::{cut, hodges_lehmann, hodges_lehmann_interval};
    use crate::describe::median;
    use crate::distribution::normal_sf;

    fn listed(a: &[f64], b: &[f64]) -> Vec<f64> {
        let mut all: Vec<f64> = a
            .iter()
            .flat_map(|a| b.iter().map(move |b| b - a))
            .collect();
        all.sort_by(f64::total_cmp);
        all
    }

    #[test]
    fn median_found_by_halving_is_the_median_of_the_listed_pairs() {
        let a = [3.0, -1.5, 0.0, 7.25, 1e-300, -4e12, 2.0];
        for b in [&[1.0, -2.0, 0.5, 0.5][..], &[9.0, -3.0, 4.0], &[-0.0]] {
            assert_eq!(hodges_lehmann(&a, b), Some(median(&listed(&a, b))));
        }
        assert_eq!(hodges_lehmann(&[], &[1.0]), None);
        assert_eq!(hodges_lehmann(&[f64::NAN], &[1.0]), None);
    }

    #[test]
    fn interval_cuts_the_tabled_number_of_pairs_from_each_end() {
        // For 5 against 5 at 95 %, tables cut off 3 values: P(U <= 2) = .0159, P(U <= 3) = .0278.
        let a = [1.0, 2.5, 4.0, 8.0, 16.5];
        let b = [3.0, 5.0, 9.0, 17.0, 40.0];
        let all = listed(&a, &b);
        assert_eq!(
            hodges_lehmann_interval(&a, &b, 0.95),
            Some([all[2], all[22]])
        );
        assert_eq!(hodges_lehmann_interval(&a[..3], &b[..3], 0.95), None);
        assert_eq!(
            hodges_lehmann_interval(&a[..3], &b[..3], 0.9),
            Some([-1.0, 8.0])
        );
    }

    #[test]
    fn large_samples_use_the_normal_cut_and_hold_the_shift() {
        let a: Vec<f64> = (0..300).map(|i| f64::from(i * 37 % 300)).collect();
        let b: Vec<f64> = a.iter().map(|v| v + 50.0).collect();
        let [low, high] = hodges_lehmann_interval(&a, &b, 0.95).unwrap();
        assert!(
            low < 50.0 && high > 50.0 && high - low < 40.0,
            "{low} {high}"
        );
    }

    #[test]
    fn small_samples_lose_as_many_pairs_as_counting_every_arrangement_says() {
        for (na, nb) in (1..=6).flat_map(|na| (1..=6).map(move |nb| (na, nb))) {
            // For every choice of places for b, the pairs in which b comes after a.
            let mut counts = vec![0_u32; na * nb + 1];
            for places in (0_u32..1 << (na + nb)).filter(|p| p.count_ones() as usize == nb) {
                let is_b = |at: &usize| places >> at & 1 == 1;
                let before = |at: usize| (0..at).filter(|at| !is_b(at)).count();
                counts[(0..na + nb).filter(is_b).map(before).sum::<usize>()] += 1;
            }
            let all: u32 = counts.iter().sum();
            // Tails that some arrangements meet exactly, and tails between.
            for tail in [1.0 / f64::from(all), 0.005, 0.025, 0.05, 0.1, 0.25] {
                let share = |c: usize| f64::from(counts[..c].iter().sum::<u32>()) / f64::from(all);
                let most = (1..=na * nb).filter(|c| share(*c) <= tail + 1e-9).max();
                assert_eq!(
                    cut(na, nb, tail),
                    most.map(|c| c as u128),
                    "{na} {nb} {tail}"
                );
            }
        }
    }

    #[test]
    fn larger_samples_lose_the_tabled_number_of_pairs() {
        // Two-sided critical values of U at 5 %: 37, 45, 64; one more is cut off.
        for (n, wanted) in [(12, 38), (13, 46), (15, 65)] {
            assert_eq!(cut(n, n, 0.025), Some(wanted), "{n}");
        }
        // The expected 1,500 are fewer than 1.96 deviations of 866.5.
        assert_eq!(cut(1, 3000, 0.025), None);
        // 72 less 4.07 and 4.12 deviations of 17.32: the last pair is cut off or not.
        assert_eq!(cut(12, 12, normal_sf(4.07)), Some(1));
        assert_eq!(cut(12, 12, normal_sf(4.12)), None);
    }

    #[test]
    fn no_values_and_values_that_are_not_finite_have_no_interval() {
        let fine = [1.0, 2.0, 3.0, 4.0, 5.0];
        for odd in [
            &[][..],
            &[1.0, 2.0, f64::NAN, 4.0, 5.0],
            &[f64::INFINITY; 5],
        ] {
            assert_eq!(hodges_lehmann_interval(odd, &fine, 0.9), None);
            assert_eq!(hodges_lehmann_interval(&fine, odd, 0.9), None);
        }
    }
}
