//! Queries for lists of runs. Each is one statement that an index both filters and orders, so its
//! cost does not grow with the number of stored runs.

use super::past::{COLUMNS, Listed, listed};
use crate::model::result::Machine;
use crate::record::store::engine::{Odd, Row, Value, values};
use crate::record::store::{Fault, Status, Store};

/// Summary of one experiment's runs on one machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// Name of the experiment.
    pub experiment: String,
    /// Its question, as of the latest run.
    pub question: String,
    /// The machine, as of its latest run.
    pub machine: Machine,
    /// Number of runs.
    pub runs: u32,
    /// Name of the latest run.
    pub latest: String,
    /// Start of the latest run.
    pub started: String,
    /// Profile of the latest run.
    pub profile: String,
    /// Status of the latest run.
    pub status: Status,
    /// The latest run with data: with blocks of the experiment, and no smoke run.
    pub telling: Option<String>,
}

/// A position in a list of runs, the latest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cursor {
    /// Start of the run, milliseconds since 1970.
    pub began_ms: i64,
    /// Tie-breaker of runs that began at the same time.
    pub number: i64,
}

impl Cursor {
    /// Position before the latest run.
    pub const START: Cursor = Cursor {
        began_ms: i64::MAX,
        number: i64::MAX,
    };
}

/// Selection of an experiment's runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only runs of this machine, by its identifier.
    pub machine: Option<String>,
    /// Only runs with this tag.
    pub tag: Option<String>,
}

/// The names of a number of experiments from `?1` on, each with its machines. The recursion skips
/// the runs in between: the next name or machine is one search in the index.
const PLACES: &str = "WITH RECURSIVE names(name, place) AS (
        SELECT min(name), 1 FROM experiments WHERE name >= ?1
        UNION ALL
        SELECT (SELECT min(experiments.name) FROM experiments
                WHERE experiments.name > names.name), names.place + 1
        FROM names WHERE names.name IS NOT NULL AND names.place < CAST(?2 AS BIGINT)
    ), places(name, machine_id) AS (
        SELECT names.name, (SELECT min(one.machine_id) FROM experiments AS one
            WHERE one.name = names.name)
        FROM names WHERE names.name IS NOT NULL
        UNION ALL
        SELECT places.name, (SELECT min(one.machine_id) FROM experiments AS one
            WHERE one.name = places.name AND one.machine_id > places.machine_id)
        FROM places WHERE places.machine_id IS NOT NULL
    )
    SELECT places.name, latest.question, runs.machine,
        (SELECT count(*) FROM experiments AS one
            WHERE one.name = places.name AND one.machine_id = places.machine_id),
        runs.id, runs.started, runs.profile, runs.status,
        (SELECT one.run FROM experiments AS one JOIN runs AS its ON its.id = one.run
            WHERE one.name = places.name AND one.machine_id = places.machine_id
                AND its.profile <> 'smoke' AND EXISTS (
                    SELECT 1 FROM workloads JOIN blocks ON blocks.workload = workloads.id
                    WHERE workloads.experiment = one.id)
            ORDER BY one.began DESC, one.id DESC LIMIT 1)
    FROM places
    JOIN experiments AS latest ON latest.id = (SELECT one.id FROM experiments AS one
        WHERE one.name = places.name AND one.machine_id = places.machine_id
        ORDER BY one.began DESC, one.id DESC LIMIT 1)
    JOIN runs ON runs.id = latest.run
    WHERE places.machine_id IS NOT NULL
    ORDER BY places.name, latest.began DESC, latest.id DESC";

impl Store {
    /// Returns up to `experiments` experiments by name, from `first` on, with their machines. Those
    /// of an experiment are adjacent, the machine with the latest run first.
    ///
    /// # Errors
    ///
    /// A fault of the database.
    pub fn places(&self, first: &str, experiments: u32) -> Result<Vec<Place>, Fault> {
        self.rows(PLACES, &values![first, experiments], place)
    }

    /// Returns the machines of one experiment, the one with the latest run first.
    ///
    /// # Errors
    ///
    /// A fault of the database.
    pub fn places_of(&self, experiment: &str) -> Result<Vec<Place>, Fault> {
        let mut places = self.places(experiment, 1)?;
        // If there is no such experiment, the query found the next one by name.
        places.retain(|place| place.experiment == experiment);
        Ok(places)
    }

    /// Returns runs of an experiment that began before a position, the latest first, each with its
    /// own position.
    ///
    /// # Errors
    ///
    /// A fault of the database.
    pub fn runs_of(
        &self,
        experiment: &str,
        filter: &Filter,
        before: Cursor,
        count: u32,
    ) -> Result<Vec<(Cursor, Listed)>, Fault> {
        let mut values: Vec<Value> = vec![
            experiment.into(),
            before.began_ms.into(),
            before.number.into(),
            count.into(),
        ];
        let mut rule = String::new();
        let told = [
            ("one.machine_id", &filter.machine),
            ("runs.tag", &filter.tag),
        ];
        for (column, text) in told {
            if let Some(text) = text {
                values.push(text.into());
                rule += &format!(" AND {column} = ?{}", values.len());
            }
        }
        let sql = format!(
            "SELECT {COLUMNS}, one.began, one.id FROM experiments AS one
                JOIN runs ON runs.id = one.run
            WHERE one.name = ?1 AND (one.began, one.id) < (?2, ?3){rule}
            ORDER BY one.began DESC, one.id DESC LIMIT ?4"
        );
        self.rows(&sql, &values, |row| Ok((cursor(row, 10)?, listed(row)?)))
    }

    /// Returns the latest runs of all experiments, the latest first.
    ///
    /// # Errors
    ///
    /// A fault of the database.
    pub fn latest_runs(&self, count: u32) -> Result<Vec<Listed>, Fault> {
        let sql = format!(
            "SELECT {COLUMNS} FROM runs WHERE began <= ?1 ORDER BY began DESC, rowid DESC LIMIT ?2"
        );
        self.rows(&sql, &values![i64::MAX, count], listed)
    }

    /// Returns the position of a run among those of an experiment; `None` if the run does not have
    /// the experiment.
    ///
    /// # Errors
    ///
    /// A fault of the database.
    pub fn place_in(&self, run: &str, experiment: &str) -> Result<Option<Cursor>, Fault> {
        let sql = "SELECT began, id FROM experiments WHERE run = ?1 AND name = ?2";
        self.first(sql, &values![run, experiment], |row| cursor(row, 0))
    }
}

fn place(row: &Row) -> Result<Place, Odd> {
    Ok(Place {
        experiment: row.get(0)?,
        question: row.get(1)?,
        machine: row.parsed(2)?,
        runs: row.get(3)?,
        latest: row.get(4)?,
        started: row.get(5)?,
        profile: row.get(6)?,
        status: row.get(7)?,
        telling: row.get(8)?,
    })
}

fn cursor(row: &Row, column: usize) -> Result<Cursor, Odd> {
    Ok(Cursor {
        began_ms: row.get(column)?,
        number: row.get(column + 1)?,
    })
}
