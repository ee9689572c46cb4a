//! The control: the difference of the baseline from itself.

use super::outliers::quantile_sorted;
use super::paired::Paired;
use super::verdict::{Check, Scale};

/// Significance of the control's difference: below it, the 99 % interval excludes zero.
const FAILED_P: f64 = 0.01;

/// The noise of a workload and metric in this run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Floor {
    /// The noise floor, in per cent. It is shown and decides nothing.
    pub pct: f64,
    /// Distance of the control's mean from the baseline.
    pub off: f64,
    /// The unit of `off`.
    pub scale: Scale,
    /// Two-sided p of that distance, adjusted for the family of controls.
    pub p: f64,
}

impl Floor {
    /// The control fails if it differs from the baseline by more than chance and by more than half
    /// a margin. A lesser difference could not turn a verdict over, however certain it is.
    pub fn check(&self, margin_pct: f64) -> Check {
        let matters = self.off > self.scale.distance(margin_pct) / 2.0;
        match matters && self.p < FAILED_P {
            true => Check::Failed,
            false => Check::Passed,
        }
    }
}

/// Floor from the control's differences (control minus baseline, one per block); `None` with fewer
/// than two.
///
/// It is the larger of the control's absolute mean and the half width of its 95 % interval.
pub fn floor(differences: &[f64], scale: Scale) -> Option<Floor> {
    let control = Paired::of(differences)?;
    let off = control.mean.abs();
    let widest = off.max(control.half_width(0.95));
    Some(Floor {
        pct: scale.pct(widest).min(f64::MAX),
        off,
        scale,
        p: (2.0 * control.p_above(0.0).min(control.p_below(0.0))).min(1.0),
    })
}

/// Fewest stored runs for a historic floor.
pub const RUNS_MIN: usize = 20;

/// The historic noise of a workload on this machine: the 95th percentile of the absolute means of
/// the stored runs' controls, in their unit. `None` with fewer than [`RUNS_MIN`] runs.
pub fn historic(means: &[f64]) -> Option<f64> {
    let mut off: Vec<f64> = means.iter().map(|mean| mean.abs()).collect();
    off.sort_by(f64::total_cmp);
    (off.len() >= RUNS_MIN).then(|| quantile_sorted(&off, 0.95))
}

#[cfg(test)]
mod tests {
    use super::{Floor, floor, historic};
    use crate::verdict::{Check, Scale};

    #[test]
    fn floor_is_the_half_width_of_a_centred_control_and_the_mean_of_one_that_is_off() {
        let centred = floor(&[-0.01, 0.01, -0.01, 0.01], Scale::Difference).unwrap();
        let half = 3.182_446_305_284 * (0.0004_f64 / 3.0).sqrt() / 2.0;
        assert!((centred.pct - 100.0 * half).abs() < 1e-9 && centred.p == 1.0);
        let off = floor(&[0.05, 0.051, 0.049, 0.05], Scale::Log).unwrap();
        assert!((off.pct - 100.0 * 0.05_f64.exp_m1()).abs() < 1e-9 && off.p < 1e-5);
    }

    #[test]
    fn a_control_below_the_baseline_fails_as_one_above_does() {
        let above = [0.05, 0.051, 0.049, 0.05];
        let off = floor(&above, Scale::Difference).unwrap();
        let below = floor(&above.map(|difference| -difference), Scale::Difference).unwrap();
        assert_eq!(below, off);
        assert_eq!(below.check(1.0), Check::Failed);
    }

    #[test]
    fn a_control_fails_where_its_99_per_cent_interval_excludes_zero_beyond_half_the_margin() {
        // t(.995, 3) = 5.841 errors of 0.01 from zero, and the margin far below.
        let around = |mean: f64| [-1.0, 1.0, -1.0, 1.0].map(|d| mean + d * 0.01 * 3.0_f64.sqrt());
        for (mean, wanted) in [(0.0584, Check::Passed), (0.0585, Check::Failed)] {
            let found = floor(&around(mean), Scale::Difference).unwrap();
            assert!((found.off - mean).abs() < 1e-15 && (found.p - 0.01).abs() < 1e-4);
            assert_eq!(found.check(1.0), wanted, "{mean}");
        }
        let sure = Floor {
            pct: 0.0,
            off: 0.25,
            scale: Scale::Difference,
            p: 0.0,
        };
        assert_eq!(sure.check(50.0), Check::Passed);
        assert_eq!(sure.check(49.9), Check::Failed);
        // Half of a margin of 1 % is half of its logarithm.
        let log = Floor {
            scale: Scale::Log,
            off: 0.004_976,
            ..sure
        };
        assert_eq!(log.check(1.0), Check::Failed);
        let below = Floor {
            off: 0.004_975,
            ..log
        };
        assert_eq!(below.check(1.0), Check::Passed);
        assert_eq!(Floor { p: 0.01, ..sure }.check(1.0), Check::Passed);
    }

    #[test]
    fn a_constant_control_is_quiet_only_when_it_equals_the_baseline() {
        let quiet = floor(&[0.0; 6], Scale::Log).unwrap();
        assert_eq!((quiet.pct, quiet.p), (0.0, 1.0));
        assert_eq!(quiet.check(0.0), Check::Passed);
        let off = floor(&[0.01; 6], Scale::Log).unwrap();
        assert_eq!((off.p, off.check(1.0)), (0.0, Check::Failed));
        assert_eq!(floor(&[0.01], Scale::Log), None);
    }

    #[test]
    fn history_needs_twenty_runs_and_ignores_the_sign() {
        let means: Vec<f64> = (0..=20)
            .map(|i| {
                if i % 2 == 0 {
                    f64::from(i)
                } else {
                    -f64::from(i)
                }
            })
            .collect();
        assert_eq!(historic(&means), Some(19.0));
        assert_eq!(historic(&means[..19]), None);
        assert!(historic(&means[..20]).is_some());
    }

    #[test]
    fn history_does_not_depend_on_the_order_of_the_runs() {
        let means: Vec<f64> = (0..=20).map(|i| f64::from(i * 8 % 21) - 0.5).collect();
        assert_eq!(historic(&means), Some(18.5));
    }
}
