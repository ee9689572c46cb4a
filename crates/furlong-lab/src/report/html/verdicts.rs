//! The conclusions, at the top of the page.
#![forbid(unsafe_code)]

use maud::{Markup, html};

use super::frame::{Name, heads, minus, scroll, verdict, warnings};
use super::svg::forest;
use super::svg::scale::Scale;
use crate::model::result::ResultFile;
use crate::report::outline::{self, Finding};
use crate::report::wording::{self, signed_effect, signed_interval};

/// The verdicts of all experiments, and the warnings about the run.
pub(super) fn section(file: &ResultFile) -> Markup {
    let found = outline::findings(file);
    html! {
        section aria-labelledby="verdicts" {
            h2 id="verdicts" { "Verdicts" }
            @if found.is_empty() {
                p { "No verdict: nothing was compared." }
            } @else {
                p { (wording::tally(&outline::tally(&found))) "." }
                (scroll("Verdicts", &table(file, &found)))
            }
            (warnings(&file.run.warnings, "warnings"))
        }
    }
}

/// The first is left out for a single experiment.
const HEADS: [&str; 8] = [
    "Experiment",
    "Workload",
    "Arm",
    "Against",
    "Verdict",
    ">Change",
    "95 % interval",
    "Interval and margin",
];

fn table(file: &ResultFile, found: &[Finding<'_>]) -> Markup {
    let many = file.experiments.len() > 1;
    html! {
        table {
            (heads(&HEADS[usize::from(!many)..]))
            @for group in found.chunk_by(|a, b| key(a) == key(b)) {
                @let scale = shared(found, group);
                tbody.group {
                    @for (i, finding) in group.iter().enumerate() {
                        (row(file, finding, i == 0, many, scale))
                    }
                }
            }
        }
    }
}

fn key(finding: &Finding<'_>) -> (usize, usize) {
    (finding.experiment, finding.workload)
}

/// One scale for an experiment, so that its workloads can be compared at a glance.
fn shared(found: &[Finding<'_>], group: &[Finding<'_>]) -> Option<Scale> {
    let experiment = group.first()?.experiment;
    let same = found
        .iter()
        .filter(|f| f.experiment == experiment)
        .map(|f| f.comparison);
    forest::scale(same, 5.0, forest::CELL.0 - 5.0)
}

fn row(
    file: &ResultFile,
    finding: &Finding<'_>,
    first: bool,
    many: bool,
    scale: Option<Scale>,
) -> Markup {
    let (e, c) = (&file.experiments[finding.experiment], finding.comparison);
    let place = format!("#e{}w{}", finding.experiment, finding.workload);
    let workload = &e.workloads[finding.workload].name;
    html! {
        tr {
            @if many { td { @if first { (Name(&e.name)) } } }
            @if first {
                th scope="row" { a href=(place) { (Name(workload)) } }
            } @else {
                td {}
            }
            td { (Name(&c.arm)) }
            td { (Name(&c.baseline)) }
            td { (verdict(c.verdict)) }
            td.number { (minus(&signed_effect(c))) }
            td { (minus(&signed_interval(c).unwrap_or_default())) }
            td.chart { @if let Some(scale) = scale { (forest::cell(c, &scale)) } }
        }
    }
}
