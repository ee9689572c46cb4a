//! The tables of a workload.

use comfy_table::Cell;

use super::Style;
use super::columns::{Column, NAME_MAX, table, total};
use super::paint;
use crate::model::result::{Comparison, ExperimentResult, Kind, Summary, WorkloadResult};
use crate::report::outline::{self, Named};
use crate::report::quantity::{Scale, TimeUnit, percent, spread};
use crate::report::text::{fold, plain, shorten};
use crate::report::wording::{self, change, signed_interval};

/// Exact metrics beside the primary one at most.
const BESIDE_MAX: usize = 4;

/// A workload in numbers.
pub(super) struct Tables {
    /// The tables.
    pub(super) text: String,
    /// Sentences for the values that had no room in them.
    pub(super) notes: Vec<String>,
}

/// The optional parts of the main table.
#[derive(Clone, Copy)]
struct Layout<'a> {
    /// Exact metrics beside the primary one.
    exact: &'a [Named<'a>],
    /// The mean.
    mean: bool,
    /// Format of the reasons why an arm cannot run.
    reasons: Reasons,
}

/// Format of the reason why an arm cannot run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reasons {
    /// On one line.
    Whole,
    /// On a few short lines, if a few are enough.
    Folded,
}

/// Columns of a folded reason, and its largest number of lines.
const REASON_COLUMNS: usize = 16;
const REASON_LINES: usize = 3;

/// The primary metric of all arms, the exact metrics beside it if they fit, and the others below.
pub(super) fn write(
    e: &ExperimentResult,
    w: &WorkloadResult,
    primary: Named<'_>,
    style: &Style,
) -> Tables {
    let there = |(name, _): &Named<'_>| w.arms.iter().any(|arm| arm.samples.contains_key(*name));
    let mut below = e.named();
    below.retain(|named| named.0 != primary.0 && there(named));
    let mut exact = outline::secondary(e, w, Kind::Exact);
    exact.retain(there);
    let beside = if exact.len() <= BESIDE_MAX {
        exact.as_slice()
    } else {
        &[]
    };
    let (layout, columns) = fitting(w, primary, beside, style);
    let mut notes = vec![];
    if !layout.exact.is_empty() {
        below.retain(|(_, metric)| metric.kind != Kind::Exact);
        notes.extend(exact.iter().filter_map(|named| exact_sentence(w, *named)));
    }
    notes.extend(w.arms.iter().filter_map(|arm| {
        let reason = arm.na.as_deref()?;
        let shown = not_applicable(reason, layout.reasons).is_some();
        (!shown).then(|| format!("{}: n/a: {}", plain(&arm.name), plain(reason)))
    }));
    let mut text = table(&columns, style.width, style.colour);
    if !below.is_empty() {
        text.push_str("\n\n");
        text.push_str(&others(w, &below, style));
    }
    Tables { text, notes }
}

/// The fullest layout that fits, with its columns; the smallest if none does.
fn fitting<'a>(
    w: &WorkloadResult,
    primary: Named<'_>,
    exact: &'a [Named<'a>],
    style: &Style,
) -> (Layout<'a>, Vec<Column>) {
    for exact in [exact, &[]] {
        for reasons in [Reasons::Whole, Reasons::Folded] {
            for mean in [true, false] {
                let layout = Layout {
                    exact,
                    mean,
                    reasons,
                };
                let columns = primary_columns(w, primary, layout, style);
                if total(&columns) <= style.width {
                    return (layout, columns);
                }
            }
        }
    }
    let barest = Layout {
        exact: &[],
        mean: false,
        reasons: Reasons::Folded,
    };
    (barest, primary_columns(w, primary, barest, style))
}

/// `n/a: at most 32 segments`; `None` if that is too long for a table.
fn not_applicable(reason: &str, reasons: Reasons) -> Option<String> {
    let text = format!("n/a: {}", plain(reason));
    if reasons == Reasons::Whole {
        return Some(text);
    }
    let folded = fold(&text, REASON_COLUMNS, 0);
    (folded.lines().count() <= REASON_LINES).then_some(folded)
}

fn primary_columns(
    w: &WorkloadResult,
    (name, metric): Named<'_>,
    layout: Layout<'_>,
    style: &Style,
) -> Vec<Column> {
    let scale = scale(w, (name, metric), style.time_unit);
    let unit = scale.symbol();
    let mut arms = Column::words("arm");
    let mut medians = Column::numbers(&format!("median\n{unit}"));
    let mut means = Column::numbers(&format!("mean\n{unit}"));
    let mut cvs = Column::numbers("CV\n%").spare(2);
    let mut changes = Column::numbers("change\n%");
    let mut intervals = Column::words("95 %\ninterval").spare(1);
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
        verdicts.push(match &arm.na {
            Some(reason) => {
                let text = not_applicable(reason, layout.reasons);
                Cell::new(text.unwrap_or_else(|| "n/a".to_owned()))
            }
            None => verdict(c, i == 0 && !w.comparisons.is_empty(), style),
        });
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
    columns.extend(layout.mean.then_some(means));
    columns.extend((!cvs.is_blank()).then_some(cvs));
    columns.extend(layout.exact.iter().map(|named| exact_column(w, *named)));
    columns.extend([changes, intervals].into_iter().filter(|c| !c.is_blank()));
    columns.push(verdicts);
    columns
}

/// The values of an exact metric, with its name broken between words.
fn exact_column(w: &WorkloadResult, (name, metric): Named<'_>) -> Column {
    let scale = scale(w, (name, metric), None);
    let mut column = Column::numbers(&format!("{}\n{}", broken(name), scale.symbol()));
    for arm in &w.arms {
        column.push(outline::typical(arm, name).map_or(String::new(), |v| scale.number(v)));
    }
    column
}

/// `augment_calls_per_op` in lines of one or two words.
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
    let scale = scale(w, (name, metric), None);
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

/// The other metrics, one group each.
fn others(w: &WorkloadResult, metrics: &[Named<'_>], style: &Style) -> String {
    let mut names = Column::words("also measured");
    let (mut medians, mut cvs) = (Column::numbers("median"), Column::numbers("CV %").spare(3));
    let mut changes = Column::numbers("change\n%");
    let mut intervals = Column::words("95 % interval").spare(2);
    let mut verdicts = Column::words("verdict").spare(1);
    for &(name, metric) in metrics {
        let scale = scale(w, (name, metric), style.time_unit);
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

/// One scale for all arms: they can be compared at a glance.
fn scale(w: &WorkloadResult, (name, metric): Named<'_>, unit: Option<TimeUnit>) -> Scale {
    let typical = || w.arms.iter().filter_map(|arm| outline::typical(arm, name));
    Scale::of(&metric.unit, typical()).in_time(unit, typical())
}

fn cv(summary: Option<&Summary>) -> String {
    summary.and_then(|s| s.cv_pct).map_or(String::new(), spread)
}

fn verdict(c: Option<&Comparison>, baseline: bool, style: &Style) -> Cell {
    match c {
        Some(c) => paint::cell(wording::word(c.verdict), c.verdict, style.colour),
        None => Cell::new(if baseline { "baseline" } else { "" }),
    }
}
