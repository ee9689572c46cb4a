//! The lines of a ledger: its changes as values, which can be replayed to another ledger.

use serde::{Deserialize, Serialize};

use super::ledger::{ExactValues, Ledger, Place};
use super::measured::Block;
use crate::model::MetricPlan;
use crate::model::result::{Kind, ResultFile};

/// One change of a ledger.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "lowercase")]
pub enum Line {
    /// Metrics of a further pass.
    Metrics {
        /// Index of the experiment.
        experiment: usize,
        /// Those metrics.
        metrics: Vec<MetricPlan>,
    },
    /// Counts of a workload.
    Exact {
        /// The workload.
        place: Place,
        /// Counts by arm and metric.
        values: ExactValues,
    },
    /// A metric is sampled from now on.
    Demotion {
        /// Index of the experiment.
        experiment: usize,
        /// Name of the metric.
        metric: String,
        /// The warning.
        why: String,
    },
    /// A fact about a workload.
    Note {
        /// The workload.
        place: Place,
        /// Name of the parameter.
        name: String,
        /// Its value.
        value: serde_json::Value,
    },
    /// A warning about a workload.
    Warning {
        /// The workload.
        place: Place,
        /// A sentence with a remedy.
        text: String,
    },
    /// A finished block.
    Block {
        /// The workload.
        place: Place,
        /// The block.
        block: Block,
    },
}

impl Line {
    /// True if a result has the place that the line refers to.
    pub fn fits(&self, result: &ResultFile) -> bool {
        let has = |place: &Place| {
            let experiment = result.experiments.get(place.experiment);
            experiment.is_some_and(|one| place.workload < one.workloads.len())
        };
        match self {
            Self::Metrics { experiment, .. } | Self::Demotion { experiment, .. } => {
                *experiment < result.experiments.len()
            }
            Self::Exact { place, .. }
            | Self::Note { place, .. }
            | Self::Warning { place, .. }
            | Self::Block { place, .. } => has(place),
        }
    }

    /// Replays the line to a ledger, unless the ledger has it.
    pub fn tell(&self, ledger: &mut Ledger) {
        debug_assert!(self.fits(ledger.result()), "a line of another schedule");
        let is_new = match self {
            Self::Metrics { .. } => true,
            Self::Exact { place, values } => {
                let place = *place;
                let values = still_exact(ledger, place, values);
                if !values.is_empty() {
                    ledger.enter(&Self::Exact { place, values });
                }
                false
            }
            Self::Demotion {
                experiment, metric, ..
            } => {
                let declared = ledger.result().experiments[*experiment].metrics.get(metric);
                declared.is_some_and(|metric| metric.kind == Kind::Exact)
            }
            Self::Note { place, name, value } => {
                ledger.workload(*place).params.get(name) != Some(value)
            }
            Self::Warning { place, text } => !ledger.workload(*place).warnings.contains(text),
            Self::Block { place, block } => !ledger.has_block(*place, block.number),
        };
        if is_new {
            ledger.enter(self);
        }
    }
}

/// Removes the metrics that are sampled by now.
fn still_exact(ledger: &Ledger, place: Place, values: &ExactValues) -> ExactValues {
    let exact = ledger.metrics(place, Kind::Exact);
    let mut values = values.clone();
    for metrics in values.values_mut() {
        metrics.retain(|metric, _| exact.contains(metric));
    }
    values.retain(|_, metrics| !metrics.is_empty());
    values
}
