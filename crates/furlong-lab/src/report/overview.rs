//! All workloads of an experiment at a glance: their primary metric, one row per workload and one
//! column per arm.
#![forbid(unsafe_code)]

use super::outline::{self, Named};
use super::quantity::Scale;
use super::wording;
use crate::model::result::{ExperimentResult, WorkloadResult};

/// Workloads from which on an overview is shown.
const FROM: usize = 4;

/// The table of the workloads that share one primary metric.
pub(super) struct Overview<'a> {
    /// Describes the values.
    pub(super) caption: String,
    pub(super) arms: Vec<&'a str>,
    /// A workload, and the value of each arm; empty if there is none.
    pub(super) rows: Vec<(&'a str, Vec<String>)>,
}

/// The overview of an experiment with many workloads: a table for each primary metric.
pub(super) fn overview(e: &ExperimentResult) -> Vec<Overview<'_>> {
    if e.workloads.len() < FROM {
        return vec![];
    }
    let mut groups: Vec<(Named<'_>, Vec<&WorkloadResult>)> = vec![];
    for w in &e.workloads {
        let Some(primary) = outline::primary(e, w) else {
            continue;
        };
        match groups.iter_mut().find(|(named, _)| named.0 == primary.0) {
            Some((_, group)) => group.push(w),
            None => groups.push((primary, vec![w])),
        }
    }
    let arms = outline::arms(e);
    let table = |(named, group): &(Named<'_>, Vec<_>)| of_group(*named, group, &arms);
    groups.iter().map(table).collect()
}

fn of_group<'a>(
    (name, metric): Named<'_>,
    group: &[&'a WorkloadResult],
    arms: &[&'a str],
) -> Overview<'a> {
    let value = |w: &WorkloadResult, arm: &str| {
        let of_arm = w.arms.iter().find(|known| known.name == arm)?;
        outline::typical(of_arm, name)
    };
    let all = group
        .iter()
        .flat_map(|w| arms.iter().filter_map(|arm| value(w, arm)));
    let scale = Scale::of(&metric.unit, all);
    let row = |w: &&'a WorkloadResult| {
        let values = arms.iter().map(|arm| value(w, arm));
        let cells = values.map(|value| value.map_or(String::new(), |v| scale.number(v)));
        (w.name.as_str(), cells.collect())
    };
    let mut caption = wording::caption(name, metric);
    caption.push_str(", medians");
    if !scale.symbol().is_empty() {
        caption.push_str(&format!(" in {}", scale.symbol()));
    }
    Overview {
        caption,
        arms: arms.to_vec(),
        rows: group.iter().map(row).collect(),
    }
}
