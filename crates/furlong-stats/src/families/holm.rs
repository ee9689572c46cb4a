//! Holm's adjustment for several tests.

/// Positions in ascending order of p.
fn ranking(p: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&i, &j| p[i].total_cmp(&p[j]));
    order
}

/// Adjusted p values, in the given order: the i-th smallest times `m - i + 1`, never less than the
/// previous one and never more than 1.
///
/// # Example
/// ```
/// let adjusted = furlong_stats::holm::adjust(&[0.04, 0.01, 0.03]);
/// assert_eq!(adjusted, [0.06, 0.03, 0.06]);
/// ```
pub fn adjust(p: &[f64]) -> Vec<f64> {
    let mut adjusted = vec![1.0; p.len()];
    let mut at_least: f64 = 0.0;
    for (before, i) in ranking(p).into_iter().enumerate() {
        at_least = at_least.max((p[i] * (p.len() - before) as f64).min(1.0));
        adjusted[i] = at_least;
    }
    adjusted
}

/// For each test, the two-sided level of the interval that decides it. Intervals and Holm's steps
/// then agree.
///
/// `p` are one-sided; all together may err with probability `alpha` (0.05), half on either side.
/// The i-th smallest p is decided at `1 - alpha / (m - i + 1)`. All after the first failure keep
/// its level.
pub fn levels(p: &[f64], alpha: f64) -> Vec<f64> {
    let mut levels = vec![1.0 - alpha; p.len()];
    let mut stopped = None;
    for (before, i) in ranking(p).into_iter().enumerate() {
        let share = alpha / (p.len() - stopped.unwrap_or(before)) as f64;
        levels[i] = 1.0 - share;
        if p[i] > share / 2.0 {
            stopped = stopped.or(Some(before));
        }
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::{adjust, levels};

    #[test]
    fn adjusted_p_never_falls_along_the_ranking_and_never_exceeds_one() {
        assert_eq!(adjust(&[]), Vec::<f64>::new());
        assert_eq!(adjust(&[0.2]), [0.2]);
        assert_eq!(adjust(&[0.5, 0.4, 0.9]), [1.0, 1.0, 1.0]);
        let adjusted = adjust(&[0.031_61, 0.020_39]);
        assert!((adjusted[0] - 0.040_78).abs() < 1e-12 && (adjusted[1] - 0.040_78).abs() < 1e-12);
    }

    #[test]
    fn levels_reject_exactly_what_adjusted_p_rejects() {
        let mut random = crate::random::Random::new(3);
        for _ in 0..2000 {
            let m = 1 + random.below(6);
            let p: Vec<f64> = (0..m).map(|_| 0.08 * random.uniform().powi(2)).collect();
            let levels = levels(&p, 0.05);
            for (i, adjusted) in adjust(&p).into_iter().enumerate() {
                let by_level = p[i] <= (1.0 - levels[i]) / 2.0;
                assert_eq!(by_level, adjusted <= 0.025, "{p:?} {levels:?}");
            }
        }
    }

    #[test]
    fn levels_loosen_one_step_at_a_time_and_stop_at_the_first_failure() {
        let found = levels(&[0.001, 0.02, 0.011], 0.05);
        assert!((found[0] - (1.0 - 0.05 / 3.0)).abs() < 1e-15);
        assert!((found[2] - (1.0 - 0.05 / 2.0)).abs() < 1e-15);
        assert!((found[1] - 0.95).abs() < 1e-15);
        let stopped = levels(&[0.02, 0.5, 0.03], 0.05);
        assert!(
            stopped
                .iter()
                .all(|l| (l - (1.0 - 0.05 / 3.0)).abs() < 1e-15)
        );
    }
}
