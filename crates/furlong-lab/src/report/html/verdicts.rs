//! The conclusions: a sentence for each comparison, with its verdict and its picture.

use maud::{Markup, html};

use super::frame::{Name, minus, verdict};
use super::svg::forest;
use super::svg::scale::Scale;
use crate::model::result::ExperimentResult;
use crate::report::outline::{self, Finding};
use crate::report::quantity::count;
use crate::report::{told, wording};

/// Columns of an arm's name in a sentence.
const ARM_COLUMNS: usize = 26;

/// The verdicts of an experiment, a line each. Their pictures share a scale, so that workloads can
/// be compared at a glance.
pub(super) fn lines(e: &ExperimentResult, found: &[Finding<'_>]) -> Markup {
    let scale = forest::scale(found.iter().map(|finding| finding.comparison));
    html! {
        @if !found.is_empty() {
            ol.lines { @for finding in found { (line(e, finding, scale.as_ref())) } }
        }
        @if let Some(scale) = &scale { div.ruler { (forest::ruler(scale, ends(e, found))) } }
    }
}

/// The words for less and more of the primary metric, if all workloads have the same words.
fn ends(e: &ExperimentResult, found: &[Finding<'_>]) -> (&'static str, &'static str) {
    let metrics = found.iter().map(|finding| &e.workloads[finding.workload]);
    let mut all = metrics.filter_map(|w| Some(wording::ends(outline::primary(e, w)?.1)));
    let first = all.next();
    let same = first.filter(|first| all.all(|other| other == *first));
    same.unwrap_or(("less", "more"))
}

fn line(e: &ExperimentResult, finding: &Finding<'_>, scale: Option<&Scale>) -> Markup {
    let (w, c) = (&e.workloads[finding.workload], finding.comparison);
    let place = format!("#e{}w{}", finding.experiment, finding.workload);
    let names = told::labels(&[&c.baseline, &c.arm], ARM_COLUMNS);
    let pair = [names[0].as_str(), names[1].as_str()];
    let said = outline::primary(e, w).map(|(_, metric)| told::answer(metric, c, pair));
    html! {
        li data-pct=(format!("{:.3}", c.effect_pct)) {
            a href=(place) { (Name(&w.name)) }
            (verdict(c.verdict))
            bdi { (minus(&said.unwrap_or_default())) }
            @if let Some(scale) = scale { (forest::cell(c, scale)) }
        }
    }
}

/// The number of occurrences of each verdict: `3 keep`, `1 revert`.
pub(super) fn tally(found: &[Finding<'_>]) -> Markup {
    html! {
        @if found.is_empty() { span.note { "nothing was compared" } }
        @for (verdict, n) in outline::tally(found) {
            @let word = wording::word(verdict);
            span class={ "v " (word) } { (count(n as u64)) " " (word) } " "
        }
    }
}
