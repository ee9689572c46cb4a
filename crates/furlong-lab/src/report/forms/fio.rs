//! Spreads and differences of the primary metric, one line per workload.
//!
//! ```text
//!        base   patched
//!        var    var      diff
//! small  0.69%  0.62%    +25.4%
//! ```
//!
//! `var` is the standard deviation as a percentage of the mean; `diff` is the change of the mean
//! against the base.
#![forbid(unsafe_code)]

use super::super::outline::{arms, primary};
use super::super::text::{plain, width};
use super::super::wording;
use crate::model::result::{ArmResult, ExperimentResult, ResultFile, WorkloadResult};

/// The parameter that marks workloads with a device.
const QUEUE: &str = "queue_depth";

/// A table for the workloads of an experiment that have the same primary metric.
pub(super) fn render(file: &ResultFile) -> String {
    let experiments = file.experiments.iter();
    let tables =
        experiments.map(|e| tables(e, &e.workloads.iter().collect::<Vec<_>>(), usize::MAX));
    tables.collect()
}

/// The tables of the workloads with a device, if there are any. If they are wider than `room`,
/// their columns are closer together.
pub(in crate::report) fn of_devices(e: &ExperimentResult, room: usize) -> String {
    let workloads = e.workloads.iter();
    let devices: Vec<&WorkloadResult> =
        workloads.filter(|w| w.params.contains_key(QUEUE)).collect();
    tables(e, &devices, room)
}

fn tables(e: &ExperimentResult, workloads: &[&WorkloadResult], room: usize) -> String {
    let alike = |a: &&WorkloadResult, b: &&WorkloadResult| named(e, a) == named(e, b);
    let groups = workloads.chunk_by(alike);
    groups.map(|workloads| table(e, workloads, room)).collect()
}

fn named<'a>(e: &'a ExperimentResult, w: &WorkloadResult) -> Option<&'a str> {
    primary(e, w).map(|(name, _)| name)
}

fn table(e: &ExperimentResult, workloads: &[&WorkloadResult], room: usize) -> String {
    let Some((name, metric)) = workloads.first().and_then(|w| primary(e, w)) else {
        return String::new();
    };
    let arms = arms(e);
    let mut rows = vec![vec![String::new()], vec![String::new()]];
    for (place, arm) in arms.iter().enumerate() {
        let figures: &[&str] = if place == 0 {
            &["var"]
        } else {
            &["var", "diff"]
        };
        rows[0]
            .extend(std::iter::once(plain(arm)).chain(figures[1..].iter().map(|_| String::new())));
        rows[1].extend(figures.iter().map(ToString::to_string));
    }
    rows.extend(workloads.iter().map(|w| row(w, &arms, name)));
    format!(
        "{}\n{}\n",
        wording::caption(name, metric),
        aligned(&rows, room)
    )
}

/// Rows with aligned columns, two blanks apart, or one if that is wider than `room`.
fn aligned(rows: &[Vec<String>], room: usize) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let cell = |row: &[String], column: usize| row.get(column).map_or(0, |cell| width(cell));
    let widest = |column| rows.iter().map(|row| cell(row, column)).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(widest).collect();
    let gap = match widths.iter().sum::<usize>() + 2 * columns > room {
        true => 1,
        false => 2,
    };
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths);
        let padded =
            cells.map(|(text, wide)| format!("{text}{}", " ".repeat(wide + gap - width(text))));
        format!("{}\n", padded.collect::<String>().trim_end())
    };
    rows.iter().map(line).collect()
}

fn row(w: &WorkloadResult, arms: &[&str], metric: &str) -> Vec<String> {
    let mut cells = vec![plain(&w.name)];
    let base = w.arms.first().and_then(|arm| mean(arm, metric));
    for (place, name) in arms.iter().enumerate() {
        let arm = w.arms.iter().find(|arm| arm.name == *name);
        let var = arm.and_then(|arm| arm.summary.get(metric)?.cv_pct);
        cells.push(var.map_or_else(|| "-".to_owned(), |pct| format!("{pct:.2}%")));
        if place > 0 {
            let change = arm.and_then(|arm| Some(100.0 * (mean(arm, metric)? / base? - 1.0)));
            let change = change.filter(|pct| pct.is_finite());
            cells.push(change.map_or_else(|| "-".to_owned(), signed));
        }
    }
    cells
}

fn mean(arm: &ArmResult, metric: &str) -> Option<f64> {
    arm.summary.get(metric).map(|summary| summary.mean)
}

/// A percentage with one decimal; never `-0.0`.
fn signed(pct: f64) -> String {
    match format!("{pct:+.1}%").as_str() {
        "-0.0%" => "+0.0%".to_owned(),
        text => text.to_owned(),
    }
}
