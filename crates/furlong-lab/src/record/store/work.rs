//! How much a store has done: what a page costs beyond its statements is seen beside them.
#![forbid(unsafe_code)]

use std::cell::RefCell;
use std::time::Duration;

use super::engine::Value;

/// Statements that were read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Work {
    /// How many.
    pub statements: u32,
    /// How long the database took for them, until the last row was here.
    pub time: Duration,
    /// The statements themselves, each with its values.
    #[cfg(test)]
    pub(super) asked: Vec<(String, Vec<Value>)>,
}

/// The work since somebody asked.
#[derive(Default)]
pub(super) struct Log(RefCell<Work>);

impl Log {
    /// One more statement.
    pub(super) fn note(&self, sql: &str, values: &[Value], time: Duration) {
        let mut work = self.0.borrow_mut();
        work.statements += 1;
        work.time += time;
        #[cfg(test)]
        work.asked.push((sql.to_owned(), values.to_vec()));
        let _ = (sql, values);
    }

    /// Tells it and begins again.
    pub(super) fn take(&self) -> Work {
        self.0.take()
    }
}

#[cfg(test)]
impl super::Store {
    /// How SQLite would go about each statement of some work.
    pub(crate) fn plans(&self, work: &Work) -> Vec<(String, Vec<String>)> {
        let plan = |(sql, values): &(String, Vec<Value>)| {
            let asked = format!("EXPLAIN QUERY PLAN {sql}");
            let rows = self.engine.run(&asked, values).unwrap();
            let lines = rows.iter().map(|row| row.get::<String>(3).unwrap());
            (sql.clone(), lines.collect())
        };
        work.asked.iter().map(plan).collect()
    }

    /// A statement that is no page's.
    pub(crate) fn ask(&self, sql: &str) {
        self.rows(sql, &[], |_| Ok(())).unwrap();
    }
}
