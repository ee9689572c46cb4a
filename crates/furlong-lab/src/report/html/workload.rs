//! One workload: verdicts in words, figures, tables.
#![forbid(unsafe_code)]

use maud::{Markup, html};

use super::arms;
use super::frame::{Name, minus, verdict, warnings};
use super::svg::{forest, order, strip};
use super::tables;
use crate::model::result::{ExperimentResult, Kind, WorkloadResult};
use crate::report::outline::{self, Named};
use crate::report::picture::picture;
use crate::report::text::{called, plain, shorten};
use crate::report::{terminal, wording};

/// Columns of the ministat picture.
const PICTURE_COLUMNS: usize = 72;
/// Columns of a name in a caption.
const NAME_COLUMNS: usize = 60;

/// The workload's part of the page.
pub(super) fn section(id: &str, e: &ExperimentResult, w: &WorkloadResult) -> Markup {
    let params = terminal::params(w);
    html! {
        section.workload {
            h3 id=(id) { bdi { (shorten(&called(&w.name), 2 * NAME_COLUMNS)) } }
            p.meta {
                (wording::blocks(w.blocks.len() as u64))
                @if !params.is_empty() { "; " bdi { (params) } }
            }
            @if let Some(primary) = outline::primary(e, w) {
                (sentences(e, w))
                (warnings(&w.warnings, "warnings"))
                (figures(id, e, w, primary))
                (tables::measured(id, e, w))
                (tables::tests(w))
            } @else {
                p { "No metric was measured." }
                (warnings(&w.warnings, "warnings"))
            }
        }
    }
}

/// The verdicts in words, and the arms that could not run.
fn sentences(e: &ExperimentResult, w: &WorkloadResult) -> Markup {
    html! {
        ul.plain {
            @for ((name, metric), c) in outline::worth_saying(e, w) {
                @let (_, _, rest) = wording::sentence(name, metric, c, w);
                li {
                    (verdict(c.verdict)) " "
                    @if !metric.primary { code { (Name(name)) } ", " }
                    (Name(&c.arm)) " against " (Name(&c.baseline)) ": "
                    bdi { (minus(&rest)) } "."
                }
            }
            @for arm in &w.arms {
                @if let Some(reason) = &arm.na {
                    li { "n/a: " (Name(&arm.name)) ": " bdi { (plain(reason)) } "." }
                }
            }
        }
    }
}

fn figures(id: &str, e: &ExperimentResult, w: &WorkloadResult, primary: Named<'_>) -> Markup {
    let (name, metric) = primary;
    let of = |name: &str| outline::comparisons(w, name);
    let main: Vec<forest::Entry<'_>> = of(name).into_iter().map(|c| (primary, c)).collect();
    let others: Vec<forest::Entry<'_>> = outline::secondary(e, w, Kind::Sampled)
        .into_iter()
        .flat_map(|named| of(named.0).into_iter().map(move |c| (named, c)))
        .collect();
    html! {
        p.meta { code { (shorten(name, NAME_COLUMNS)) } ", " (wording::better(metric)) ":" }
        div.figures {
            div {
                (figure(
                    forest::draw(&format!("{id}f"), w, &main, true),
                    "Intervals against the margin.",
                    "Thick: 95 %; thin: adjusted for several claims. The band is the margin, the \
                     dotted lines are the noise floor of this run, which decides nothing.",
                ))
                (figure(
                    order::draw(&format!("{id}o"), w, primary),
                    "In the order of the run.",
                    "Distance of each value from the arm's own median; the line is the running \
                     median, from twelve values on. A slope is drift; a step or a burst is a \
                     disturbance.",
                ))
                (figure(
                    forest::draw(&format!("{id}g"), w, &others, false),
                    "The other metrics.",
                    "Change against the baseline, as above.",
                ))
            }
            div {
                (figure(
                    strip::draw(&format!("{id}s"), w, primary),
                    "Every value.",
                    "One dot is one process. Shaded: the middle half; line and number: the median.",
                ))
                (ministat(w, primary))
            }
        }
        (small_multiples(id, e, w))
    }
}

fn figure(drawn: Option<Markup>, title: &str, about: &str) -> Markup {
    html! {
        @if let Some(drawn) = drawn {
            figure { figcaption { b { (title) } " " (about) } (drawn) }
        }
    }
}

/// The distributions of the other sampled metrics, collapsed.
fn small_multiples(id: &str, e: &ExperimentResult, w: &WorkloadResult) -> Markup {
    let drawn: Vec<(&str, Markup)> = outline::secondary(e, w, Kind::Sampled)
        .into_iter()
        .enumerate()
        .filter_map(|(i, named)| Some((named.0, strip::draw(&format!("{id}s{i}"), w, named)?)))
        .collect();
    html! {
        @if !drawn.is_empty() {
            details {
                summary { "Every value of the other metrics" }
                div.figures {
                    @for (name, drawn) in drawn {
                        figure { figcaption { code { (shorten(name, NAME_COLUMNS)) } } (drawn) }
                    }
                }
            }
        }
    }
}

fn ministat(w: &WorkloadResult, (name, _): Named<'_>) -> Markup {
    let Some(drawn) = picture(w, name, PICTURE_COLUMNS) else {
        return html! {};
    };
    let place = |arm: &str| w.arms.iter().position(|a| a.name == arm).unwrap_or(0);
    html! {
        figure {
            figcaption {
                b { "The same values, drawn by ministat." } " "
                @for (i, (symbol, arm)) in drawn.legend.iter().enumerate() {
                    @if i > 0 { ", " }
                    (arms::key(place(arm), false)) code { (symbol) } " " (Name(arm))
                }
                @if drawn.is_shared() { ", " code { (drawn.overlap) } " several" }
                @if drawn.left_out > 0 { "; " (drawn.left_out) " more arms are not drawn" }
                "."
            }
            div.scroll tabindex="0" role="group" aria-label="Picture in characters" {
                pre { (drawn.text) }
            }
        }
    }
}
