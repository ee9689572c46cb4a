//! The store in a file: SQLite.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::types::ToSqlOutput;
use rusqlite::{Connection, OpenFlags, params_from_iter};

use super::schema;
use super::{Access, Engine, Odd, Row, Value};
use crate::record::store::Fault;
use crate::record::store::fault::Kind;

/// Time to wait for another furlong that is writing.
const BUSY: Duration = Duration::from_secs(5);

/// An open file.
pub(in crate::record::store) struct Sqlite {
    connection: Connection,
    path: PathBuf,
}

impl Sqlite {
    /// Opens a file for writing. Creates it if it is missing, and migrates it to this version.
    pub(in crate::record::store) fn open(path: &Path) -> Result<Sqlite, Fault> {
        if path.is_dir() {
            return Err(Fault::directory(path));
        }
        let wrong = |error| Fault::of(path, &error);
        make_private(path);
        let connection = Connection::open(path).map_err(wrong)?;
        Sqlite::take(path, connection)
    }

    /// Prepares a connection and migrates the file.
    fn take(path: &Path, mut connection: Connection) -> Result<Sqlite, Fault> {
        let wrong = |error| Fault::of(path, &error);
        connection.busy_timeout(BUSY).map_err(wrong)?;
        let version = check(path, &connection)?;
        keep_a_log(&connection).map_err(wrong)?;
        let pragmas = "PRAGMA synchronous = full; PRAGMA foreign_keys = on;";
        connection.execute_batch(pragmas).map_err(wrong)?;
        // A reader does not wait for a writer if there is nothing to migrate.
        if version < schema::VERSION {
            schema::migrate(&mut connection).map_err(wrong)?;
        }
        Ok(Sqlite {
            connection,
            path: path.to_owned(),
        })
    }

    /// Opens an existing file for reading. A file on a read-only medium can be read too.
    pub(in crate::record::store) fn open_existing(path: &Path) -> Result<Sqlite, Fault> {
        if !path.exists() {
            return Err(Fault::missing(path));
        }
        if path.is_dir() {
            return Err(Fault::directory(path));
        }
        // Not created again if it is removed at this moment.
        let flags = OpenFlags::default() & !OpenFlags::SQLITE_OPEN_CREATE;
        let opened = Connection::open_with_flags(path, flags)
            .map_err(|error| Fault::of(path, &error))
            .and_then(|connection| Sqlite::take(path, connection));
        opened.or_else(|fault| match fault.kind {
            Kind::Unwritable => Sqlite::open_frozen(path).map_err(|_| fault),
            _ => Err(fault),
        })
    }

    /// Opens a file on a read-only medium, if no part of it is in a separate log.
    fn open_frozen(path: &Path) -> Result<Sqlite, Fault> {
        if fs::metadata(log_of(path)).is_ok_and(|log| log.len() > 0) {
            return Err(Fault::new(
                "its last changes are in a write-ahead log next to it",
            ));
        }
        let wrong = |error| Fault::of(path, &error);
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let connection = Connection::open_with_flags(uri(path), flags).map_err(wrong)?;
        if check(path, &connection)? < schema::VERSION {
            return Err(Fault::older(path));
        }
        Ok(Sqlite {
            connection,
            path: path.to_owned(),
        })
    }
}

/// Executes a statement and returns its rows.
pub(super) fn answer(
    connection: &Connection,
    sql: &str,
    values: &[Value],
) -> rusqlite::Result<Vec<Row>> {
    let mut statement = connection.prepare_cached(sql)?;
    let columns = statement.column_count();
    let values = values.iter();
    let values = values.map(Value::borrowed).map(ToSqlOutput::Borrowed);
    let rows = statement.query_map(params_from_iter(values), |row| {
        let column = |at| row.get_ref(at).map(Value::of);
        (0..columns).map(column).collect::<Result<_, _>>().map(Row)
    })?;
    rows.collect()
}

impl Engine for Sqlite {
    fn run(&self, sql: &str, values: &[Value]) -> Result<Vec<Row>, Fault> {
        answer(&self.connection, sql, values).map_err(|error| Fault::of(&self.path, &error))
    }

    fn begin(&self, access: Access) -> Result<(), Fault> {
        let sql = match access {
            Access::Read => "BEGIN",
            Access::Write => "BEGIN IMMEDIATE",
        };
        self.run(sql, &[]).map(drop)
    }

    fn compact(&self) -> Result<(), Fault> {
        self.run("VACUUM", &[])?;
        // The file shrinks when its log is written back. A reader may delay that.
        self.run("PRAGMA wal_checkpoint(truncate)", &[]).map(drop)
    }

    fn bytes(&self) -> u64 {
        let size = |path: &Path| fs::metadata(path).map_or(0, |found| found.len());
        size(&self.path) + size(&log_of(&self.path))
    }

    fn refuse_writes(&self) -> Result<(), Fault> {
        self.run("PRAGMA query_only = on", &[]).map(drop)
    }

    fn odd(&self, what: &Odd) -> Fault {
        Fault::odd(&self.path.display(), what)
    }
}

/// Returns the file of the write-ahead log.
fn log_of(path: &Path) -> PathBuf {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    log.into()
}

/// Creates the file for its owner alone, because it holds command lines. SQLite gives its log and
/// its index the same permissions.
fn make_private(path: &Path) {
    let mut options = OpenOptions::new();
    // If this fails, SQLite opens an existing file or reports the problem.
    let _ = options.write(true).create_new(true).mode(0o600).open(path);
}

/// Returns the version of the tables. Refuses a database of another program or of a newer furlong.
fn check(path: &Path, connection: &Connection) -> Result<u32, Fault> {
    let found = schema::version(connection).map_err(|error| Fault::of(path, &error))?;
    let (version, is_ours) = found;
    match u32::try_from(version) {
        _ if !is_ours => Err(Fault::foreign(path)),
        Ok(known) if known <= schema::VERSION => Ok(known),
        _ => Err(Fault::newer(&path.display(), version, schema::VERSION)),
    }
}

/// Returns SQLite's URI for a file that nobody changes.
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

/// Switches to write-ahead logging. SQLite does not wait here by itself: if two processes open a
/// new database at once, one would get an error.
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
