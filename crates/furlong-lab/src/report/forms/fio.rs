//! Spreads and differences of the primary metric, a line a workload.
//!
//! ```text
//!         base    patched
//!         var     var     diff
//! small   0.69%   0.62%   +25.4%
//! ```
//!
//! `var` is the standard deviation in per cent of the mean, `diff` the change of the mean against
//! the base. Columns are separated by tabs.
#![forbid(unsafe_code)]

use super::super::outline::{arms, primary};
use super::super::text::plain;
use super::super::wording;
use crate::record::result::{ArmResult, ExperimentResult, ResultFile, WorkloadResult};

/// A table for the workloads of an experiment that have the same primary metric.
pub(super) fn render(file: &ResultFile) -> String {
    let mut text = String::new();
    for e in &file.experiments {
        let alike = |a: &WorkloadResult, b: &WorkloadResult| named(e, a) == named(e, b);
        for workloads in e.workloads.chunk_by(alike) {
            text.push_str(&table(e, workloads));
        }
    }
    text
}

fn named<'a>(e: &'a ExperimentResult, w: &WorkloadResult) -> Option<&'a str> {
    primary(e, w).map(|(name, _)| name)
}

fn table(e: &ExperimentResult, workloads: &[WorkloadResult]) -> String {
    let Some((name, metric)) = workloads.first().and_then(|w| primary(e, w)) else {
        return String::new();
    };
    let mut text = format!("{}\n", wording::caption(name, metric));
    let arms = arms(e);
    let mut heads = [String::new(), String::new()];
    for (place, arm) in arms.iter().enumerate() {
        let (arm, gap) = (plain(arm), if place > 1 { "\t" } else { "" });
        heads[0].push_str(&format!("{gap}\t{arm}"));
        heads[1].push_str(if place == 0 { "\tvar" } else { "\tvar\tdiff" });
    }
    for line in heads {
        text.push_str(&format!("{line}\n"));
    }
    for workload in workloads {
        text.push_str(&format!(
            "{}{}\n",
            plain(&workload.name),
            row(workload, &arms, name)
        ));
    }
    text.push('\n');
    text
}

fn row(w: &WorkloadResult, arms: &[&str], metric: &str) -> String {
    let found = |name: &str| w.arms.iter().find(|arm| arm.name == name);
    let base = w.arms.first().and_then(|arm| mean(arm, metric));
    let cells = arms.iter().enumerate().map(|(place, name)| {
        let arm = found(name);
        let var = arm.and_then(|arm| arm.summary.get(metric)?.cv_pct);
        let var = var.map_or_else(|| "-".to_owned(), |pct| format!("{pct:.2}%"));
        if place == 0 {
            return format!("\t{var}");
        }
        let change = arm.and_then(|arm| Some(100.0 * (mean(arm, metric)? / base? - 1.0)));
        let change = change.filter(|pct| pct.is_finite());
        format!("\t{var}\t{}", change.map_or_else(|| "-".to_owned(), signed))
    });
    cells.collect()
}

fn mean(arm: &ArmResult, metric: &str) -> Option<f64> {
    arm.summary.get(metric).map(|summary| summary.mean)
}

/// With one decimal; nothing is less than zero when it prints as zero.
fn signed(pct: f64) -> String {
    match format!("{pct:+.1}%").as_str() {
        "-0.0%" => "+0.0%".to_owned(),
        text => text.to_owned(),
    }
}
