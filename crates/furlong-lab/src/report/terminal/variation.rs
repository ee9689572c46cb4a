//! The measured document's own form of a bandwidth: by how much the runs of either arm vary, and by
//! how much the arms differ, a line a workload and a table a device.
#![forbid(unsafe_code)]

use super::Page;
use crate::record::result::{ExperimentResult, WorkloadResult};
use crate::report::outline;
use crate::report::text::{plain, shorten};

/// The parameter of workloads that a device takes part in. Their names end with its name.
const QUEUE: &str = "queue_depth";

/// Columns of the workload's name and of a figure.
const NAME: usize = 12;
const FIGURE: usize = 9;

/// Writes the section where the experiment has such workloads.
pub(super) fn write(page: &mut Page, e: &ExperimentResult) {
    let mut devices: Vec<(&str, Vec<(&str, &WorkloadResult)>)> = vec![];
    for w in e.workloads.iter().filter(|w| w.params.contains_key(QUEUE)) {
        let (name, device) = w.name.rsplit_once('-').unwrap_or((&w.name, ""));
        match devices.iter_mut().find(|(known, _)| *known == device) {
            Some((_, group)) => group.push((name, w)),
            None => devices.push((device, vec![(name, w)])),
        }
    }
    for (device, group) in devices {
        let arms = outline::arms(e);
        let Some((base, others)) = arms.split_first() else {
            continue;
        };
        for arm in others {
            let rows: Vec<String> = group
                .iter()
                .filter_map(|(name, w)| row(e, w, name, base, arm))
                .collect();
            if !rows.is_empty() {
                let (base, arm) = (plain(base), plain(arm));
                let title = format!("{}: base is {base}, patched is {arm}", plain(device));
                page.line(&title, 2);
                page.raw(&line("", ["base", "patched", ""]));
                page.raw(&line("", ["var", "var", "diff"]));
                rows.iter().for_each(|row| page.raw(row));
                page.gap();
            }
        }
    }
}

/// A workload's line; `None` where one of the arms has no value.
fn row(
    e: &ExperimentResult,
    w: &WorkloadResult,
    name: &str,
    base: &str,
    arm: &str,
) -> Option<String> {
    let (metric, _) = outline::primary(e, w)?;
    let summary = |name: &str| {
        let arm = w.arms.iter().find(|known| known.name == name)?;
        arm.summary.get(metric)
    };
    let (base, arm) = (summary(base)?, summary(arm)?);
    let var = |cv: Option<f64>| cv.map_or("-".to_owned(), |cv| format!("{cv:.2}%"));
    let diff = 100.0 * (arm.mean / base.mean - 1.0);
    let diff = match diff.is_finite() {
        true => format!("{diff:+.1}%"),
        false => "-".to_owned(),
    };
    Some(line(name, [&var(base.cv_pct), &var(arm.cv_pct), &diff]))
}

fn line(name: &str, figures: [&str; 3]) -> String {
    let [base, patched, diff] = figures;
    let name = shorten(name, NAME - 1);
    format!("{name:NAME$}{base:<FIGURE$}{patched:<FIGURE$}{diff}")
}
