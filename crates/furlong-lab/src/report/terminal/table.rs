//! The tables of a workload.
#![forbid(unsafe_code)]

use comfy_table::Cell;

use super::Style;
use super::columns::{Column, NAME_MAX, table, total};
use super::paint;
use crate::record::result::{Comparison, ExperimentResult, Kind, Summary, WorkloadResult};
use crate::report::outline::{self, Named};
use crate::report::quantity::{Scale, percent, spread};
use crate::report::text::{plain, shorten, width};
use crate::report::wording::{self, change, signed_interval};

/// Exact metrics that may stand beside the primary one.
const BESIDE_MAX: usize = 4;

/// What is said of a workload in numbers.
pub(super) struct Tables {
    /// The tables.
    pub(super) text: String,
    /// Sentences for what found no place in them.
    pub(super) notes: Vec<String>,
}

/// The primary metric of all arms, the exact metrics beside it where they fit, the others below.
pub(super) fn write(
    e: &ExperimentResult,
    w: &WorkloadResult,
    primary: Named<'_>,
    style: &Style,
) -> Tables {
    let exact = outline::secondary(e, Kind::Exact);
    let mut below = outline::metrics(e);
    below.retain(|(name, _)| {
        *name != primary.0 && w.arms.iter().any(|arm| arm.samples.contains_key(*name))
    });
    let mut notes = vec![];
    let mut columns = match beside(w, primary, &exact, style) {
        Some(columns) => {
            below.retain(|(_, metric)| metric.kind != Kind::Exact);
            notes.extend(exact.iter().filter_map(|named| exact_sentence(w, *named)));
            columns
        }
        None => fitting(w, primary, &[], style)
            .unwrap_or_else(|| primary_columns(w, primary, &[], false, style)),
    };
    not_applicable(w, &mut columns, &mut notes, style);
    let mut text = table(&columns, style.width, style.colour);
    if !below.is_empty() {
        text.push_str("\n\n");
        text.push_str(&others(w, &below, style));
    }
    Tables { text, notes }
}

