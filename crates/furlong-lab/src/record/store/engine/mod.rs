//! The interface between the store and a database: statements, values and rows, in the common SQL
//! of SQLite and PostgreSQL.
//!
//! # Files
//!
//! - `sqlite.rs`, `postgres.rs`: the engines.
//! - `tls.rs`: encrypted connections to a server.
//! - `schema.rs`: the tables, as steps from version to version.

#[cfg(feature = "team")]
pub(super) mod postgres;
mod schema;
pub(super) mod sqlite;
#[cfg(feature = "team")]
mod tls;

use rusqlite::ToSql;
use rusqlite::types::{FromSql, ToSqlOutput, ValueRef};
use serde::de::DeserializeOwned;

use super::Fault;

/// An open database.
///
/// Placeholders are `?1`, `?2`, ..; every statement has the same meaning on both engines.
pub(in crate::record::store) trait Engine: Send {
    /// Executes a statement and returns its rows.
    fn run(&self, sql: &str, values: &[Value]) -> Result<Vec<Row>, Fault>;

    /// Begins a transaction.
    fn begin(&self, access: Access) -> Result<(), Fault>;

    /// Commits the transaction. It is durable when this returns.
    fn commit(&self) -> Result<(), Fault> {
        self.run("COMMIT", &[]).map(drop)
    }

    /// Rolls the transaction back. If this fails, the connection is lost, and the transaction with
    /// it.
    fn rollback(&self) {
        let _ = self.run("ROLLBACK", &[]);
    }

    /// Reconnects after the connection was lost, if that is possible.
    fn reconnect(&self) -> bool {
        false
    }

    /// Returns unused space to the system, as far as the engine does.
    fn compact(&self) -> Result<(), Fault> {
        self.run("VACUUM", &[]).map(drop)
    }

    /// Returns the size of the files; 0 if they are a server's.
    fn bytes(&self) -> u64 {
        0
    }

    /// Refuses every later write.
    fn refuse_writes(&self) -> Result<(), Fault>;

    /// Returns the fault of an invalid value, with the name of this database.
    fn odd(&self, what: &Odd) -> Fault;
}

/// Purpose of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::record::store) enum Access {
    /// Reads one snapshot of the database, unaffected by concurrent writes.
    Read,
    /// Writes, and excludes other writers until it ends.
    Write,
}

/// A value of a column.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::record::store) enum Value {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
}

/// One row of an answer.
#[derive(Clone, Debug)]
pub(in crate::record::store) struct Row(pub(in crate::record::store) Vec<Value>);

/// A column holds a value that no furlong wrote.
#[derive(Clone, Debug)]
pub(in crate::record::store) struct Odd(pub(in crate::record::store) String);

impl Row {
    /// Returns the value of a column.
    pub(in crate::record::store) fn get<T: FromSql>(&self, column: usize) -> Result<T, Odd> {
        let value = self.0.get(column).unwrap_or(&Value::Null);
        T::column_result(value.borrowed()).map_err(|_| {
            Odd(format!(
                "it contains {value:?}, which furlong never writes there"
            ))
        })
    }

    /// Parses a column of JSON.
    pub(in crate::record::store) fn parsed<T: DeserializeOwned>(
        &self,
        column: usize,
    ) -> Result<T, Odd> {
        let text: String = self.get(column)?;
        serde_json::from_str(&text).map_err(|error| Odd(error.to_string()))
    }
}

impl Value {
    /// Returns the value as SQLite's, whose conversions to Rust's types serve both engines.
    fn borrowed(&self) -> ValueRef<'_> {
        match self {
            Value::Null => ValueRef::Null,
            Value::Integer(number) => ValueRef::Integer(*number),
            Value::Real(number) => ValueRef::Real(*number),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
        }
    }

    fn of(found: ValueRef<'_>) -> Value {
        match found {
            ValueRef::Null => Value::Null,
            ValueRef::Integer(number) => Value::Integer(number),
            ValueRef::Real(number) => Value::Real(number),
            ValueRef::Text(text) | ValueRef::Blob(text) => {
                Value::Text(String::from_utf8_lossy(text).into_owned())
            }
        }
    }
}

/// Makes the values of a statement's placeholders, in their order.
macro_rules! values {
    ($($value:expr),+ $(,)?) => {
        [$($crate::record::store::engine::Value::from($value)),+]
    };
}
pub(in crate::record::store) use values;

/// A number without a sign is none of these types: its bits are stored as those of a signed one.
impl<T: ToSql> From<T> for Value {
    fn from(given: T) -> Value {
        match given.to_sql() {
            Ok(ToSqlOutput::Borrowed(held)) => Value::of(held),
            Ok(ToSqlOutput::Owned(held)) => Value::of((&held).into()),
            _ => unreachable!("texts, numbers and missing ones always have a value"),
        }
    }
}
