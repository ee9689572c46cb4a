//! Queries of the history: the runs of one machine, in the order in which they began.

use serde::Serialize;

use super::gather::Choice;
use crate::model::result::Machine;
use crate::record::store::engine::{Odd, Row, values};
use crate::record::store::{Fault, Saved, Status, Store};

/// Summary of a run for lists and searches.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Listed {
    /// Name.
    pub id: String,
    /// Start, as in its result.
    pub started: String,
    /// Start in milliseconds since 1970.
    #[serde(skip)]
    pub began_ms: i64,
    /// Status.
    pub status: Status,
    /// `smoke`, `quick` or `full`.
    pub profile: String,
    /// Version of furlong.
    pub version: String,
    /// Name given by the user.
    pub tag: Option<String>,
    /// Remark given by the user.
    pub note: Option<String>,
    /// The machine.
    #[serde(skip)]
    pub machine: Machine,
    /// True if it is its machine's reference.
    pub pinned: bool,
    /// Names of its experiments.
    pub experiments: Vec<String>,
}

impl Store {
    /// Returns every machine with runs, as of its latest one, and their number; the machine with
    /// the latest run comes first.
    ///
    /// # Errors
    ///
    /// A fault of the database.
    pub fn machines(&self) -> Result<Vec<(Machine, u32)>, Fault> {
        let sql = "SELECT runs.machine, counts.runs FROM runs JOIN (
                SELECT machine_id, max(rowid) AS latest, count(*) AS runs FROM runs
                GROUP BY machine_id) AS counts ON counts.latest = runs.rowid
            ORDER BY runs.began DESC, runs.rowid DESC";
        self.rows(sql, &[], |row| Ok((row.parsed(0)?, row.get(1)?)))
    }

    /// Returns the runs of a machine, the latest first.
    ///
    /// # Errors
    ///
    /// A fault of the database.
    pub fn listed(&self, machine: &str, count: u32) -> Result<Vec<Listed>, Fault> {
        self.listed_where("machine_id = ?1", machine, count)
    }

    /// Returns the runs with a tag, the latest first.
    ///
    /// # Errors
    ///
    /// A fault of the database.
    pub fn tagged(&self, tag: &str, count: u32) -> Result<Vec<Listed>, Fault> {
        self.listed_where("tag = ?1", tag, count)
    }

    /// Returns the runs whose names begin with `prefix`, the latest first.
    ///
    /// # Errors
    ///
    /// A fault of the database.
    pub fn runs(&self, prefix: &str) -> Result<Vec<Listed>, Fault> {
        self.listed_where("substr(id, 1, length(?1)) = ?1", prefix, u32::MAX)
    }

    fn listed_where(&self, rule: &str, key: &str, count: u32) -> Result<Vec<Listed>, Fault> {
        let sql = format!(
            "SELECT {COLUMNS} FROM runs WHERE {rule} ORDER BY began DESC, rowid DESC LIMIT ?2"
        );
        let mut listed = self.rows(&sql, &values![key, count], listed)?;
        for run in &mut listed {
            let sql = "SELECT name FROM experiments WHERE run = ?1 ORDER BY position";
            run.experiments = self.rows(sql, &values![&run.id], |row| row.get(0))?;
        }
        Ok(listed)
    }

    /// Returns the latest runs of a machine with blocks of an experiment, oldest first, each with
    /// that experiment alone. Smoke runs are excluded.
    ///
    /// # Errors
    ///
    /// A fault of the database.
    pub fn past(&self, machine: &str, experiment: &str, count: u32) -> Result<Vec<Saved>, Fault> {
        let choice = Choice::of_past(machine, experiment, count);
        self.at_once(|| self.gather(&choice))
    }

    /// Returns the same for one workload and one metric.
    ///
    /// # Errors
    ///
    /// A fault of the database.
    pub fn series(
        &self,
        machine: &str,
        experiment: &str,
        workload: &str,
        metric: &str,
        count: u32,
    ) -> Result<Vec<Saved>, Fault> {
        let choice = Choice {
            workload: Some(workload.to_owned()),
            metric: Some(metric.to_owned()),
            ..Choice::of_past(machine, experiment, count)
        };
        self.at_once(|| self.gather(&choice))
    }

    /// Returns the names under which comparisons are filed, the one with the latest run first.
    ///
    /// # Errors
    ///
    /// A fault of the database.
    pub fn comparisons(&self, count: u32) -> Result<Vec<String>, Fault> {
        let sql = "SELECT name FROM experiments WHERE comparison IS NOT NULL
            GROUP BY name ORDER BY max(began) DESC, name LIMIT ?1";
        self.rows(sql, &values![count], |row| row.get(0))
    }

    /// Returns the names of the experiments in a machine's runs, except smoke runs, in order.
    ///
    /// # Errors
    ///
    /// A fault of the database.
    pub fn experiments_of(&self, machine: &str) -> Result<Vec<String>, Fault> {
        let sql = "SELECT DISTINCT experiments.name FROM experiments
            JOIN runs ON runs.id = experiments.run
            WHERE runs.machine_id = ?1 AND runs.profile <> 'smoke' ORDER BY experiments.name";
        self.rows(sql, &values![machine], |row| row.get(0))
    }
}

/// Columns of a run in a list.
pub(super) const COLUMNS: &str = "runs.id, runs.started, runs.began, runs.status, runs.profile,
    runs.version, runs.tag, runs.note, runs.machine,
    (SELECT count(*) FROM pins WHERE pins.run = runs.id)";

pub(super) fn listed(row: &Row) -> Result<Listed, Odd> {
    Ok(Listed {
        id: row.get(0)?,
        started: row.get(1)?,
        began_ms: row.get::<Option<i64>>(2)?.unwrap_or(0),
        status: row.get(3)?,
        profile: row.get(4)?,
        version: row.get(5)?,
        tag: row.get(6)?,
        note: row.get(7)?,
        machine: row.parsed(8)?,
        pinned: row.get::<i64>(9)? > 0,
        experiments: vec![],
    })
}