/// The columns with the exact metrics among them, where they fit.
fn beside(
    w: &WorkloadResult,
    primary: Named<'_>,
    exact: &[Named<'_>],
    style: &Style,
) -> Option<Vec<Column>> {
    let there = |(name, _): &Named<'_>| w.arms.iter().any(|arm| arm.samples.contains_key(*name));
    let exact: Vec<Named<'_>> = exact.iter().copied().filter(there).collect();
    if exact.is_empty() || exact.len() > BESIDE_MAX {
        return None;
    }
    fitting(w, primary, &exact, style)
}

/// With the mean or without it, whatever fits.
fn fitting(
    w: &WorkloadResult,
    primary: Named<'_>,
    exact: &[Named<'_>],
    style: &Style,
) -> Option<Vec<Column>> {
    [true, false]
        .into_iter()
        .map(|mean| primary_columns(w, primary, exact, mean, style))
        .find(|columns| total(columns) <= style.width)
}

fn primary_columns(
    w: &WorkloadResult,
    (name, metric): Named<'_>,
    exact: &[Named<'_>],
    mean: bool,
    style: &Style,
) -> Vec<Column> {
    let scale = scale(w, (name, metric));
    let unit = scale.symbol();
    let mut arms = Column::words("arm");
    let mut medians = Column::numbers(&format!("median\n{unit}"));
    let mut means = Column::numbers(&format!("mean\n{unit}"));
    let mut cvs = Column::numbers("CV\n%");
    let mut changes = Column::numbers("change\n%");
    let mut intervals = Column::words("95 %\ninterval");
    let mut verdicts = Column::words("verdict");
    for (i, arm) in w.arms.iter().enumerate() {
        let c = outline::comparison(w, &arm.name, name);
        let summary = arm.summary.get(name);
        let missing = if arm.na.is_some() { "" } else { "-" };
        arms.push(shorten(&arm.name, NAME_MAX));
        medians.push(outline::typical(arm, name).map_or(missing.into(), |v| scale.number(v)));
        means.push(summary.map_or(String::new(), |s| scale.number(s.mean)));
        cvs.push(cv(summary));
        changes.push(c.map_or(String::new(), change));
        intervals.push(c.and_then(signed_interval).unwrap_or_default());
        verdicts.push(verdict(c, i == 0 && !w.comparisons.is_empty(), style));
    }
    if let Some(control) = w.control.get(name) {
        let values = outline::control_values(w, name);
        arms.push("control");
        medians.push(outline::median(&values).map_or("-".to_owned(), |v| scale.number(v)));
        for column in [&mut means, &mut cvs, &mut changes, &mut intervals] {
            column.push("");
        }
        verdicts.push(match (control.failed, control.floor_pct) {
            (true, _) => "FAILED".to_owned(),
            (false, floor) => floor.map_or(String::new(), |f| format!("floor {}", percent(f))),
        });
    }
    let mut columns = vec![arms, medians];
    columns.extend(mean.then_some(means));
    columns.extend((!cvs.is_blank()).then_some(cvs));
    columns.extend(exact.iter().map(|named| exact_column(w, *named)));
    columns.extend([changes, intervals].into_iter().filter(|c| !c.is_blank()));
    columns.push(verdicts);
    columns
}

/// Says why an arm has no values: in its row where there is room, else below the table.
fn not_applicable(
    w: &WorkloadResult,
    columns: &mut [Column],
    notes: &mut Vec<String>,
    style: &Style,
) {
    let used = total(columns);
    let Some(verdicts) = columns.last_mut() else {
        return;
    };
    let room = (style.width + verdicts.width()).saturating_sub(used);
    for (row, arm) in w.arms.iter().enumerate() {
        let Some(reason) = &arm.na else { continue };
        let text = format!("n/a: {}", plain(reason));
        if width(&text) <= room {
            verdicts.set(row, text);
        } else {
            verdicts.set(row, "n/a".to_owned());
            notes.push(format!("{}: {text}", plain(&arm.name)));
        }
    }
}

/// The values of an exact metric, its name broken at its words.
fn exact_column(w: &WorkloadResult, (name, metric): Named<'_>) -> Column {
    let scale = scale(w, (name, metric));
    let mut column = Column::numbers(&format!("{}\n{}", broken(name), scale.symbol()));
    for arm in &w.arms {
        column.push(outline::typical(arm, name).map_or(String::new(), |v| scale.number(v)));
    }
    column
}

/// `augment_calls_per_op` in lines of a word or two.
fn broken(name: &str) -> String {
    let name = shorten(name, 2 * NAME_MAX);
    let mut lines: Vec<String> = vec![];
    for word in name.split('_') {
        match lines.last_mut() {
            Some(line) if line.len() + word.len() < 8 => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}

/// `augment_calls_per_op (exact): deferred 15.24, 54.6 % lower (better); checked ..`.
fn exact_sentence(w: &WorkloadResult, (name, metric): Named<'_>) -> Option<String> {
    let scale = scale(w, (name, metric));
    let said: Vec<String> = w
        .arms
        .iter()
        .filter_map(|arm| {
            let c = outline::comparison(w, &arm.name, name)?;
            let value = scale.show(outline::typical(arm, name)?);
            Some(format!(
                "{} {value}, {}",
                plain(&arm.name),
                wording::effect(metric, c)
            ))
        })
        .collect();
    (!said.is_empty()).then(|| format!("{} (exact): {}", plain(name), said.join("; ")))
}

/// The other metrics, a group each.
fn others(w: &WorkloadResult, metrics: &[Named<'_>], style: &Style) -> String {
    let mut names = Column::words("also measured");
    let (mut medians, mut cvs) = (Column::numbers("median"), Column::numbers("CV %"));
    let mut changes = Column::numbers("change %");
    let mut intervals = Column::words("95 % interval");
    let mut verdicts = Column::words("verdict");
    for &(name, metric) in metrics {
        let scale = scale(w, (name, metric));
        names.push(shorten(name, NAME_MAX));
        for column in [
            &mut medians,
            &mut cvs,
            &mut changes,
            &mut intervals,
            &mut verdicts,
        ] {
            column.push("");
        }
        for arm in w.arms.iter().filter(|arm| arm.samples.contains_key(name)) {
            let c = outline::comparison(w, &arm.name, name);
            names.push(format!("  {}", shorten(&arm.name, NAME_MAX - 2)));
            medians.push(outline::typical(arm, name).map_or("-".to_owned(), |v| scale.show(v)));
            cvs.push(match metric.kind {
                Kind::Exact => "exact".to_owned(),
                Kind::Sampled => cv(arm.summary.get(name)),
            });
            changes.push(c.map_or(String::new(), change));
            intervals.push(c.and_then(signed_interval).unwrap_or_default());
            verdicts.push(verdict(c, false, style));
        }
    }
    let mut columns = vec![names, medians];
    columns.extend(
        [cvs, changes, intervals, verdicts]
            .into_iter()
            .filter(|c| !c.is_blank()),
    );
    table(&columns, style.width, style.colour)
}

/// One scale for all arms, so that they can be compared at a glance.
fn scale(w: &WorkloadResult, (name, metric): Named<'_>) -> Scale {
    Scale::of(
        &metric.unit,
        w.arms.iter().filter_map(|arm| outline::typical(arm, name)),
    )
}

fn cv(summary: Option<&Summary>) -> String {
    summary.and_then(|s| s.cv_pct).map_or(String::new(), spread)
}

fn verdict(c: Option<&Comparison>, baseline: bool, style: &Style) -> Cell {
    match c {
        Some(c) => paint::cell(c.verdict, style.colour),
        None => Cell::new(if baseline { "baseline" } else { "" }),
    }
}
