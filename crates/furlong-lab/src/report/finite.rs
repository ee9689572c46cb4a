//! Keeps values that are not finite out of every report, and reports their places.
//!
//! A sample that is not finite becomes "no sample". A test with such a member is left out. A
//! comparison without an effect is left out with a warning. No finite measurement is lost.

use crate::model::result::{Comparison, ResultFile, WorkloadResult};

/// A copy in which every number is finite.
pub fn finite(file: &ResultFile) -> ResultFile {
    let mut file = file.clone();
    let machine = &mut file.run.machine;
    keep(&mut machine.load_1m, |v| [v]);
    keep(&mut machine.steal_pct, |v| [v]);
    for experiment in &mut file.experiments {
        for metric in experiment.metrics.values_mut() {
            keep(&mut metric.margin_pct, |v| [v]);
        }
        for workload in &mut experiment.workloads {
            clean_workload(workload);
        }
    }
    file
}

fn clean_workload(workload: &mut WorkloadResult) {
    let mut warnings = vec![];
    for arm in &mut workload.arms {
        for (metric, samples) in &mut arm.samples {
            let lost = clean_samples(samples);
            if lost > 0 {
                warnings.push(format!(
                    "{}: {lost} samples of {metric} are not finite numbers and count as missing: \
                     check the output of the arm.",
                    arm.name
                ));
            }
        }
        arm.summary
            .retain(|_, s| all_finite(&[s.min, s.max, s.median, s.mean]));
        for summary in arm.summary.values_mut() {
            keep(&mut summary.stddev, |v| [v]);
            keep(&mut summary.cv_pct, |v| [v]);
        }
    }
    for control in workload.control.values_mut() {
        clean_samples(&mut control.samples);
        keep(&mut control.floor_pct, |v| [v]);
    }
    for comparison in &mut workload.comparisons {
        clean_comparison(comparison);
    }
    workload.comparisons.retain(|c| {
        let usable = c.effect_pct.is_finite() && c.margin_pct.is_finite();
        if !usable {
            warnings.push(format!(
                "{} against {}: {} has no effect that is a finite number, so it has no verdict.",
                c.arm, c.baseline, c.metric
            ));
        }
        usable
    });
    workload.warnings.append(&mut warnings);
}

/// Replaces values that are not finite by `None`, and returns their number.
fn clean_samples(samples: &mut [Option<f64>]) -> usize {
    let mut lost = 0;
    let odd = |sample: &&mut Option<f64>| sample.is_some_and(|v| !v.is_finite());
    for sample in samples.iter_mut().filter(odd) {
        *sample = None;
        lost += 1;
    }
    lost
}

fn all_finite(values: &[f64]) -> bool {
    values.iter().all(|v| v.is_finite())
}

/// Forgets a value of which a figure is not finite.
fn keep<T: Copy, const N: usize>(value: &mut Option<T>, figures: impl Fn(T) -> [f64; N]) {
    *value = value.filter(|value| all_finite(&figures(*value)));
}

fn clean_comparison(c: &mut Comparison) {
    for figure in [&mut c.level, &mut c.sign_flip_p, &mut c.mde_pct] {
        keep(figure, |v| [v]);
    }
    for interval in [&mut c.ci95_pct, &mut c.ci_adj_pct] {
        keep(interval, |ends| ends);
    }
    for test in [&mut c.paired, &mut c.welch] {
        keep(test, |t| [t.t, t.df, t.p]);
    }
    keep(&mut c.variance, |v| [v.ratio, v.p]);
    keep(&mut c.mann_whitney, |m| [m.u, m.p]);
    keep(&mut c.student, |s| {
        [
            s.difference,
            s.plus_minus,
            s.difference_pct,
            s.plus_minus_pct,
            s.pooled_s,
        ]
    });
}
