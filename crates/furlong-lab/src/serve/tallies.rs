//! Counts of a run's verdicts, for lists. They follow from the samples and are never stored. Those
//! of a finished run do not change, and are cached.
#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::model::result::Verdict;
use crate::record::judged::{deciding, judged};
use crate::record::store::{Fault, Saved, Status, Store};

/// The number of occurrences of each verdict, in the order in which reports list them.
pub(super) type Tally = Vec<(Verdict, usize)>;

/// Most tallies in the cache; a full cache is cleared.
const KEPT: usize = 4096;

/// The cached tallies, by run and experiment.
#[derive(Default)]
pub(super) struct Tallies(Mutex<HashMap<(String, String), Tally>>);

impl Tallies {
    /// The verdicts of an experiment in a run.
    ///
    /// # Errors
    ///
    /// The database's fault.
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
    let found = experiments.flat_map(deciding);
    let found: Vec<Verdict> = found.map(|(_, comparison)| comparison.verdict).collect();
    Verdict::tally(&found)
}
