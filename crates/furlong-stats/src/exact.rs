//! Exact metrics: counts that are the same in every process with the same input. Their ratio needs
//! no test.

use super::verdict::{ROUNDING, Scale};
use crate::value::{Better, Verdict};

/// The comparison of two counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fact {
    /// Mean change over the inputs, in per cent.
    pub effect_pct: f64,
    /// Least and greatest change over the inputs; equal for a single input.
    pub range_pct: [f64; 2],
    /// Keep or revert if the change is beyond the margin on every input; equivalent if it is within
    /// the margin on every input.
    pub verdict: Verdict,
    /// True if a baseline is zero: changes are then relative to the mean of both values.
    pub from_zero: bool,
}

/// Change from `a` to `b` as a distance from no change, and its scale.
fn change(a: f64, b: f64) -> (f64, Scale) {
    if a > 0.0 && b > 0.0 {
        return ((b / a).ln(), Scale::Log);
    }
    let share = if a == b {
        0.0
    } else if a == 0.0 {
        2.0 * b.signum()
    } else {
        (b - a) / a.abs()
    };
    (share, Scale::Difference)
}

/// Compares `b` with the baseline `a`: one value each, or one per input in the same order. `None`
/// if they cannot be matched or a value is not finite.
pub fn compare(a: &[f64], b: &[f64], margin_pct: f64, better: Better) -> Option<Fact> {
    let n = a.len().max(b.len());
    let matched = n > 0 && [a.len(), b.len()].iter().all(|&len| len == n || len == 1);
    if !matched || !a.iter().chain(b).all(|v| v.is_finite()) {
        return None;
    }
    let changes: Vec<(f64, Scale)> = (0..n)
        .map(|i| change(a[i % a.len()], b[i % b.len()]))
        .collect();
    let pct: Vec<f64> = changes
        .iter()
        .map(|(change, scale)| scale.pct(*change))
        .collect();
    let least = pct.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = pct.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let all = |test: fn(f64, f64) -> bool| {
        changes
            .iter()
            .all(|(change, scale)| test(*change, scale.distance(margin_pct) * (1.0 + ROUNDING)))
    };
    let verdict = if all(|change, margin| change.abs() <= margin) {
        Verdict::Equivalent
    } else if all(|change, margin| change < -margin) {
        better.beyond(false)
    } else if all(|change, margin| change > margin) {
        better.beyond(true)
    } else {
        Verdict::Inconclusive
    };
    let logs = changes.iter().all(|(_, scale)| *scale == Scale::Log);
    let effect_pct = if logs {
        Scale::Log.pct(changes.iter().map(|(change, _)| change).sum::<f64>() / n as f64)
    } else {
        pct.iter().sum::<f64>() / n as f64
    };
    let from_zero = (0..n).any(|i| a[i % a.len()] == 0.0 && b[i % b.len()] != 0.0);
    let finite = effect_pct.is_finite() && least.is_finite() && greatest.is_finite();
    finite.then_some(Fact {
        effect_pct,
        range_pct: [least, greatest],
        verdict,
        from_zero,
    })
}

#[cfg(test)]
mod tests {
    use super::compare;
    use crate::value::{Better, Verdict};

