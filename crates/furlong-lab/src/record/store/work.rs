//! The work of a store, shown on a page so that its cost can be compared with that of its
//! statements.

use std::cell::RefCell;
use std::time::Duration;

use super::engine::Value;

/// Statements that were executed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Work {
    /// Number of statements.
    pub statements: u32,
    /// Time in the database, up to the last row of each.
    pub time: Duration,
    /// The statements with their values.
    #[cfg(test)]
    pub(super) asked: Vec<(String, Vec<Value>)>,
}

/// The work since it was last taken.
#[derive(Default)]
pub(super) struct Log(RefCell<Work>);

impl Log {
    /// Adds a statement.
    pub(super) fn note(&self, sql: &str, values: &[Value], time: Duration) {
        let mut work = self.0.borrow_mut();
        work.statements += 1;
        work.time += time;
        #[cfg(test)]
        work.asked.push((sql.to_owned(), values.to_vec()));
        let _ = (sql, values);
    }

    /// Returns the work and starts again from zero.
    pub(super) fn take(&self) -> Work {
        self.0.take()
    }
}

#[cfg(test)]
impl super::Store {
    /// Returns SQLite's query plan of each statement.
    pub(crate) fn plans(&self, work: &Work) -> Vec<(String, Vec<String>)> {
        let plan = |(sql, values): &(String, Vec<Value>)| {
            let asked = format!("EXPLAIN QUERY PLAN {sql}");
            let rows = self.engine.run(&asked, values).unwrap();
            let lines = rows.iter().map(|row| row.get::<String>(3).unwrap());
            (sql.clone(), lines.collect())
        };
        work.asked.iter().map(plan).collect()
    }

    /// Executes a statement that belongs to no page.
    pub(crate) fn ask(&self, sql: &str) {
        self.rows(sql, &[], |_| Ok(())).unwrap();
    }
}
