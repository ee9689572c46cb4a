//! All workloads of an experiment at a glance: the primary metric, a row a workload and a column an
//! arm.
#![forbid(unsafe_code)]

use super::outline;
use super::quantity::Scale;
use super::wording;
use crate::record::result::ExperimentResult;

/// Workloads from which on it is worth its lines.
const FROM: usize = 4;

/// The table.
pub(super) struct Overview<'a> {
    /// What the values are.
    pub(super) caption: String,
    pub(super) arms: Vec<&'a str>,
    /// A workload, and the value of each arm; empty where there is none.
    pub(super) rows: Vec<(&'a str, Vec<String>)>,
}

/// The overview of an experiment with many workloads.
pub(super) fn overview(e: &ExperimentResult) -> Option<Overview<'_>> {
    let (name, metric) = outline::primary(e)?;
    if e.workloads.len() < FROM {
        return None;
    }
    let arms = outline::arms(e);
    let value = |w: usize, arm: &str| {
        let of_arm = e.workloads[w].arms.iter().find(|known| known.name == arm)?;
        outline::typical(of_arm, name)
    };
    let places = 0..e.workloads.len();
    let all = places
        .clone()
        .flat_map(|w| arms.iter().filter_map(move |arm| value(w, arm)));
    let scale = Scale::of(&metric.unit, all);
    let rows = places.map(|w| {
        let values = arms.iter().map(|arm| value(w, arm));
        let cells = values.map(|value| value.map_or(String::new(), |v| scale.number(v)));
        (e.workloads[w].name.as_str(), cells.collect())
    });
    let rows = rows.collect();
    let mut caption = wording::caption(name, metric);
    caption.push_str(", medians");
    if !scale.symbol().is_empty() {
        caption.push_str(&format!(" in {}", scale.symbol()));
    }
    Some(Overview {
        caption,
        arms,
        rows,
    })
}
