//! The store: every run, and every block as soon as it is finished, in one database. It is an
//! SQLite file or a PostgreSQL server.
//!
//! # Words
//!
//! - *Owner*: the process that is measuring a run now.
//! - *Fault*: a problem with a database, with a remedy, in one line.
//!
//! # Invariants
//!
//! - I1: a block is stored as a whole or not at all (one transaction each).
//! - I2: a block is stored once (its primary key), so none is measured twice for one run.
//! - I3: a database of another program or of a newer furlong is never written to.
//!
//! # Files
//!
//! - `location.rs`: the engine and the location.
//! - `engine`: the interface of both engines, the engines, and the tables.
//! - `write.rs`: writes of a run.
//! - `queries`: reads of one run, of many, and of the history.
//! - `keep.rs`: changes to stored runs.
//! - `owner.rs`: the process that measures a run.
//! - `fault.rs`: faults of a database.

mod engine;
mod fault;
mod keep;
mod location;
mod owner;
mod queries;
mod write;

use std::cell::RefCell;
use std::fmt;
use std::time::{Duration, Instant};

use engine::sqlite::Sqlite;
use engine::{Access, Engine, Odd, Row, Value};
pub use fault::Fault;
pub use location::{Location, is_url, redacted};
pub use queries::lists::{Cursor, Filter, Place};
pub use queries::past::Listed;
pub use queries::read::Saved;
use rusqlite::types::{FromSql, FromSqlResult, ValueRef};
use serde::Serialize;

/// An open database.
pub struct Store {
    engine: Box<dyn Engine>,
    location: Location,
    work: RefCell<Work>,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("location", &self.location.to_string())
            .finish_non_exhaustive()
    }
}

/// Statements that were executed; a page shows them, so that its cost can be compared with theirs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Work {
    /// Number of statements.
    pub statements: u32,
    /// Time in the database, up to the last row of each.
    pub time: Duration,
    /// The statements with their values.
    #[cfg(test)]
    asked: Vec<(String, Vec<Value>)>,
}

/// Status of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It is being measured, or its process was killed.
    Running,
    /// Everything on its schedule was done.
    Finished,
    /// The user stopped it.
    Interrupted,
    /// A wrong answer ended it.
    Failed,
}

impl Status {
    /// Returns its name in the database.
    pub fn name(self) -> &'static str {
        match self {
            Status::Running => "running",
            Status::Finished => "finished",
            Status::Interrupted => "interrupted",
            Status::Failed => "failed",
        }
    }
}

impl FromSql for Status {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Status> {
        Ok(match value.as_str()? {
            "finished" => Status::Finished,
            "interrupted" => Status::Interrupted,
            "failed" => Status::Failed,
            _ => Status::Running,
        })
    }
}

impl Store {
    /// Opens a database for writing. Creates it if it is missing, and migrates it to this version.
    ///
    /// # Errors
    ///
    /// A fault of the database, with a remedy; nothing has changed.
    pub fn open(location: &Location) -> Result<Store, Fault> {
        let engine: Box<dyn Engine> = match location {
            Location::File(path) => Box::new(Sqlite::open(path)?),
            Location::Server(url) => server(url, Tables::Made)?,
        };
        Ok(Store::over(engine, location))
    }

    /// Opens an existing database for reading. A database on a read-only medium can be read too.
    ///
    /// # Errors
    ///
    /// A fault of the database, with a remedy; nothing has changed.
    pub fn open_existing(location: &Location) -> Result<Store, Fault> {
        let engine: Box<dyn Engine> = match location {
            Location::File(path) => Box::new(Sqlite::open_existing(path)?),
            Location::Server(url) => server(url, Tables::Existing)?,
        };
        Ok(Store::over(engine, location))
    }

    fn over(engine: Box<dyn Engine>, location: &Location) -> Store {
        Store {
            engine,
            location: location.clone(),
            work: RefCell::default(),
        }
    }

    /// Opens an existing database and migrates it. After that it refuses every write.
    ///
    /// # Errors
    ///
    /// A fault of the database, with a remedy; nothing has changed.
    pub fn open_to_read(location: &Location) -> Result<Store, Fault> {
        let store = Store::open_existing(location)?;
        store.engine.refuse_writes()?;
        Ok(store)
    }

    /// Returns the statements executed since the last call.
    pub fn take_work(&self) -> Work {
        self.work.take()
    }

    /// Returns its location.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// Returns the rows of one statement, each converted by `read`.
    fn rows<T>(
        &self,
        sql: &str,
        values: &[Value],
        read: impl FnMut(&Row) -> Result<T, Odd>,
    ) -> Result<Vec<T>, Fault> {
        let begun = Instant::now();
        let rows = self.engine.run(sql, values);
        let mut work = self.work.borrow_mut();
        work.statements += 1;
        work.time += begun.elapsed();
        #[cfg(test)]
        work.asked.push((sql.to_owned(), values.to_vec()));
        drop(work);
        let taken: Result<Vec<T>, Odd> = rows?.iter().map(read).collect();
        taken.map_err(|odd| self.engine.odd(&odd))
    }

    /// Returns the first row of an answer.
    fn first<T>(
        &self,
        sql: &str,
        values: &[Value],
        read: impl FnMut(&Row) -> Result<T, Odd>,
    ) -> Result<Option<T>, Fault> {
        Ok(self.rows(sql, values, read)?.into_iter().next())
    }

    /// Reads several tables as they are at one moment.
    fn at_once<T>(&self, read: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
        self.engine.begin(Access::Read)?;
        let found = read();
        // Nothing was written, so there is nothing to commit.
        self.engine.rollback();
        found
    }
}

#[cfg(test)]
mod tests;

/// The tables that a connection to a server needs.
#[derive(Clone, Copy)]
enum Tables {
    /// Created if they are missing, and migrated.
    Made,
    /// Existing ones.
    Existing,
}

#[cfg(feature = "team")]
fn server(url: &str, tables: Tables) -> Result<Box<dyn Engine>, Fault> {
    Ok(Box::new(match tables {
        Tables::Made => engine::postgres::Postgres::open(url)?,
        Tables::Existing => engine::postgres::Postgres::open_existing(url)?,
    }))
}

#[cfg(not(feature = "team"))]
fn server(url: &str, _: Tables) -> Result<Box<dyn Engine>, Fault> {
    Err(Fault::new(format!(
        "{}: {}; or name a file with --db FILE",
        redacted(url),
        crate::error::NO_TEAM
    )))
}
