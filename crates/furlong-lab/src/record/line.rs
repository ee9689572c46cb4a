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
        match self {
            Self::Metrics {
                experiment,
                metrics,
            } => ledger.add_metrics(*experiment, metrics),
            Self::Exact { place, values } => {
                let values = still_exact(ledger, *place, values);
                if !values.is_empty() {
                    ledger.set_exact(*place, &values);
                }
            }
            Self::Demotion {
                experiment,
                metric,
                why,
            } => {
                let declared = ledger.result().experiments[*experiment].metrics.get(metric);
                if declared.is_some_and(|metric| metric.kind == Kind::Exact) {
                    ledger.demote(*experiment, metric, why.clone());
                }
            }
            Self::Note { place, name, value } => {
                if ledger.workload(*place).params.get(name) != Some(value) {
                    ledger.note(*place, name, value.clone());
                }
            }
            Self::Warning { place, text } => {
                if !ledger.workload(*place).warnings.contains(text) {
                    ledger.warn(*place, text.clone());
                }
            }
            Self::Block { place, block } => {
                if !ledger.has_block(*place, block.number) {
                    ledger.add_block(*place, block);
                }
            }
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
