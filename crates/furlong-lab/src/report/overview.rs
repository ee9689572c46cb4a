//! All workloads of an experiment at a glance: their primary metric, one row per workload and one
//! column per arm.

use super::outline::{self, Named};
use super::quantity::Scale;
use super::sheet::{Grid, Stand};
use super::wording;
use crate::model::result::{ExperimentResult, WorkloadResult};

/// Workloads from which on an overview is shown.
const FROM: usize = 4;

/// The overview of an experiment with many workloads: a table for each primary metric, with a
/// caption that describes its values. An arm without a value has an empty cell.
pub(super) fn overview(e: &ExperimentResult) -> Vec<(String, Grid)> {
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

fn of_group((name, metric): Named<'_>, group: &[&WorkloadResult], arms: &[&str]) -> (String, Grid) {
    let value = |w: &WorkloadResult, arm: &str| {
        let of_arm = w.arms.iter().find(|known| known.name == arm)?;
        outline::typical(of_arm, name)
    };
    let all = group
        .iter()
        .flat_map(|w| arms.iter().filter_map(|arm| value(w, arm)));
    let scale = Scale::of(&metric.unit, all);
    let mut grid = Grid {
        columns: vec![("workload".to_owned(), Stand::Left)],
        rows: vec![],
    };
    let of_arms = arms.iter().map(|arm| ((*arm).to_owned(), Stand::Right));
    grid.columns.extend(of_arms);
    for w in group {
        let values = arms.iter().map(|arm| value(w, arm));
        let cells = values.map(|value| value.map_or(String::new(), |v| scale.number(v)));
        grid.push([w.name.clone()].into_iter().chain(cells));
    }
    let mut caption = wording::caption(name, metric);
    caption.push_str(", medians");
    if !scale.symbol().is_empty() {
        caption.push_str(&format!(" in {}", scale.symbol()));
    }
    (caption, grid)
}
