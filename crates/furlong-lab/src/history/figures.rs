//! A history and a difference for programs: `furlong.history/1` and `furlong.diff/1`. Within /1,
//! fields may be added but never renamed.

use serde::Serialize;

use super::difference::{Difference, Differences};
use super::machine_history::{ExperimentSeries, History};
use crate::model::result::{Machine, Run};
use crate::record::store::Listed;

/// A history.
#[derive(Serialize)]
struct HistoryFigures<'a> {
    schema: &'static str,
    machine: Place<'a>,
    runs: &'a [Listed],
    experiments: &'a [ExperimentSeries],
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
            experiments: &self.experiments,
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
