//! The verdicts of runs in a few words, for lists. They follow from the samples and are never
//! stored; those of a run that is finished do not change, and are made once.
#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::model::result::Verdict;
use crate::record::judged::{deciding, judged};
use crate::record::store::{Fault, Saved, Status, Store};

/// How often each verdict fell, in the order in which they are spoken of.
pub(super) type Tally = Vec<(Verdict, usize)>;

/// Tallies that are kept; beyond that all are forgotten.
const KEPT: usize = 4096;

/// The tallies that are known, by run and experiment.
#[derive(Default)]
pub(super) struct Tallies(Mutex<HashMap<(String, String), Tally>>);

impl Tallies {
    /// The verdicts of an experiment of a run.
    ///
    /// # Errors
    ///
    /// What is wrong with the database.
    pub(super) fn of(&self, store: &Store, run: &str, experiment: &str) -> Result<Tally, Fault> {
        let key = (run.to_owned(), experiment.to_owned());
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tally) = known().get(&key) {
            return Ok(tally.clone());
        }
        let Some(saved) = store.load_of(run, experiment)? else {
            return Ok(vec![]);
        };
        let tally = tally(&saved);
        if saved.status == Status::Finished {
            let mut known = known();
            if known.len() >= KEPT {
                known.clear();
            }
            known.insert(key, tally.clone());
        }
        Ok(tally)
    }
}

fn tally(saved: &Saved) -> Tally {
    let result = judged(&saved.result, saved.margin_pct);
    let experiments = result.experiments.iter();
    let found: Vec<Verdict> = experiments
        .flat_map(deciding)
        .map(|(_, comparison)| comparison.verdict)
        .collect();
    [
        Verdict::Keep,
        Verdict::Revert,
        Verdict::Equivalent,
        Verdict::Inconclusive,
    ]
    .into_iter()
    .map(|verdict| (verdict, found.iter().filter(|one| **one == verdict).count()))
    .filter(|(_, count)| *count > 0)
    .collect()
}
