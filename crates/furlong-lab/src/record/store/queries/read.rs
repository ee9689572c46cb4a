//! Queries of `show`, `list` and `--resume`.

use super::gather::Choice;
use crate::model::Schedule;
use crate::model::result::ResultFile;
use crate::record::store::engine::values;
use crate::record::store::{Fault, Status, Store, owner};

/// A stored run.
#[derive(Clone, Debug, PartialEq)]
pub struct Saved {
    /// The result without summaries and comparisons.
    pub result: ResultFile,
    /// A margin that overrides the declared ones, per cent.
    pub margin_pct: Option<f64>,
    /// Status of the run.
    pub status: Status,
    /// True if the user has judged that no figure changed at this run.
    pub is_dismissed: bool,
    /// Fingerprint of the executable that began it.
    pub binary: String,
}

impl Store {
    /// True if there is a run of exactly this name.
    ///
    /// # Errors
    ///
    /// A fault of the database.
    pub fn is_there(&self, id: &str) -> Result<bool, Fault> {
        let sql = "SELECT id FROM runs WHERE id = ?1";
        let found = self.first(sql, &values![id], |_| Ok(()))?;
        Ok(found.is_some())
    }

    /// Returns the name of the latest run with blocks of an experiment.
    ///
    /// # Errors
    ///
    /// A fault of the database.
    pub fn latest_of(&self, experiment: &str) -> Result<Option<String>, Fault> {
        let sql = "SELECT runs.id FROM experiments JOIN runs ON runs.id = experiments.run
            WHERE experiments.name = ?1 AND runs.profile <> 'smoke' AND EXISTS (
                SELECT 1 FROM workloads JOIN blocks ON blocks.workload = workloads.id
                WHERE workloads.experiment = experiments.id)
            ORDER BY experiments.began DESC, experiments.id DESC LIMIT 1";
        self.first(sql, &values![experiment], |row| row.get(0))
    }

    /// Returns the other processes that are measuring runs now.
    ///
    /// # Errors
    ///
    /// A fault of the database.
    pub fn others_at_work(&self) -> Result<Vec<u32>, Fault> {
        let sql = "SELECT owner FROM runs WHERE owner IS NOT NULL AND owner <> ?1";
        let owners: Vec<String> =
            self.rows(sql, &values![owner::this_process()], |row| row.get(0))?;
        let others = owners.iter().filter_map(|owner| owner::alive(owner));
        Ok(others.collect())
    }

    /// Loads a run by its full name.
    ///
    /// # Errors
    ///
    /// A fault of the database, including values that no furlong wrote.
    pub fn load(&self, id: &str) -> Result<Saved, Fault> {
        // One transaction, so that a block that is being added is read as a whole or not at all.
        let saved = self.at_once(|| self.whole(id, &Choice::of_run(id, None)))?;
        saved.ok_or_else(|| self.no_run(id))
    }

    /// Loads a run by its full name with one of its experiments; `None` if there is no such run.
    ///
    /// # Errors
    ///
    /// A fault of the database.
    pub fn load_of(&self, id: &str, experiment: &str) -> Result<Option<Saved>, Fault> {
        self.at_once(|| self.whole(id, &Choice::of_run(id, Some(experiment))))
    }

    /// Returns the schedule of a run. Its format is that of the executable that began the run, so
    /// the caller must have checked that this executable is the same.
    ///
    /// # Errors
    ///
    /// A fault of the database.
    pub fn schedule(&self, id: &str) -> Result<Schedule, Fault> {
        let sql = "SELECT agenda FROM runs WHERE id = ?1";
        let schedule = self.first(sql, &values![id], |row| row.parsed(0))?;
        schedule.ok_or_else(|| self.no_run(id))
    }

    fn no_run(&self, id: &str) -> Fault {
        Fault::new(format!("there is no run {id} in {}", self.location))
    }
}
