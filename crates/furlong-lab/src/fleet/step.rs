//! The work of one task of a fleet.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::model::Counters;
use crate::model::Schedule;
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
    /// Returns the steps of a schedule, in the order in which they can be done.
    pub fn all(schedule: &Schedule) -> Vec<Self> {
        let blocks = schedule.workloads().map(|scheduled| scheduled.blocks);
        let blocks = blocks.max().unwrap_or(0);
        let prepare = is_prepared(schedule).then_some(Self::Prepare);
        prepare
            .into_iter()
            .chain((1..=blocks).map(Self::Block))
            .collect()
    }
}

/// Estimates the time of all blocks of a number, in seconds. Used only for the time left.
pub fn guess_s(schedule: &Schedule, step: Step) -> f64 {
    let Step::Block(number) = step else {
        return 0.0;
    };
    let seconds = schedule.experiments.iter().flat_map(|entry| {
        let due = entry
            .workloads
            .iter()
            .filter(move |scheduled| number <= scheduled.blocks);
        due.map(|scheduled| scheduled.guess_s() * entry.processes(scheduled).len() as f64)
    });
    seconds.sum()
}

/// True if something is counted or calibrated before the blocks.
pub fn is_prepared(schedule: &Schedule) -> bool {
    let counts = matches!(schedule.counters, Counters::Callgrind | Counters::Cachesim);
    let mut entries = schedule.experiments.iter();
    counts
        || entries.any(|entry| {
            let mut metrics = entry.metrics.iter();
            let mut workloads = entry.workloads.iter();
            metrics.any(|metric| metric.kind == Kind::Exact)
                || workloads.any(|scheduled| matches!(scheduled.batch, Batch::Seconds(_)))
        })
}

/// Returns the reason why nodes without knowledge of each other cannot share a schedule, if there
/// is one.
pub fn obstacle(schedule: &Schedule) -> Option<&'static str> {
    let workloads = schedule.workloads();
    let mut facts = workloads.flat_map(|scheduled| scheduled.facts.keys());
    facts
        .any(|fact| fact == STOPPING || fact == MAX_TIME_S)
        .then_some(
            "a fleet runs all blocks of its plan: set their number with --blocks, and leave \
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
