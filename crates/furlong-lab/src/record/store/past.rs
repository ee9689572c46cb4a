//! What the history takes out of the store: the runs of one machine, in the order in which they
//! began.
#![forbid(unsafe_code)]

use super::engine::{Access, Row};
use super::gather::Choice;
use super::{Fault, Odd, Saved, Status, Store};
use crate::model::result::Machine;

/// A run in a line, with what it is found by.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// Its name.
    pub id: String,
    /// When it began, as in its result.
    pub started: String,
    /// The same in milliseconds since 1970.
    pub began_ms: i64,
    /// How it stands.
    pub status: Status,
    /// `smoke`, `quick` or `full`.
    pub profile: String,
    /// Version of furlong.
    pub version: String,
    /// A name that the user gave.
    pub tag: Option<String>,
    /// A remark that the user gave.
    pub note: Option<String>,
    /// The machine.
    pub machine: Machine,
    /// Whether others are held against it.
    pub pinned: bool,
    /// Names of its experiments.
    pub experiments: Vec<String>,
}

/// A machine that has runs in the store.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineRuns {
    /// As its latest run says.
    pub machine: Machine,
    /// How many.
    pub runs: u32,
}

/// The latest of one experiment's runs on one machine that have blocks of it and are no smoke runs.
const PAST: &str = "SELECT one.id FROM experiments AS one JOIN runs ON runs.id = one.run
    WHERE one.name = ?1 AND one.machine_id = ?2 AND runs.profile <> 'smoke' AND EXISTS (
        SELECT 1 FROM workloads JOIN blocks ON blocks.workload = workloads.id
        WHERE workloads.experiment = one.id)
    ORDER BY one.began DESC, one.id DESC LIMIT ?3";

impl Store {
    /// Every machine with runs, the one with the latest first.
    ///
    /// # Errors
    ///
    /// What is wrong with the database.
    pub fn machines(&self) -> Result<Vec<MachineRuns>, Fault> {
        let sql = "SELECT runs.machine, counts.runs FROM runs JOIN (
                SELECT machine_id, max(rowid) AS latest, count(*) AS runs FROM runs
                GROUP BY machine_id) AS counts ON counts.latest = runs.rowid
            ORDER BY runs.began DESC, runs.rowid DESC";
        self.rows(sql, &[], |row| {
            Ok(MachineRuns {
                machine: row.parsed(0)?,
                runs: row.get(1)?,
            })
        })
    }

    /// The runs, the latest first; of one machine, where one is named.
    ///
    /// # Errors
    ///
    /// What is wrong with the database.
    pub fn listed(&self, machine: Option<&str>, count: u32) -> Result<Vec<Listed>, Fault> {
        self.listed_where(
            "?1 = '' OR machine_id = ?1",
            machine.unwrap_or_default(),
            count,
        )
    }

    /// The runs with a tag, the latest first.
    ///
    /// # Errors
    ///
    /// What is wrong with the database.
    pub fn tagged(&self, tag: &str, count: u32) -> Result<Vec<Listed>, Fault> {
        self.listed_where("tag = ?1", tag, count)
    }

    fn listed_where(&self, rule: &str, key: &str, count: u32) -> Result<Vec<Listed>, Fault> {
        let sql = format!(
            "SELECT id, started, began, status, profile, version, tag, note, machine,
                (SELECT count(*) FROM pins WHERE pins.run = runs.id)
            FROM runs WHERE {rule} ORDER BY began DESC, rowid DESC LIMIT ?2"
        );
        let mut listed = self.rows(&sql, &[key.into(), count.into()], listed)?;
        for run in &mut listed {
            let sql = "SELECT name FROM experiments WHERE run = ?1 ORDER BY position";
            run.experiments = self.rows(sql, &[(&run.id).into()], |row| row.get(0))?;
        }
        Ok(listed)
    }

    /// The latest runs of a machine with blocks of an experiment, oldest first, each with that
    /// experiment alone; smoke runs have nothing to say.
    ///
    /// # Errors
    ///
    /// What is wrong with the database.
    pub fn past(&self, machine: &str, experiment: &str, count: u32) -> Result<Vec<Saved>, Fault> {
        self.past_of(&Choice {
            experiments: PAST,
            values: vec![experiment.into(), machine.into(), count.into()],
            workload: None,
            metric: None,
        })
    }

    /// The same, of one workload by one metric alone.
    ///
    /// # Errors
    ///
    /// What is wrong with the database.
    pub fn course(
        &self,
        machine: &str,
        experiment: &str,
        workload: &str,
        metric: &str,
        count: u32,
    ) -> Result<Vec<Saved>, Fault> {
        self.past_of(&Choice {
            experiments: PAST,
            values: vec![experiment.into(), machine.into(), count.into()],
            workload: Some(workload.to_owned()),
            metric: Some(metric.to_owned()),
        })
    }

    fn past_of(&self, choice: &Choice) -> Result<Vec<Saved>, Fault> {
        self.engine.begin(Access::Read)?;
        let past = self.gather(choice);
        self.engine.rollback();
        past
    }

    /// The experiments of a machine's runs that are no smoke runs, by name.
    ///
    /// # Errors
    ///
    /// What is wrong with the database.
    pub fn experiments_of(&self, machine: &str) -> Result<Vec<String>, Fault> {
        let sql = "SELECT DISTINCT experiments.name FROM experiments
            JOIN runs ON runs.id = experiments.run
            WHERE runs.machine_id = ?1 AND runs.profile <> 'smoke' ORDER BY experiments.name";
        self.rows(sql, &[machine.into()], |row| row.get(0))
    }
}

pub(super) fn listed(row: &Row) -> Result<Listed, Odd> {
    let status: String = row.get(3)?;
    Ok(Listed {
        id: row.get(0)?,
        started: row.get(1)?,
        began_ms: row.get::<Option<i64>>(2)?.unwrap_or(0),
        status: Status::named(&status),
        profile: row.get(4)?,
        version: row.get(5)?,
        tag: row.get(6)?,
        note: row.get(7)?,
        machine: row.parsed(8)?,
        pinned: row.get::<i64>(9)? > 0,
        experiments: vec![],
    })
}
