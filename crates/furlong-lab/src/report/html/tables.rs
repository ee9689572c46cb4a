//! The numbers of a workload.

use maud::{Markup, html};

use super::Room;
use super::frame::{Name, cell, heads, minus, scroll};
use super::svg::flame::Stacks;
use super::svg::scale::Scale as Place;
use super::svg::{colour, forest};
use crate::model::result::{ArmResult, Comparison, ExperimentResult, Kind, TTest, WorkloadResult};
use crate::record::functions::frames;
use crate::report::causes;
use crate::report::outline::{self, Named};
use crate::report::quantity::{Scale, chosen_percent, count, percent, signed, spread};
use crate::report::text::shorten;
use crate::report::wording::{self, signed_effect, signed_interval};

/// Headings of the table of values. The style aligns its cells, and names them on a narrow screen.
const HEADS: &str = "Arm|Median|Mean|CV|Change|95 % interval|Interval and margin|Verdict|\
    Values, in the order of the run";
const PICTURE: &str = "Interval and margin";
const VALUES: &str = "Values, in the order of the run";

/// Columns of a function's name.
const FUNCTION_COLUMNS: usize = 120;
/// Rows of the table of call stacks.
const STACKS_MAX: usize = 10;
/// Last functions of a call stack that are named in it.
const STACK_MAX: usize = 5;

/// Every metric of every arm, with every value; the control below the arms. If there is no room
/// for all of them, without the values, or of the primary metric alone.
pub(super) fn measured(
    e: &ExperimentResult,
    w: &WorkloadResult,
    (primary, _): Named<'_>,
    room: Room,
) -> Markup {
    let there = |name: &str| w.arms.iter().any(|arm| arm.samples.contains_key(name));
    let chosen = |name: &str| there(name) && (room < Room::Primary || name == primary);
    let content = html! {
        table.measured {
            (heads(&columns(room).join("|")))
            @for named in e.named() {
                @if chosen(named.0) { (group(w, named, room)) }
            }
        }
    };
    scroll("Measured values", &content)
}

/// The functions behind each difference in instructions, and their call stacks, folded.
pub(super) fn functions(w: &WorkloadResult, room: Room) -> Markup {
    html! {
        @for (arm, found) in causes::of_arms(w) {
            p { b { (Name(arm)) } ": " (found.amount) ", by function:" }
            (scroll("Functions", &html! {
                table {
                    (heads(">Share|Function|Change"))
                    tbody {
                        @for one in &found.functions {
                            tr {
                                td.number { (minus(&one.share)) }
                                td { bdi { (shorten(&one.function, FUNCTION_COLUMNS)) } }
                                td { bdi { (one.change) } }
                            }
                        }
                    }
                }
            }))
            @if room == Room::All { (flame(w, arm)) }
        }
    }
}

/// The flame graph of an arm, and the differences in it as a table.
fn flame(w: &WorkloadResult, arm: &str) -> Markup {
    let Some(stacks) = frames(w, arm).and_then(Stacks::new) else {
        return html! {};
    };
    let base = w.arms.first().map_or("", |arm| arm.name.as_str());
    let about = format!(
        "Flame graph of {}. A table after it has the greatest differences.",
        shorten(arm, 60)
    );
    let path = |stack: &[&str]| {
        let more = stack.len().saturating_sub(STACK_MAX);
        let names = stack[more..]
            .iter()
            .map(|name| shorten(name, FUNCTION_COLUMNS));
        let cut = (more > 0).then(|| "…".to_owned()).into_iter();
        cut.chain(names).collect::<Vec<_>>().join(" → ")
    };
    let table = html! {
        table {
            caption {
                "The greatest differences by call stack, in per cent of all instructions of "
                (Name(base)) "."
            }
            (heads(">Own code|>With callees|Call stack"))
            tbody {
                @for (own, all, stack) in stacks.greatest(STACKS_MAX) {
                    tr {
                        td.number { (minus(&format!("{} %", signed(own, 2)))) }
                        td.number { (minus(&format!("{} %", signed(all, 2)))) }
                        td.wrap { bdi { (path(&stack)) } }
                    }
                }
            }
        }
    };
    html! {
        details {
            summary { "Flame graph" }
            p {
                "A bar is a function, on top of the one that calls it. It is as wide as the "
                "function's share of the instructions of " (Name(arm)) ", with all that it calls. "
                b class="c2" { "Orange" } ": its own code takes more than in " (Name(base)) "; "
                b class="c1" { "blue" } ": less. The strength shows the amount."
            }
            (scroll("Flame graph", &stacks.draw(&about)))
            (scroll("Differences by call stack", &table))
            p.note {
                "Counted were calls between functions, not call stacks. So the cost of a function "
                "is divided among its callers in proportion to the cost of their calls. Calls "
                "that lead back in a recursion are left out. Stacks below 0.1 % are part of their "
                "callers, and a function that only " (Name(base)) " has is in the table alone."
            }
        }
    }
}

