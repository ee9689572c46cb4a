//! The page of a difference of two runs.

use super::difference::{Difference, Differences};
use super::page::minutes;
use crate::model::result::Run;
use crate::report::quantity::{Scale, fixed, percent, signed_effect, signed_interval};
use crate::report::sheet::{Grid, Sheet};
use crate::report::wording::word;

/// Two runs compared.
pub fn page(before: &Run, after: &Run, all: &Differences) -> Sheet {
    let mut sheet = Sheet::new(format!("Run {} against {}", after.id, before.id));
    let mut runs = Grid::new(&["run", "began", "version", "tag", "host", "kernel"]);
    for run in [before, after] {
        runs.push([
            run.id.clone(),
            minutes(&run.started),
            run.version.clone(),
            run.tag.clone().unwrap_or_default(),
            run.machine.host.clone(),
            run.machine.kernel.clone(),
        ]);
    }
    sheet.table(runs);
    found(&mut sheet, all);
    sheet
}

/// The differences, by experiment, and the figures that could not be compared.
pub(crate) fn found(sheet: &mut Sheet, all: &Differences) {
    let mut experiment = "";
    let mut rest = all.found.as_slice();
    while let Some(first) = rest.first() {
        let same = rest
            .iter()
            .take_while(|one| one.experiment == first.experiment);
        let (group, others) = rest.split_at(same.count());
        if first.experiment != experiment {
            experiment = &first.experiment;
            sheet.heading(experiment);
        }
        sheet.table(table(group));
        rest = others;
    }
    if all.found.is_empty() {
        sheet.text("The two runs have no figure in common.");
    } else {
        sheet.text(
            "The baseline is shown as it was measured, and its value also changes with the \
             machine. The other arms are shown as ratios to the baseline in the same blocks, which \
             do not.",
        );
    }
    sheet.notes(all.left_out.clone());
}

fn table(group: &[Difference]) -> Grid {
    let mut grid = Grid::of("workload|arm|>before|>after|>change|>95 % interval|>floor|verdict");
    for one in group {
        let scale = Scale::of(&one.about.unit, [one.before, one.after]);
        let figure = |value: f64| match one.baseline {
            Some(_) => fixed(value, 3),
            None => scale.show(value),
        };
        let arm = match &one.baseline {
            Some(baseline) => format!("{} / {baseline}", one.arm),
            None => format!("{}, {}", one.arm, one.metric),
        };
        let interval = signed_interval(one.effect_pct, one.ci95_pct);
        grid.push([
            one.workload.clone(),
            arm,
            figure(one.before),
            figure(one.after),
            signed_effect(one.effect_pct, one.ci95_pct),
            interval.unwrap_or_else(|| "exact".to_owned()),
            one.floor_pct.map_or_else(String::new, percent),
            word(one.verdict).to_owned(),
        ]);
    }
    grid
}
