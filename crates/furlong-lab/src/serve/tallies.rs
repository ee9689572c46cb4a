//! Summaries for lists: the verdicts of a run, and the latest ratios of an experiment. They follow
//! from the samples and are never stored. Those of finished runs do not change, and are cached.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use crate::history::series::{Series, series};
use crate::model::result::{ExperimentResult, Verdict};
use crate::record::judged::{deciding, judged};
use crate::record::store::{Fault, Place, Status, Store};

/// The number of occurrences of each verdict, in the order in which reports list them.
pub(super) type Tally = Vec<(Verdict, usize)>;

/// Most summaries of a kind in the cache; a full cache is cleared.
const KEPT: usize = 4096;

/// Runs of a history in a small picture.
const RUNS: u32 = 24;

/// An experiment in one run.
pub(super) struct Summary {
    /// Name of the experiment.
    pub(super) experiment: String,
    /// The name under which the history has it.
    pub(super) filed: String,
    /// Its question.
    pub(super) question: String,
    /// Its verdicts.
    pub(super) tally: Tally,
    /// The first workload with a comparison, and its primary metric.
    figure: Option<(String, String)>,
    /// The arms of that workload, the baseline first.
    pub(super) arms: Vec<String>,
}

/// The cached summaries.
#[derive(Default)]
pub(super) struct Tallies {
    runs: Cache<String, Vec<Summary>>,
    histories: Cache<(String, String, String), Vec<Series>>,
}

impl Tallies {
    /// The experiments of a run.
    ///
    /// # Errors
    ///
    /// The database's fault.
    pub(super) fn of(&self, store: &Store, run: &str) -> Result<Arc<Vec<Summary>>, Fault> {
        self.runs.get(run.to_owned(), || {
            let saved = store.load(run)?;
            let result = judged(&saved.result, saved.margin_pct);
            let summaries = result.experiments.iter().map(summary).collect();
            Ok((summaries, saved.status == Status::Finished))
        })
    }

    /// The ratios of the arms to the baseline from run to run, on the workload of the summary.
    ///
    /// # Errors
    ///
    /// The database's fault.
    pub(super) fn history(
        &self,
        store: &Store,
        place: &Place,
        run: &str,
        summary: &Summary,
    ) -> Result<Arc<Vec<Series>>, Fault> {
        let Some((workload, metric)) = &summary.figure else {
            return Ok(Arc::default());
        };
        let (machine, experiment) = (&place.machine.id, &place.experiment);
        let key = (machine.clone(), experiment.clone(), run.to_owned());
        self.histories.get(key, || {
            let past = store.series(machine, experiment, workload, metric, RUNS)?;
            // An interrupted run may go on.
            let last = past.last().map(|one| one.status);
            let is_final = matches!(last, Some(Status::Finished | Status::Failed));
            let mut all = series(&past, Some(metric));
            all.retain(|one| one.baseline.is_some());
            Ok((all, is_final))
        })
    }
}

fn summary(e: &ExperimentResult) -> Summary {
    let verdicts: Vec<Verdict> = deciding(e).map(|(_, c)| c.verdict).collect();
    let first = deciding(e).next();
    let workload = first.and_then(|(name, _)| e.workloads.iter().find(|w| w.name == name));
    let arms = workload.into_iter().flat_map(|w| &w.arms);
    Summary {
        experiment: e.name.clone(),
        filed: e.filed_as(),
        question: e.question.clone(),
        tally: Verdict::tally(&verdicts),
        figure: first.map(|(name, c)| (name.to_owned(), c.metric.clone())),
        arms: arms.map(|arm| arm.name.clone()).collect(),
    }
}

/// Values by key.
#[derive(Default)]
struct Cache<K, V>(Mutex<HashMap<K, Arc<V>>>);

impl<K: Eq + Hash, V> Cache<K, V> {
    /// The value of the key, which `make` makes if it is not known. It also tells whether the value
    /// may be kept.
    fn get(
        &self,
        key: K,
        make: impl FnOnce() -> Result<(V, bool), Fault>,
    ) -> Result<Arc<V>, Fault> {
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = known().get(&key) {
            return Ok(Arc::clone(value));
        }
        let (value, is_final) = make()?;
        let value = Arc::new(value);
        if is_final {
            let mut known = known();
            if known.len() >= KEPT {
                known.clear();
            }
            known.insert(key, Arc::clone(&value));
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::summary;
    use crate::model::result::ExperimentResult;

    #[test]
    fn a_comparison_is_found_by_the_name_that_the_history_gives_it() {
        let experiment = ExperimentResult {
            name: "compare".to_owned(),
            comparison: Some("'a' 'b'".to_owned()),
            ..ExperimentResult::default()
        };
        assert_eq!(summary(&experiment).filed, "compare 'a' 'b'");
    }
}