/// The headings that there is room for. The pictures repeat those of the verdicts, if only the
/// primary metric is there.
fn columns(room: Room) -> Vec<&'static str> {
    let shown = |head: &&str| match *head {
        VALUES => room < Room::Figures,
        PICTURE => room < Room::Primary,
        _ => true,
    };
    HEADS.split('|').filter(shown).collect()
}

/// The rows of a metric. Their values share a unit, and their pictures a scale.
fn group(w: &WorkloadResult, (name, metric): Named<'_>, room: Room) -> Markup {
    let all = w.arms.iter().flat_map(|arm| outline::values(arm, name));
    let scale = Scale::of(&metric.unit, all);
    let comparisons = outline::comparisons(w, name);
    let sampled = comparisons.iter().copied().filter(|c| c.ci95_pct.is_some());
    let place = forest::scale(sampled);
    let rows = w.arms.iter().enumerate();
    let rows = rows.filter(|(_, arm)| arm.samples.contains_key(name));
    let in_rows = |c: &Comparison| {
        let own = outline::comparison(w, &c.arm, name);
        own.is_some_and(|own| own.baseline == c.baseline)
    };
    html! {
        tbody {
            tr {
                th colspan=(columns(room).len()) scope="rowgroup" {
                    (cell(name)) ", " (wording::better(metric))
                    @if !scale.symbol().is_empty() { ", in " (scale.symbol()) }
                }
            }
            @for (i, arm) in rows {
                @let c = outline::comparison(w, &arm.name, name);
                tr {
                    td class=(colour(i)) { (cell(&arm.name)) }
                    (values(metric.kind, name, arm, &scale))
                    @match c {
                        Some(c) => (compared(c, place.as_ref(), room)),
                        None => {
                            td {} td {} @if room < Room::Primary { td {} }
                            td { @if i == 0 && w.arms.len() > 1 { "baseline" } }
                        }
                    }
                    @if room < Room::Figures {
                        td { (listed(metric.kind, arm.samples.get(name), &scale)) }
                    }
                }
            }
            @for c in comparisons.into_iter().filter(|c| !in_rows(c)) {
                tr {
                    td { (cell(&c.arm)) " against " (cell(&c.baseline)) }
                    td {} td {} td {}
                    (compared(c, place.as_ref(), room))
                }
            }
            (control(w, name, &scale, room))
        }
    }
}

/// The cells from the change to the verdict.
fn compared(c: &Comparison, place: Option<&Place>, room: Room) -> Markup {
    html! {
        td { (minus(&signed_effect(c))) }
        td { (minus(&signed_interval(c).unwrap_or_default())) }
        @if room < Room::Primary {
            td {
                @if let Some(place) = place.filter(|_| c.ci95_pct.is_some()) {
                    (forest::cell(c, place))
                }
            }
        }
        td class={ "v " (wording::word(c.verdict)) } { (wording::word(c.verdict)) }
    }
}

