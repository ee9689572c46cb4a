//! The work of one task of a fleet.
#![forbid(unsafe_code)]

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::model::Agenda;
use crate::model::Counters;
use crate::model::result::Kind;
use crate::model::schedule::{Batch, MAX_TIME_S};
use furlong_stats::stopping::STOPPING;

/// The work of one task of a fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Step {
    /// Everything before the blocks: counts and calibrations, once for all nodes.
    Prepare,
    /// The blocks of this number, one of every workload.
    Block(u32),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prepare => f.write_str("the preparation"),
            Self::Block(number) => write!(f, "block {number}"),
        }
    }
}

impl Step {
    /// Returns the steps of an agenda, in the order in which they can be done.
    #[must_use]
    pub fn all(agenda: &Agenda) -> Vec<Self> {
        let loads = agenda.experiments.iter().flat_map(|entry| &entry.loads);
        let blocks = loads.map(|load| load.blocks).max().unwrap_or(0);
        let prepare = is_prepared(agenda).then_some(Self::Prepare);
        prepare
            .into_iter()
            .chain((1..=blocks).map(Self::Block))
            .collect()
    }
}

/// Estimates the time of all blocks of a number, in seconds. Used only for the time left.
#[must_use]
pub fn guess_s(agenda: &Agenda, step: Step) -> f64 {
    let Step::Block(number) = step else {
        return 0.0;
    };
    let seconds = agenda.experiments.iter().flat_map(|entry| {
        let due = entry.loads.iter().filter(move |load| number <= load.blocks);
        due.map(|load| load.guess_s() * (entry.runners(load).len() + 1) as f64)
    });
    seconds.sum()
}

/// True if something is counted or calibrated before the blocks.
#[must_use]
pub fn is_prepared(agenda: &Agenda) -> bool {
    let counts = matches!(agenda.counters, Counters::Callgrind | Counters::Cachesim);
    let mut entries = agenda.experiments.iter();
    counts
        || entries.any(|entry| {
            let mut metrics = entry.metrics.iter();
            let mut loads = entry.loads.iter();
            metrics.any(|metric| metric.kind == Kind::Exact)
                || loads.any(|load| matches!(load.batch, Batch::Seconds(_)))
        })
}

/// Returns the reason why nodes without knowledge of each other cannot share an agenda, if there is
/// one.
#[must_use]
pub fn obstacle(agenda: &Agenda) -> Option<&'static str> {
    let loads = agenda.experiments.iter().flat_map(|entry| &entry.loads);
    let mut facts = loads.flat_map(|load| load.facts.keys());
    facts
        .any(|fact| fact == STOPPING || fact == MAX_TIME_S)
        .then_some(
            "a fleet does all blocks of its plan: say how many with --blocks, and leave \
                    --early, --until and --max-time out",
        )
}

#[cfg(test)]
mod tests {
    use super::Step;

    #[test]
    fn steps_are_named_as_people_name_them_and_survive_a_file() {
        for (step, name, text) in [
            (Step::Prepare, "the preparation", "\"prepare\""),
            (Step::Block(12), "block 12", "{\"block\":12}"),
        ] {
            assert_eq!(step.to_string(), name);
            assert_eq!(serde_json::to_string(&step).unwrap(), text);
            assert_eq!(serde_json::from_str::<Step>(text).unwrap(), step);
        }
    }
}
