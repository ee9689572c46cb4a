//! Sign flips: the probability of a sum as far from zero as the observed one, if chance alone sets
//! the sign of each difference.
//!
//! The test assumes nothing about the differences' sizes, so noise that grows or jumps during the
//! run does no harm. It assumes that each sign is as likely as the other. The difference of an arm
//! from the mean of two runs of the baseline has that property only if noise is symmetric: rare
//! slow runs hit the baseline twice as often.

use crate::random::Random;

/// Up to this number of differences, every combination of signs is counted.
pub const EXACT_MAX: usize = 24;

/// Combinations drawn beyond it.
const DRAWS: u32 = 9_999;

/// Sums that differ by less than this, relative to the sum of all sizes, are equal: it is rounding.
const TOLERANCE: f64 = 1e-12;

/// Two-sided p of the sign-flip randomisation test; 1 for no differences. Exact for up to
/// [`EXACT_MAX`] differences, otherwise from random draws with `seed`.
///
/// # Cost
/// O(2^(n/2)) if exact: the sums of each half are sorted, and pairs of them are counted.
pub fn sign_flip_p(differences: &[f64], seed: u64) -> f64 {
    let observed = differences.iter().sum::<f64>().abs();
    let sizes: f64 = differences.iter().map(|d| d.abs()).sum();
    let bar = observed - TOLERANCE * sizes;
    if bar <= 0.0 {
        return 1.0;
    }
    if differences.len() <= EXACT_MAX {
        exact(differences, bar)
    } else {
        drawn(differences, bar, seed)
    }
}

/// The smallest possible p of `n` differences: with five, p is at least .0625.
pub fn least_p(n: usize) -> f64 {
    2.0_f64
        .powi(1 - i32::try_from(n).unwrap_or(i32::MAX))
        .min(1.0)
}

fn exact(differences: &[f64], bar: f64) -> f64 {
    let (left, right) = differences.split_at(differences.len() / 2);
    let (left, right) = (ascending(signed_sums(left)), ascending(signed_sums(right)));
    // Sums are symmetric around zero, and the bar is above it: the sums that reach it are half of
    // all that count.
    let mut first = right.len();
    let mut as_far = 0_u64;
    for l in &left {
        while first > 0 && l + right[first - 1] >= bar {
            first -= 1;
        }
        as_far += (right.len() - first) as u64;
    }
    2.0 * as_far as f64 / (left.len() as f64 * right.len() as f64)
}

/// Sums under all combinations of signs.
fn signed_sums(differences: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0];
    for d in differences {
        sums = sums.iter().flat_map(|s| [s - d, s + d]).collect();
    }
    sums
}

fn ascending(mut sums: Vec<f64>) -> Vec<f64> {
    sums.sort_by(f64::total_cmp);
    sums
}

fn drawn(differences: &[f64], bar: f64, seed: u64) -> f64 {
    // Eight signs are one byte, and the sum of a byte is looked up.
    let tables: Vec<Vec<f64>> = differences.chunks(8).map(signed_sums).collect();
    let mut random = Random::new(seed);
    let mut as_far = 0;
    for _ in 0..DRAWS {
        let mut sum = 0.0;
        for eight_tables in tables.chunks(8) {
            let signs = random.bits().to_le_bytes();
            for (table, signs) in eight_tables.iter().zip(signs) {
                sum += table[usize::from(signs) % table.len()];
            }
        }
        as_far += u32::from(sum.abs() >= bar);
    }
    // The observed signs are one of the draws: otherwise p could be zero.
    f64::from(as_far + 1) / f64::from(DRAWS + 1)
}

#[cfg(test)]
mod tests {
    use super::{EXACT_MAX, drawn, least_p, sign_flip_p};
    use crate::random::Random;

    /// The definition.
    fn by_enumeration(d: &[f64]) -> f64 {
        let observed = d.iter().sum::<f64>().abs();
        let as_far = (0_u32..1 << d.len())
            .filter(|signs| {
                let flip = |(i, d): (usize, &f64)| if signs >> i & 1 == 1 { *d } else { -d };
                d.iter().enumerate().map(flip).sum::<f64>().abs() >= observed - 1e-9
            })
            .count();
        as_far as f64 / f64::from(1 << d.len())
    }