/// The cells from the median to the CV.
fn values(kind: Kind, name: &str, arm: &ArmResult, scale: &Scale) -> Markup {
    let show = |v: f64| minus(&scale.number(v));
    let summary = arm.summary.get(name);
    let cv = summary.and_then(|s| s.cv_pct);
    html! {
        td { (outline::typical(arm, name).map_or("–".to_owned(), show)) }
        @match kind {
            Kind::Exact => { td {} td { "exact" } }
            Kind::Sampled => {
                td { (summary.map_or(String::new(), |s| show(s.mean))) }
                td { (cv.map_or(String::new(), |cv| format!("{}\u{a0}%", spread(cv)))) }
            }
        }
    }
}

/// The values of a sampled metric, one after the other; a dash for a missing one.
fn listed(kind: Kind, samples: Option<&Vec<Option<f64>>>, scale: &Scale) -> String {
    let show = |v: &Option<f64>| v.map_or("–".to_owned(), |v| minus(&scale.number(v)));
    let samples = samples.filter(|_| kind == Kind::Sampled);
    let samples = samples.into_iter().flatten();
    samples.map(show).collect::<Vec<_>>().join(" ")
}

fn control(w: &WorkloadResult, name: &str, scale: &Scale, room: Room) -> Markup {
    let Some(control) = w.control.get(name) else {
        return html! {};
    };
    let median = outline::median(&outline::control_values(w, name));
    html! {
        tr.control {
            td { "control" }
            td { (median.map_or("–".to_owned(), |v| minus(&scale.number(v)))) }
            td {} td {} td {}
            td {
                @if control.failed { b { "control failed" } ", " }
                @if let Some(floor) = control.floor_pct { "noise floor " (percent(floor)) }
            }
            @if room < Room::Primary { td {} }
            td {}
            @if room < Room::Figures {
                td { (listed(Kind::Sampled, Some(&control.samples), scale)) }
            }
        }
    }
}

/// Headings of the table of tests.
const TESTS: &str = "Comparison|Blocks|Margin|Adjusted interval|Level|Paired t|p|Sign-flip p|\
    Welch t|p|Mann-Whitney p|Variance ratio|p|Could detect|Blocks needed";

/// Every test of every comparison, collapsed.
pub(super) fn tests(w: &WorkloadResult) -> Markup {
    let tested = w.comparisons.iter();
    let tested: Vec<&Comparison> = tested.filter(|c| c.ci95_pct.is_some()).collect();
    let content = html! {
        table.tests {
            (heads(TESTS))
            tbody { @for c in &tested { (test(c)) } }
        }
    };
    html! {
        @if !tested.is_empty() {
            details { summary { "All tests" } (scroll("All tests", &content)) }
        }
    }
}

fn test(c: &Comparison) -> Markup {
    let p = |p: f64| {
        if p < 0.0001 {
            "< 0.0001".to_owned()
        } else {
            format!("{p:.4}")
        }
    };
    let t = |t: &TTest| minus(&format!("{:.2} ({:.0})", t.t, t.df));
    let adjusted = c
        .ci_adj_pct
        .map(|[low, high]| minus(&format!("[{low:.2}, {high:.2}] %")));
    let needed = c.n_needed.map(|n| match n {
        10_000.. => "> 10,000".to_owned(),
        n => count(u64::from(n)),
    });
    let cells = [
        Some(count(c.n as u64)),
        Some(chosen_percent(c.margin_pct)),
        adjusted,
        c.level.map(wording::confidence),
        c.paired.as_ref().map(t),
        c.paired.map(|t| p(t.p)),
        c.sign_flip_p.map(p),
        c.welch.as_ref().map(t),
        c.welch.map(|t| p(t.p)),
        c.mann_whitney.map(|m| p(m.p)),
        c.variance.map(|v| format!("{:.2}", v.ratio)),
        c.variance.map(|v| p(v.p)),
        c.mde_pct.map(percent),
        needed,
    ];
    html! {
        tr {
            td { (cell(&c.metric)) ", " (cell(&c.arm)) " against " (cell(&c.baseline)) }
            @for cell in cells { td { (cell.unwrap_or_default()) } }
        }
    }
}
