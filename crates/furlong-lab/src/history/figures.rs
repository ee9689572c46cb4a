//! A history and a difference for programs: `furlong.history/1` and `furlong.diff/1`. Within /1,
//! fields may be added but never renamed.

use serde::Serialize;

use super::difference::{Difference, Differences};
use super::machine_history::{ExperimentSeries, History};
use super::series::{Series, Step};
use crate::model::result::{Machine, Run};
use crate::record::store::Listed;

/// A history.
#[derive(Serialize)]
struct HistoryFigures<'a> {
    schema: &'static str,
    machine: Place<'a>,
    runs: &'a [Listed],
    experiments: Vec<ExperimentFigures<'a>>,
}

/// The machine of the measurements.
#[derive(Serialize)]
struct Place<'a> {
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<&'a str>,
    host: &'a str,
    kernel: &'a str,
}

#[derive(Serialize)]
struct ExperimentFigures<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    comparison: Option<&'a str>,
    question: &'a str,
    series: Vec<SeriesFigures<'a>>,
}

#[derive(Serialize)]
struct SeriesFigures<'a> {
    #[serde(flatten)]
    series: &'a Series,
    steps: Vec<StepFigures<'a>>,
}

#[derive(Serialize)]
struct StepFigures<'a> {
    #[serde(flatten)]
    step: Step,
    effect_pct: f64,
    run: &'a str,
}

/// A difference of two runs.
#[derive(Serialize)]
struct DiffFigures<'a> {
    schema: &'static str,
    before: Named<'a>,
    after: Named<'a>,
    differences: &'a [Difference],
    left_out: &'a [String],
}

/// One of the two runs.
#[derive(Serialize)]
struct Named<'a> {
    id: &'a str,
    started: &'a str,
    version: &'a str,
    tag: Option<&'a str>,
    machine: Place<'a>,
}

impl History {
    /// The history, in the form for programs.
    pub fn figures(&self) -> impl Serialize + '_ {
        HistoryFigures {
            schema: "furlong.history/1",
            machine: Place::of(&self.machine),
            runs: &self.runs,
            experiments: self.experiments.iter().map(ExperimentFigures::of).collect(),
        }
    }
}

impl Differences {
    /// The differences of these runs, in the form for programs.
    pub fn figures<'a>(&'a self, before: &'a Run, after: &'a Run) -> impl Serialize + 'a {
        DiffFigures {
            schema: "furlong.diff/1",
            before: Named::of(before),
            after: Named::of(after),
            differences: &self.found,
            left_out: &self.left_out,
        }
    }
}

impl<'a> ExperimentFigures<'a> {
    fn of(experiment: &'a ExperimentSeries) -> Self {
        Self {
            name: &experiment.name,
            comparison: experiment.comparison.as_deref(),
            question: &experiment.question,
            series: experiment.series.iter().map(SeriesFigures::of).collect(),
        }
    }
}

impl<'a> SeriesFigures<'a> {
    fn of(series: &'a Series) -> Self {
        let step = |step: Step| StepFigures {
            effect_pct: step.pct(),
            run: &series.points[step.at].run,
            step,
        };
        Self {
            series,
            steps: series.steps().into_iter().map(step).collect(),
        }
    }
}

impl<'a> Place<'a> {
    fn of(machine: &'a Machine) -> Self {
        Self {
            id: &machine.id,
            class: machine.class.as_deref(),
            host: &machine.host,
            kernel: &machine.kernel,
        }
    }
}

impl<'a> Named<'a> {
    fn of(run: &'a Run) -> Self {
        Self {
            id: &run.id,
            started: &run.started,
            version: &run.version,
            tag: run.tag.as_deref(),
            machine: Place::of(&run.machine),
        }
    }
}