    #[test]
    fn the_unit_of_the_differences_changes_no_drawn_p() {
        let values: Vec<f64> = (0..30).map(|i| f64::from(i % 7) - 2.5).collect();
        let small: Vec<f64> = values.iter().map(|v| v / 1024.0).collect();
        assert!(sign_flip_p(&values, 1) < 1.0);
        assert_eq!(sign_flip_p(&small, 1), sign_flip_p(&values, 1));
    }

    #[test]
    fn the_longest_exact_sample_has_the_least_p_that_there_is() {
        let alike = [1.0; EXACT_MAX];
        assert_eq!(sign_flip_p(&alike, 1), least_p(EXACT_MAX));
    }

    #[test]
    fn exact_p_is_the_share_of_all_flips_from_one_to_sixteen_differences() {
        let mut random = Random::new(5);
        for n in 1..=16 {
            let smooth: Vec<f64> = (0..n).map(|_| random.normal() + 0.4).collect();
            let tied: Vec<f64> = (0..n).map(|_| random.below(5) as f64 - 1.0).collect();
            for d in [smooth, tied] {
                assert!(
                    (sign_flip_p(&d, 0) - by_enumeration(&d)).abs() < 1e-12,
                    "{d:?}"
                );
            }
        }
    }

    #[test]
    fn all_of_one_sign_gives_the_least_p_there_is() {
        for n in [2, 5, 6, 17] {
            let d: Vec<f64> = (1..=n).map(|i| i as f64).collect();
            assert!((sign_flip_p(&d, 0) - least_p(n)).abs() < 1e-15);
        }
        assert_eq!(least_p(5), 0.0625);
        assert_eq!(least_p(6), 0.031_25);
        assert_eq!(sign_flip_p(&[], 0), 1.0);
        assert_eq!(sign_flip_p(&[0.0; 30], 0), 1.0);
    }

    #[test]
    fn draws_come_near_the_exact_share_and_are_named_by_their_seed() {
        let mut random = Random::new(6);
        let d: Vec<f64> = (0..20).map(|_| random.normal() + 0.45).collect();
        let exact = sign_flip_p(&d, 0);
        let bar = d.iter().sum::<f64>().abs() - 1e-9;
        let found = drawn(&d, bar, 11);
        let error = 4.0 * (exact * (1.0 - exact) / 9_999.0).sqrt() + 1e-4;
        assert!((found - exact).abs() < error, "{found} {exact}");
        let many: Vec<f64> = (0..200).map(|_| random.normal() + 0.1).collect();
        assert_eq!(sign_flip_p(&many, 1), sign_flip_p(&many, 1));
        assert!(sign_flip_p(&[1.0; 200], 1) > 0.0);
    }

    #[test]
    fn draws_that_all_or_never_reach_the_sum_give_one_or_the_least_p() {
        // One size in thirty: every flip has the same sum. Two hundred alike: practically none has.
        let mut one = [0.0; 30];
        one[7] = 2.0;
        assert_eq!(sign_flip_p(&one, 1), 1.0);
        assert_eq!(sign_flip_p(&[1.0; 200], 1), 1.0 / 10_000.0);
        assert_eq!(sign_flip_p(&[-1.0; 200], 1), 1.0 / 10_000.0);
    }

    #[test]
    fn a_sum_of_zero_is_as_near_as_any() {
        assert_eq!(sign_flip_p(&[1.0, -1.0], 0), 1.0);
        assert_eq!(sign_flip_p(&[3.0, -1.0, -2.0], 0), 1.0);
        assert_eq!([least_p(0), least_p(1), least_p(2)], [1.0, 1.0, 0.5]);
    }

    #[test]
    fn a_stored_run_gets_the_same_p_again() {
        // Recorded: the draws of a seed are part of a result.
        let values: Vec<f64> = (0..70).map(|i| f64::from(i * 37 % 71) - 30.0).collect();
        assert_eq!(sign_flip_p(&values, 1), 0.0478);
    }
}
