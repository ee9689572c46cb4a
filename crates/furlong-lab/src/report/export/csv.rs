//! Every sample as one tidy row, for R, Python or a spreadsheet.

use csv::Writer;

use crate::model::result::{CONTROL, ExperimentResult, Kind, ResultFile, WorkloadResult};
use crate::report::finite::finite;
use crate::report::outline::baseline;

/// The columns.
pub const HEADER: [&str; 10] = [
    "run",
    "experiment",
    "workload",
    "block",
    "position",
    "arm",
    "control",
    "metric",
    "unit",
    "value",
];

/// One row per sample, and a header. The value of a missing sample is empty. An exact metric has
/// one row per arm and belongs to no block. The control has the baseline's arm and `control` true;
/// `position` counts from 1 within the block.
pub fn render(file: &ResultFile) -> String {
    let file = finite(file);
    let mut all = vec![HEADER.map(str::to_owned)];
    for experiment in &file.experiments {
        for workload in &experiment.workloads {
            all.extend(rows(&file.run.id, experiment, workload));
        }
    }
    written(all)
}

/// Rows of text in the form CSV.
pub(super) fn written(rows: impl IntoIterator<Item = impl AsRef<[String]>>) -> String {
    let mut writer = Writer::from_writer(vec![]);
    for row in rows {
        let written = writer.write_record(row.as_ref());
        written.expect("memory takes every write");
    }
    let bytes = writer.into_inner().expect("memory takes every write");
    String::from_utf8(bytes).expect("rows of text are text")
}

fn rows(run: &str, e: &ExperimentResult, w: &WorkloadResult) -> Vec<[String; 10]> {
    let mut rows = vec![];
    for (name, metric) in e.named() {
        let arms = w.arms.iter();
        let arms = arms.filter_map(|arm| Some((&*arm.name, &*arm.name, arm.samples.get(name)?)));
        let control = w.control.get(name).zip(baseline(w));
        let control = control.map(|(control, arm)| (arm, CONTROL, &control.samples));
        for (arm, runner, samples) in arms.chain(control) {
            let is_control = runner == CONTROL;
            let is_of_all = metric.kind == Kind::Exact && !is_control && samples.len() == 1;
            for (i, value) in samples.iter().enumerate() {
                let block = w.blocks.get(i).filter(|_| !is_of_all);
                let position = position(w, runner, i).filter(|_| !is_of_all);
                rows.push([
                    run.to_owned(),
                    e.name.clone(),
                    w.name.clone(),
                    block.map_or(String::new(), u32::to_string),
                    position.map_or(String::new(), |at| at.to_string()),
                    arm.to_owned(),
                    is_control.to_string(),
                    name.to_owned(),
                    metric.unit.clone(),
                    value.map_or(String::new(), |value| format!("{value:?}")),
                ]);
            }
        }
    }
    rows
}

/// The place of a runner in a block's order, from 1.
fn position(w: &WorkloadResult, runner: &str, block: usize) -> Option<usize> {
    let order = w.order.get(block)?;
    order.iter().position(|one| one == runner).map(|p| p + 1)
}
