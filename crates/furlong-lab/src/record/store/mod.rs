//! The store: every run, and every block as soon as it is finished, in one SQLite database.
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
//! - `schema.rs`: the tables, as steps from version to version.
//! - `write.rs`: what a run puts in.
//! - `read.rs`: what `show`, `list` and `--resume` take out.
//! - `owner.rs`: whether the process that began a run is still alive.
//! - `fault.rs`: what can be wrong.
#![forbid(unsafe_code)]

mod fault;
mod owner;
mod read;
mod schema;
mod write;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};

pub use fault::Fault;
pub use read::{Brief, Saved};
use schema::Standing;

/// How long to wait for another furlong that writes at this moment.
const BUSY: Duration = Duration::from_secs(5);

/// An open database.
pub struct Store {
    connection: Connection,
    path: PathBuf,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("path", &self.path)
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
    pub fn open(path: &Path) -> Result<Store, Fault> {
        if path.is_dir() {
            return Err(Fault::directory(path));
        }
        let wrong = |error| Fault::of(path, &error);
        let mut connection = Connection::open(path).map_err(wrong)?;
        connection.busy_timeout(BUSY).map_err(wrong)?;
        check(path, &connection)?;
        keep_a_log(&connection).map_err(wrong)?;
        connection
            .pragma_update(None, "synchronous", "full")
            .map_err(wrong)?;
        connection
            .pragma_update(None, "foreign_keys", true)
            .map_err(wrong)?;
        schema::migrate(&mut connection).map_err(wrong)?;
        Ok(Store {
            connection,
            path: path.to_owned(),
        })
    }

    /// Opens a database that must exist, to read. One that cannot be written is read all the same.
    ///
    /// # Errors
    ///
    /// What is wrong and what to do; nothing has changed.
    pub fn open_existing(path: &Path) -> Result<Store, Fault> {
        if !path.exists() {
            return Err(Fault::missing(path));
        }
        Store::open(path).or_else(|fault| match fault.is_unwritable() {
            true => Store::open_frozen(path).map_err(|_| fault),
            false => Err(fault),
        })
    }

    /// Opens a database on a medium that cannot be written, where all of it is in its one file.
    fn open_frozen(path: &Path) -> Result<Store, Fault> {
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        if fs::metadata(log).is_ok_and(|log| log.len() > 0) {
            return Err(Fault::new("its last changes are in a log beside it"));
        }
        let wrong = |error| Fault::of(path, &error);
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let connection = Connection::open_with_flags(uri(path), flags).map_err(wrong)?;
        if check(path, &connection)? == Standing::Behind {
            return Err(Fault::older(path));
        }
        Ok(Store {
            connection,
            path: path.to_owned(),
        })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn fault(&self, error: &rusqlite::Error) -> Fault {
        Fault::of(&self.path, error)
    }
}

/// Refuses what furlong must not touch.
fn check(path: &Path, connection: &Connection) -> Result<Standing, Fault> {
    match schema::standing(connection).map_err(|error| Fault::of(path, &error))? {
        Standing::Ahead(version) => Err(Fault::newer(path, version, schema::VERSION)),
        Standing::Foreign => Err(Fault::foreign(path)),
        standing => Ok(standing),
    }
}

/// SQLite's name for a file that nobody changes.
fn uri(path: &Path) -> String {
    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                uri.push(char::from(*byte));
            }
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri + "?immutable=1"
}

/// Switches to a log beside the database. For this SQLite does not wait by itself: of two that open
/// a new database at once, one would be refused.
fn keep_a_log(connection: &Connection) -> rusqlite::Result<()> {
    let begun = Instant::now();
    loop {
        match connection.pragma_update(None, "journal_mode", "wal") {
            Err(error) if is_busy(&error) && begun.elapsed() < BUSY => {
                thread::sleep(Duration::from_millis(5));
            }
            result => return result,
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked};
    matches!(
        error.sqlite_error_code(),
        Some(DatabaseBusy | DatabaseLocked)
    )
}

#[cfg(test)]
mod tests;