    #[test]
    fn changes_over_inputs_are_averaged_as_ratios_down_to_a_count_of_one() {
        let found = compare(&[2.0, 2.0], &[1.0, 4.0], 1.0, Better::Lower).unwrap();
        assert!(found.effect_pct.abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn a_single_count_is_judged_by_its_ratio_alone() {
        for (a, b, better, wanted) in [
            (100.0, 64.0579, Better::Lower, Verdict::Keep),
            (100.0, 64.0579, Better::Higher, Verdict::Revert),
            (100.0, 103.0, Better::Lower, Verdict::Revert),
            (100.0, 100.5, Better::Lower, Verdict::Equivalent),
            (0.0, 0.0, Better::Lower, Verdict::Equivalent),
            (0.0, 3.0, Better::Lower, Verdict::Revert),
            (3.0, 0.0, Better::Lower, Verdict::Keep),
        ] {
            let found = compare(&[a], &[b], 1.0, better).unwrap();
            assert_eq!(found.verdict, wanted, "{a} {b}");
            assert_eq!(found.range_pct[0], found.range_pct[1]);
        }
        let fact = compare(&[100.0], &[64.0579], 1.0, Better::Lower).unwrap();
        assert!((fact.effect_pct + 35.9421).abs() < 1e-9 && !fact.from_zero);
    }

    #[test]
    fn a_change_by_the_margin_is_within_it_however_its_logarithm_is_rounded() {
        for (a, margin) in [1e3, 2e3, 3e3, 7e3, 1e9]
            .into_iter()
            .flat_map(|a| [0.1, 1.0, 2.0, 5.0].map(|margin| (a, margin)))
        {
            let b = a + a * margin / 100.0;
            let said = |a, b| compare(&[a], &[b], margin, Better::Lower).unwrap().verdict;
            assert_eq!(said(a, b), Verdict::Equivalent, "{a} {margin}");
            assert_eq!(said(b, a), Verdict::Equivalent, "{a} {margin}");
            assert_eq!(said(a, b + 1.0), Verdict::Revert, "{a} {margin}");
        }
        let next = compare(&[1e12], &[1e12 + 1.0], 0.0, Better::Lower).unwrap();
        assert_eq!(next.verdict, Verdict::Revert);
    }

    #[test]
    fn several_inputs_must_all_agree() {
        let mixed = compare(&[100.0, 100.0], &[90.0, 100.0], 1.0, Better::Lower).unwrap();
        assert_eq!(mixed.verdict, Verdict::Inconclusive);
        let clear = compare(&[100.0, 100.0], &[90.0, 80.0], 1.0, Better::Lower).unwrap();
        assert_eq!(clear.verdict, Verdict::Keep);
        assert!((clear.range_pct[0] + 20.0).abs() < 1e-9);
        assert!((clear.range_pct[1] + 10.0).abs() < 1e-9);
        assert!((clear.effect_pct - 100.0 * (0.72_f64.sqrt() - 1.0)).abs() < 1e-9);
        assert_eq!(
            compare(&[1.0, 2.0], &[1.0, 2.0, 3.0], 1.0, Better::Lower),
            None
        );
        assert_eq!(compare(&[], &[1.0], 1.0, Better::Lower), None);
        assert_eq!(compare(&[f64::NAN], &[1.0], 1.0, Better::Lower), None);
    }

    #[test]
    fn a_range_that_no_number_holds_is_no_comparison() {
        let found = |a: [f64; 2], b: [f64; 2]| compare(&a, &b, 1.0, Better::Lower);
        // One input grows by 400 orders of magnitude, and the mean of both by 200.
        assert_eq!(found([1e-200, 1.0], [1e200, 1.0]), None);
        assert!(found([1e-200, 1.0], [1e-100, 1.0]).is_some());
    }

    #[test]
    fn a_count_from_zero_has_a_finite_change_and_says_so() {
        let found = compare(&[0.0], &[7.0], 1.0, Better::Lower).unwrap();
        assert_eq!((found.effect_pct, found.from_zero), (200.0, true));
        let none = compare(&[0.0], &[0.0], 1.0, Better::Lower).unwrap();
        assert_eq!((none.effect_pct, none.from_zero), (0.0, false));
    }

    /// Counts without a ratio: their difference is relative to the old one's size.
    #[test]
    fn a_change_to_zero_or_across_it_is_a_share_of_the_old_count() {
        for (a, b, share) in [(4.0, 0.0, -100.0), (-4.0, 2.0, 150.0), (-4.0, -5.0, -25.0)] {
            let found = compare(&[a], &[b], 1.0, Better::Lower).unwrap();
            assert_eq!((found.effect_pct, found.from_zero), (share, false));
        }
        // With one such input, the mean is that of the percentages, not of logarithms.
        let found = compare(&[4.0, 1.0], &[0.0, 4.0], 1.0, Better::Lower).unwrap();
        assert!((found.effect_pct - 100.0).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn one_value_stands_for_every_input() {
        let found = compare(&[6.0, 5.0, 0.0], &[3.0], 1.0, Better::Lower).unwrap();
        assert!(found.from_zero);
        assert_eq!(found.verdict, Verdict::Inconclusive);
        assert!(
            !compare(&[3.0], &[6.0, 5.0, 0.0], 1.0, Better::Lower)
                .unwrap()
                .from_zero
        );
        assert!(
            compare(&[0.0], &[0.0, 0.0, 1.0], 1.0, Better::Lower)
                .unwrap()
                .from_zero
        );
    }
}
