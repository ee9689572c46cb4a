//! Keeps values that are not finite out of every report, and reports their places.
//!
//! A sample that is not finite becomes "no sample". A test with such a member is left out. A
//! comparison without an effect is left out with a warning. No finite measurement is lost.

use crate::model::result::{
    Comparison, MannWhitney, ResultFile, Student, Summary, TTest, VarianceTest, WorkloadResult,
};

/// A copy in which every number is finite.
pub fn finite(file: &ResultFile) -> ResultFile {
    let mut file = file.clone();
    let machine = &mut file.run.machine;
    machine.load_1m = machine.load_1m.filter(|v| v.is_finite());
    machine.steal_pct = machine.steal_pct.filter(|v| v.is_finite());
    for experiment in &mut file.experiments {
        for metric in experiment.metrics.values_mut() {
            metric.margin_pct = metric.margin_pct.filter(|v| v.is_finite());
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
        arm.summary.retain(|_, summary| is_finite_summary(summary));
        for summary in arm.summary.values_mut() {
            summary.stddev = summary.stddev.filter(|v| v.is_finite());
            summary.cv_pct = summary.cv_pct.filter(|v| v.is_finite());
        }
    }
    for control in workload.control.values_mut() {
        clean_samples(&mut control.samples);
        control.floor_pct = control.floor_pct.filter(|v| v.is_finite());
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
    for sample in samples
        .iter_mut()
        .filter(|s| s.is_some_and(|v| !v.is_finite()))
    {
        *sample = None;
        lost += 1;
    }
    lost
}

fn is_finite_summary(s: &Summary) -> bool {
    all_finite(&[s.min, s.max, s.median, s.mean])
}

fn all_finite(values: &[f64]) -> bool {
    values.iter().all(|v| v.is_finite())
}

fn clean_comparison(c: &mut Comparison) {
    let t_test = |t: &TTest| all_finite(&[t.t, t.df, t.p]);
    c.ci95_pct = c.ci95_pct.filter(|ci| all_finite(ci));
    c.ci_adj_pct = c.ci_adj_pct.filter(|ci| all_finite(ci));
    c.level = c.level.filter(|v| v.is_finite());
    c.paired = c.paired.filter(t_test);
    c.welch = c.welch.filter(t_test);
    c.sign_flip_p = c.sign_flip_p.filter(|v| v.is_finite());
    c.variance = c
        .variance
        .filter(|v: &VarianceTest| all_finite(&[v.ratio, v.p]));
    c.mann_whitney = c
        .mann_whitney
        .filter(|m: &MannWhitney| all_finite(&[m.u, m.p]));
    c.mde_pct = c.mde_pct.filter(|v| v.is_finite());
    c.student = c.student.filter(|s: &Student| {
        all_finite(&[
            s.difference,
            s.plus_minus,
            s.difference_pct,
            s.plus_minus_pct,
            s.pooled_s,
        ])
    });
}
