//! The numbers of a workload.
#![forbid(unsafe_code)]

use maud::{Markup, html};

use super::arms;
use super::frame::{Name, heads, minus, scroll, verdict};
use crate::model::result::{
    ArmResult, Comparison, ExperimentResult, Kind, Metric, TTest, WorkloadResult,
};
use crate::report::outline::{self, Named};
use crate::report::quantity::{Scale, chosen_percent, count, percent, spread};
use crate::report::text::plain;
use crate::report::wording::{signed_effect, signed_interval};

/// Every metric of every arm; the control below the arms.
pub(super) fn measured(id: &str, e: &ExperimentResult, w: &WorkloadResult) -> Markup {
    let there = |name: &str| w.arms.iter().any(|arm| arm.samples.contains_key(name));
    let primary = outline::primary(e, w).map(|(name, _)| name);
    let content = html! {
        table {
            (heads(&[
                "Metric", "Arm", ">n", ">Min", ">Median", ">Mean", ">Max", ">CV", ">Change",
                "95 % interval", "Verdict",
            ]))
            @for (i, named) in outline::metrics(e).into_iter().enumerate() {
                @if there(named.0) || primary == Some(named.0) {
                    (group(&format!("{id}m{i}"), w, named))
                }
            }
        }
    };
    scroll("Measured values", &content)
}

fn group(id: &str, w: &WorkloadResult, (name, metric): Named<'_>) -> Markup {
    let all = w.arms.iter().flat_map(|arm| outline::values(arm, name));
    let scale = Scale::of(&metric.unit, all);
    let rows: Vec<(usize, &ArmResult)> = w
        .arms
        .iter()
        .enumerate()
        .filter(|(_, arm)| arm.samples.contains_key(name) || arm.na.is_some())
        .collect();
    html! {
        tbody.group {
            @for (i, (place, arm)) in rows.into_iter().enumerate() {
                (row(if i == 0 { Some(id) } else { None }, w, (name, metric), place, arm, &scale))
            }
            (control(w, name, &scale))
        }
    }
}

fn row(
    id: Option<&str>,
    w: &WorkloadResult,
    (name, metric): Named<'_>,
    place: usize,
    arm: &ArmResult,
    scale: &Scale,
) -> Markup {
    let c = outline::comparison(w, &arm.name, name);
    html! {
        tr {
            @if let Some(id) = id {
                th scope="row" id=(id) { code { (Name(name)) } }
            } @else {
                td {}
            }
            td { (arms::key(place, false)) (Name(&arm.name)) }
            @if let Some(reason) = &arm.na {
                td.wrap colspan="9" { "n/a: " bdi { (plain(reason)) } }
            } @else {
                (values(metric, name, arm, scale))
                td.number { (minus(&c.map(signed_effect).unwrap_or_default())) }
                td { (minus(&c.and_then(signed_interval).unwrap_or_default())) }
                td {
                    @match c {
                        Some(c) => (verdict(c.verdict)),
                        None => @if place == 0 && w.arms.len() > 1 { "baseline" },
                    }
                }
            }
        }
    }
}

/// The cells from n to CV.
fn values(metric: &Metric, name: &str, arm: &ArmResult, scale: &Scale) -> Markup {
    let show = |v: f64| minus(&scale.show(v));
    html! {
        @if metric.kind == Kind::Exact {
            td.number { "exact" }
            td {}
            td.number { (outline::typical(arm, name).map_or("–".to_owned(), show)) }
            td {} td {} td {}
        } @else if let Some(s) = arm.summary.get(name) {
            td.number { (count(s.n as u64)) }
            @for value in [s.min, s.median, s.mean, s.max] { td.number { (show(value)) } }
            td.number { (s.cv_pct.map_or(String::new(), |cv| format!("{} %", spread(cv)))) }
        } @else {
            td.number { (outline::values(arm, name).len()) }
            td {}
            td.number { (outline::typical(arm, name).map_or("–".to_owned(), show)) }
            td {} td {} td {}
        }
    }
}

fn control(w: &WorkloadResult, name: &str, scale: &Scale) -> Markup {
    let Some(control) = w.control.get(name) else {
        return html! {};
    };
    let values = outline::control_values(w, name);
    let at = |q| outline::quantile(&values, q).map_or(String::new(), |v| minus(&scale.show(v)));
    html! {
        tr.control {
            td {}
            td { (arms::key(0, true)) "control" }
            td.number { (values.len()) }
            td.number { (at(0.0)) }
            td.number { (at(0.5)) }
            td {}
            td.number { (at(1.0)) }
            td {}
            td colspan="3" {
                @if control.failed { b { "control failed" } ", " }
                @if let Some(floor) = control.floor_pct { "noise floor " (percent(floor)) }
            }
        }
    }
}

/// Headings of the table of tests.
const TESTS: [&str; 15] = [
    "Comparison",
    ">Blocks",
    ">Margin",
    ">Adjusted interval",
    ">Level",
    ">Paired t",
    ">p",
    ">Sign-flip p",
    ">Welch t",
    ">p",
    ">Mann-Whitney p",
    ">Variance ratio",
    ">p",
    ">Could detect",
    ">Blocks needed",
];

/// Every test of every comparison, collapsed.
pub(super) fn tests(w: &WorkloadResult) -> Markup {
    let tested: Vec<&Comparison> = w
        .comparisons
        .iter()
        .filter(|c| c.ci95_pct.is_some())
        .collect();
    let content = html! {
        table {
            (heads(&TESTS))
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
        c.level
            .map(|level| chosen_percent((level * 1e6).round() / 1e4)),
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
            th scope="row" {
                code { (Name(&c.metric)) } ", " (Name(&c.arm)) " against " (Name(&c.baseline))
            }
            @for cell in cells { td.number { (cell.unwrap_or_default()) } }
        }
    }
}
