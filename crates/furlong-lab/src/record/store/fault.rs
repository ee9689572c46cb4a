//! Faults of a database, with remedies.

use std::fmt;
use std::path::Path;

use rusqlite::ErrorCode;

use super::engine::Odd;
use crate::error::Error;

/// A problem with a database and a remedy, in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    text: String,
    pub(super) kind: Kind,
}

/// A fault's meaning to the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A plain error.
    Plain,
    /// The medium is read-only: the database may still be read.
    Unwritable,
    /// The connection is lost; it is unknown if the last commit was done.
    Lost,
    /// The row to be added exists already.
    Twice,
    /// Another program holds the database's lock.
    Busy,
}

/// Remedy that fits all faults.
pub(super) const ANOTHER: &str = "name another with --db FILE";

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Error {
        Error::usage(fault.text)
    }
}

impl Fault {
    pub(super) fn new(text: impl Into<String>) -> Fault {
        Fault::of_kind(Kind::Plain, text)
    }

    pub(super) fn of_kind(kind: Kind, text: impl Into<String>) -> Fault {
        let text = text.into();
        Fault { text, kind }
    }

    /// True if the only problem is a lost connection.
    pub(crate) fn is_lost(&self) -> bool {
        self.kind == Kind::Lost
    }

    /// True if the only problem is another program's lock, which ends.
    pub(crate) fn is_busy(&self) -> bool {
        self.kind == Kind::Busy
    }

    pub(super) fn odd(place: &dyn fmt::Display, what: &Odd) -> Fault {
        let Odd(what) = what;
        Fault::new(format!("the database {place}: {what}: {ANOTHER}"))
    }

    pub(super) fn newer(path: &dyn fmt::Display, version: i64, known: u32) -> Fault {
        Fault::new(format!(
            "the database {path} was written by a newer furlong (version {version}, this one knows \
             {known}): use that furlong, or {ANOTHER}"
        ))
    }

    pub(super) fn older(path: &Path) -> Fault {
        let path = path.display();
        Fault::new(format!(
            "the database {path} was written by an older furlong and cannot be updated in its \
             place: copy it to a writable place and name that with --db FILE"
        ))
    }

    pub(super) fn foreign(path: &Path) -> Fault {
        let path = path.display();
        Fault::new(format!(
            "the database {path} belongs to another program: {ANOTHER}"
        ))
    }

    pub(super) fn missing(path: &Path) -> Fault {
        let path = path.display();
        Fault::new(format!(
            "there is no database at {path} yet: `furlong run` creates it, or {ANOTHER}"
        ))
    }

    pub(super) fn directory(path: &Path) -> Fault {
        Fault::new(format!(
            "{} is a directory, not a database: {ANOTHER}",
            path.display()
        ))
    }

    /// Translates an error of SQLite into a fault.
    pub(super) fn of(path: &Path, error: &rusqlite::Error) -> Fault {
        let path = path.display();
        let code = error.sqlite_error_code();
        let text = match code {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => format!(
                "the database {path} is locked by another program: wait until that program ends, \
                 or {ANOTHER}"
            ),
            Some(ErrorCode::NotADatabase) => {
                format!("{path} is not a database: move it away, or {ANOTHER}")
            }
            Some(ErrorCode::DatabaseCorrupt) => format!(
                "the database {path} is damaged: move it away (`sqlite3 FILE .recover` recovers \
                 its contents if possible), or {ANOTHER}"
            ),
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
                format!(
                    "the database {path} cannot be written: change its permissions, or {ANOTHER}"
                )
            }
            Some(ErrorCode::CannotOpen) => format!(
                "the database {path} cannot be opened: check that its directory exists and is \
                 writable, or {ANOTHER}"
            ),
            Some(ErrorCode::DiskFull) => {
                format!("the disk of the database {path} is full: free some space, or {ANOTHER}")
            }
            Some(ErrorCode::SystemIoFailure) => format!(
                "the database {path} cannot be read or written ({error}): check its disk, or \
                 {ANOTHER}"
            ),
            _ => format!("the database {path}: {error}: {ANOTHER}"),
        };
        let kind = match code {
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
                Kind::Unwritable
            }
            Some(ErrorCode::ConstraintViolation) => Kind::Twice,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Kind::Busy,
            _ => Kind::Plain,
        };
        Fault { text, kind }
    }
}
