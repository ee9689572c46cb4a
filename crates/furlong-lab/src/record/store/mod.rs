//! The store: every run, and every block as soon as it is finished, in one database: a file of
//! SQLite's, or a server of PostgreSQL's.
//!
//! # Words
//!
//! - *Owner*: the process that is measuring a run now.
//! - *Fault*: what is wrong with a database, in a line that says what to do.
//!
//! # Invariants
//!
//! - I1: a block is there as a whole or not at all (one transaction each).
//! - I2: a block is there once (its primary key), so none is measured twice for one run.
//! - I3: a database of another program or of a newer furlong is never written to.
//!
//! # Files
//!
//! - `location.rs`: which of the two, and where.
//! - `engine.rs`: what is asked of either; `sqlite.rs`, `postgres.rs`: how each does it.
//! - `schema.rs`: the tables, as steps from version to version.
//! - `write.rs`: what a run puts in.
//! - `read.rs`: what `show`, `list` and `--resume` take out.
//! - `past.rs`: what the history takes out; `lists.rs`: what lists of runs do.
//! - `gather.rs`: whole runs and parts of many, in a fixed number of statements.
//! - `keep.rs`: what is done to runs that are there; `work.rs`: how much a store has done.
//! - `owner.rs`: whether the process that began a run is still alive.
//! - `fault.rs`: what can be wrong.
#![forbid(unsafe_code)]

mod engine;
mod fault;
mod gather;
mod keep;
mod lists;
mod location;
mod owner;
mod past;
mod postgres;
mod read;
mod schema;
mod sqlite;
mod work;
mod write;

use std::fmt;
use std::time::Instant;

use engine::{Engine, Odd, Row, Value};
pub use fault::Fault;
pub use lists::{Cursor, Filter, Place};
pub use location::{Location, is_url, redacted};
pub use past::{Listed, MachineRuns};
use postgres::Postgres;
pub use read::{Brief, Saved};
use sqlite::Sqlite;
use work::Log;
pub use work::Work;

/// An open database.
pub struct Store {
    engine: Box<dyn Engine>,
    location: Location,
    log: Log,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("location", &self.location.to_string())
            .finish_non_exhaustive()
    }
}

/// How a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It is being measured, or its process was killed.
    Running,
    /// Everything on its agenda was done.
    Finished,
    /// The user stopped it.
    Interrupted,
    /// A wrong answer ended it.
    Failed,
}

impl Status {
    /// As it is stored.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Status::Running => "running",
            Status::Finished => "finished",
            Status::Interrupted => "interrupted",
            Status::Failed => "failed",
        }
    }

    fn named(name: &str) -> Status {
        match name {
            "finished" => Status::Finished,
            "interrupted" => Status::Interrupted,
            "failed" => Status::Failed,
            _ => Status::Running,
        }
    }
}

impl Store {
    /// Opens a database to write to, makes it where there is none, and brings it up to date.
    ///
    /// # Errors
    ///
    /// What is wrong and what to do; nothing has changed.
    pub fn open(location: &Location) -> Result<Store, Fault> {
        let engine: Box<dyn Engine> = match location {
            Location::File(path) => Box::new(Sqlite::open(path)?),
            Location::Server(url) => Box::new(Postgres::open(url)?),
        };
        Ok(Store::over(engine, location))
    }

    /// Opens a database that must exist, to read. One that cannot be written is read all the same.
    ///
    /// # Errors
    ///
    /// What is wrong and what to do; nothing has changed.
    pub fn open_existing(location: &Location) -> Result<Store, Fault> {
        let engine: Box<dyn Engine> = match location {
            Location::File(path) => Box::new(Sqlite::open_existing(path)?),
            Location::Server(url) => Box::new(Postgres::open_existing(url)?),
        };
        Ok(Store::over(engine, location))
    }

    fn over(engine: Box<dyn Engine>, location: &Location) -> Store {
        Store {
            engine,
            location: location.clone(),
            log: Log::default(),
        }
    }

    /// Opens a database that must exist, and brings it up to date; whatever it is asked after that,
    /// it changes nothing.
    ///
    /// # Errors
    ///
    /// What is wrong and what to do; nothing has changed.
    pub fn open_to_read(location: &Location) -> Result<Store, Fault> {
        let store = Store::open_existing(location)?;
        store.engine.refuse_writes()?;
        Ok(store)
    }

    /// What it has read since this was asked last.
    #[must_use]
    pub fn take_work(&self) -> Work {
        self.log.take()
    }

    /// Where it is.
    #[must_use]
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// The rows of one statement, each as `read` takes it.
    fn rows<T>(
        &self,
        sql: &str,
        values: &[Value],
        read: impl FnMut(&Row) -> Result<T, Odd>,
    ) -> Result<Vec<T>, Fault> {
        let begun = Instant::now();
        let rows = self.engine.run(sql, values);
        self.log.note(sql, values, begun.elapsed());
        let rows = rows?;
        let taken: Result<Vec<T>, Odd> = rows.iter().map(read).collect();
        taken.map_err(|odd| self.engine.odd(&odd))
    }
}

#[cfg(test)]
mod tests;
