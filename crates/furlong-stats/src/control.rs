//! The control: the difference of the baseline from itself.
#![forbid(unsafe_code)]

use super::outliers::quantile_sorted;
use super::paired::Paired;
use super::verdict::Scale;

/// Level of the control's interval: the run is rejected if this interval excludes zero.
const FAILED_LEVEL: f64 = 0.99;

/// The noise floor of a workload and metric in this run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Floor {
    /// In per cent.
    pub pct: f64,
    /// True if the control differs from the baseline by more than chance.
    pub failed: bool,
}

/// Floor from the control's differences (control minus baseline, one per block); `None` with fewer
/// than two.
///
/// It is the larger of the control's absolute mean and the half width of its 95 % interval.
#[must_use]
pub fn floor(differences: &[f64], scale: Scale) -> Option<Floor> {
    let control = Paired::of(differences)?;
    let widest = control.mean.abs().max(control.half_width(0.95));
    let [low, high] = control.interval(FAILED_LEVEL);
    Some(Floor {
        pct: scale.pct(widest).min(f64::MAX),
        failed: low > 0.0 || high < 0.0,
    })
}

/// Fewest stored runs for a historic floor.
pub const RUNS_MIN: usize = 20;

/// The historic noise of a workload on this machine: the 95th percentile of the absolute means of
/// the stored runs' controls, in their unit. `None` with fewer than [`RUNS_MIN`] runs.
#[must_use]
pub fn historic(means: &[f64]) -> Option<f64> {
    let mut off: Vec<f64> = means.iter().map(|mean| mean.abs()).collect();
    off.sort_by(f64::total_cmp);
    (off.len() >= RUNS_MIN).then(|| quantile_sorted(&off, 0.95))
}

#[cfg(test)]
mod tests {
    use super::{floor, historic};
    use crate::verdict::Scale;

    #[test]
    fn floor_is_the_half_width_of_a_centred_control_and_the_mean_of_one_that_is_off() {
        let centred = floor(&[-0.01, 0.01, -0.01, 0.01], Scale::Difference).unwrap();
        let half = 3.182_446_305_284 * (0.0004_f64 / 3.0).sqrt() / 2.0;
        assert!((centred.pct - 100.0 * half).abs() < 1e-9 && !centred.failed);
        let off = floor(&[0.05, 0.051, 0.049, 0.05], Scale::Log).unwrap();
        assert!((off.pct - 100.0 * 0.05_f64.exp_m1()).abs() < 1e-9 && off.failed);
    }

    #[test]
    fn a_control_below_the_baseline_fails_as_one_above_does() {
        let above = [0.05, 0.051, 0.049, 0.05];
        let off = floor(&above, Scale::Difference).unwrap();
        let below = floor(&above.map(|difference| -difference), Scale::Difference).unwrap();
        assert!(below.failed && off.failed);
        assert_eq!(below.pct, off.pct);
    }

    #[test]
    fn a_constant_control_is_quiet_only_when_it_equals_the_baseline() {
        let quiet = floor(&[0.0; 6], Scale::Log).unwrap();
        assert_eq!((quiet.pct, quiet.failed), (0.0, false));
        assert!(floor(&[0.01; 6], Scale::Log).unwrap().failed);
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
