//! A command that is compared with nothing: its times, without a table.

use super::Page;
use crate::model::result::{ArmResult, ExperimentResult, ResultFile, WorkloadResult};
use crate::report::export::timings::is_command;
use crate::report::outline;
use crate::report::quantity::{Scale, counted};
use crate::report::text::plain;

/// The end of the report on one command.
pub(super) const NOT_COMPARED: &str =
    "0 comparisons: this is one command; give a second one to compare it with";

/// The only arm of a workload, if it is a command.
pub(super) fn arm(w: &WorkloadResult) -> Option<&ArmResult> {
    match &w.arms[..] {
        [arm] if is_command(arm) => Some(arm),
        _ => None,
    }
}

/// True if the whole result is the time of one command.
pub(super) fn is_all(file: &ResultFile) -> bool {
    let mut workloads = file.workloads().peekable();
    workloads.peek().is_some() && workloads.all(|w| arm(w).is_some())
}

/// Writes mean and spread, the extremes with the number of runs, and the processor time.
pub(super) fn write(page: &mut Page, e: &ExperimentResult, w: &WorkloadResult, arm: &ArmResult) {
    page.line(&plain(&arm.name), 2);
    let unit = page.style.time_unit;
    let scale = |metric: &str, value| {
        let own = e.metrics.get(metric).map_or("s", |metric| &metric.unit);
        Scale::of(own, [value]).in_time(unit, [value])
    };
    let decides = outline::primary(e, w).map(|(name, _)| name);
    let printed = decides.filter(|name| *name != "wall_s");
    for name in printed.into_iter().chain(["wall_s"]) {
        let Some(summary) = arm.summary.get(name) else {
            continue;
        };
        if printed.is_some() {
            page.line(&format!("  {}", plain(name)), 4);
        }
        let mean = scale(name, summary.mean);
        let spread = summary.stddev.map(|s| format!(" ± {}", mean.show(s)));
        let spread = spread.unwrap_or_default();
        let mut row = |title: &str, text: &str| row(page, title, text);
        row(
            "mean ± spread",
            &format!("{}{spread}", mean.show(summary.mean)),
        );
        let (min, max) = (mean.show(summary.min), mean.show(summary.max));
        row(
            "min … max",
            &format!("{min} … {max} in {}", counted(summary.n as u64, "run")),
        );
    }
    let mean = |metric: &str| {
        let mean = arm.summary.get(metric).map_or(0.0, |summary| summary.mean);
        scale(metric, mean).show(mean)
    };
    let (user, system) = (mean("user_s"), mean("sys_s"));
    row(
        page,
        "processor time",
        &format!("{user} user, {system} system"),
    );
}

/// Writes a figure with its title; in a narrow terminal below it.
fn row(page: &mut Page, title: &str, text: &str) {
    let line = format!("  {title:<16}{text}");
    match line.chars().count() <= page.style.width {
        true => page.raw(&line),
        false => page.line(&format!("  {title} {text}"), 4),
    }
}
