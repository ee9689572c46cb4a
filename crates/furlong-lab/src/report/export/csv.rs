//! Every sample as one tidy row, for R, Python or a spreadsheet.

use csv::Writer;

use crate::model::result::{
    ArmResult, CONTROL, ExperimentResult, Kind, Metric, ResultFile, WorkloadResult,
};
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
    let mut rows = Rows {
        run: &file.run.id,
        writer: Writer::from_writer(vec![]),
    };
    rows.push(&HEADER);
    for experiment in &file.experiments {
        for workload in &experiment.workloads {
            rows.workload(experiment, workload);
        }
    }
    let bytes = rows.writer.into_inner().expect("memory takes every write");
    String::from_utf8(bytes).expect("rows of text are text")
}

/// The rows so far.
struct Rows<'a> {
    run: &'a str,
    writer: Writer<Vec<u8>>,
}

/// The samples that a group of rows holds.
struct Series<'a> {
    experiment: &'a str,
    workload: &'a WorkloadResult,
    arm: &'a str,
    control: bool,
    metric: &'a str,
    unit: &'a str,
}

impl Rows<'_> {
    fn push(&mut self, fields: &[&str]) {
        self.writer
            .write_record(fields)
            .expect("memory takes every write");
    }

    fn workload(&mut self, experiment: &ExperimentResult, w: &WorkloadResult) {
        for (name, metric) in experiment.named() {
            let series = |arm, control| Series {
                experiment: &experiment.name,
                workload: w,
                arm,
                control,
                metric: name,
                unit: &metric.unit,
            };
            for arm in &w.arms {
                self.arm(&series(&arm.name, false), metric, arm);
            }
            if let (Some(control), Some(arm)) = (w.control.get(name), baseline(w)) {
                self.samples(&series(arm, true), &control.samples);
            }
        }
    }

    fn arm(&mut self, series: &Series<'_>, metric: &Metric, arm: &ArmResult) {
        match arm.samples.get(series.metric).map(Vec::as_slice) {
            Some([value]) if metric.kind == Kind::Exact => self.row(series, "", "", *value),
            Some(samples) => self.samples(series, samples),
            None => {}
        }
    }

    fn samples(&mut self, series: &Series<'_>, samples: &[Option<f64>]) {
        for (i, value) in samples.iter().enumerate() {
            let block = series
                .workload
                .blocks
                .get(i)
                .map(u32::to_string)
                .unwrap_or_default();
            let position = position(series, i)
                .map(|p| p.to_string())
                .unwrap_or_default();
            self.row(series, &block, &position, *value);
        }
    }

    fn row(&mut self, series: &Series<'_>, block: &str, position: &str, value: Option<f64>) {
        let value = value.map(|v| format!("{v:?}")).unwrap_or_default();
        let control = if series.control { "true" } else { "false" };
        self.push(&[
            self.run,
            series.experiment,
            &series.workload.name,
            block,
            position,
            series.arm,
            control,
            series.metric,
            series.unit,
            &value,
        ]);
    }
}

/// The sample's place within its block, from 1.
fn position(series: &Series<'_>, block: usize) -> Option<usize> {
    let wanted = if series.control { CONTROL } else { series.arm };
    let order = series.workload.order.get(block)?;
    order.iter().position(|arm| arm == wanted).map(|p| p + 1)
}
