//! The store on a server, for a team: PostgreSQL.

use std::cell::{Cell, RefCell};
use std::error::Error;
use std::fmt;
use std::str::FromStr;
use std::thread;
use std::time::{Duration, Instant};

use postgres::error::SqlState;
use postgres::types::private::BytesMut;
use postgres::types::{FromSql, IsNull, ToSql, Type};
use postgres::{Client, Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::schema;
use super::tls::Wish;
use super::{Access, Engine, Odd, Row, Value};
use crate::record::store::Fault;
use crate::record::store::fault::{ANOTHER, Kind};
use crate::record::store::location::redacted;

/// Schema of furlong's tables in the server's database.
const SCHEMA: &str = "furlong";

/// Key of the advisory lock that is held during a migration: an arbitrary number, unlikely to be
/// used by other programs.
const MIGRATION: i64 = 0x4655_524c;

/// Time to wait for a server at the start of a run.
const CONNECT: Duration = Duration::from_secs(10);

/// Time to wait for a server whose connection was lost: it may be restarting.
const PATIENCE: Duration = Duration::from_secs(60);

/// An open connection.
pub(in crate::record::store) struct Postgres {
    client: RefCell<Client>,
    config: Config,
    /// Connector of an encrypted connection.
    tls: Option<MakeRustlsConnect>,
    /// Location without the password.
    shown: String,
    /// Time at which the connection was lost, while there is none.
    lost: Cell<Option<Instant>>,
}

impl Postgres {
    /// Connects for writing. Creates the tables if they are missing, and migrates them to this
    /// version.
    pub(in crate::record::store) fn open(url: &str) -> Result<Postgres, Fault> {
        let mut store = Postgres::connect(url)?;
        if store
            .version()?
            .is_none_or(|version| version < schema::VERSION)
        {
            store.migrate()?;
        }
        Ok(store)
    }

    /// Connects to existing tables.
    pub(in crate::record::store) fn open_existing(url: &str) -> Result<Postgres, Fault> {
        let mut store = Postgres::connect(url)?;
        match store.version()? {
            None => Err(Fault::new(format!(
                "{} has no runs yet: `furlong run` with this --db makes one, or {ANOTHER}",
                store.shown
            ))),
            Some(version) if version < schema::VERSION => store.migrate().map(|()| store),
            Some(_) => Ok(store),
        }
    }

    fn connect(url: &str) -> Result<Postgres, Fault> {
        let shown = redacted(url);
        let address = |error: &dyn fmt::Display| {
            Fault::new(format!(
                "{shown} is not an address of a server ({error}): write \
                 postgres://USER@HOST:PORT/NAME"
            ))
        };
        let (rest, wish) = Wish::taken(url).map_err(|error| address(&error))?;
        let mut config = Config::from_str(&rest).map_err(|error| address(&error))?;
        if config.get_password().is_none()
            && let Some(password) = std::env::var_os("PGPASSWORD")
        {
            config.password(password.as_encoded_bytes());
        }
        config.application_name("furlong");
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT);
        }
        let plain = |what| Fault::new(format!("the database {shown}: {what}"));
        let tls = wish.connector(&mut config).map_err(plain)?;
        let client = client(&config, tls.as_ref()).map_err(|error| match wish.refusal(&error) {
            Some(what) => Fault::new(format!("the database {shown} {what}, or {ANOTHER}")),
            None => fault(&shown, &error),
        })?;
        Ok(Postgres {
            client: RefCell::new(client),
            config,
            tls,
            shown,
            lost: Cell::new(None),
        })
    }

    /// Returns the version of the tables; `None` if there are none.
    fn version(&self) -> Result<Option<u32>, Fault> {
        let mut client = self.client.borrow_mut();
        let wrong = |error| fault(&self.shown, &error);
        let sql = "SELECT to_regnamespace($1) IS NOT NULL, to_regclass($2) IS NOT NULL";
        let table = format!("{SCHEMA}.version");
        let there = client.query_one(sql, &[&SCHEMA, &table]).map_err(wrong)?;
        match (there.get(0), there.get(1)) {
            (false, _) => return Ok(None),
            (true, false) => {
                return Err(Fault::new(format!(
                    "the schema {SCHEMA} in {} belongs to another program: {ANOTHER}",
                    self.shown
                )));
            }
            (true, true) => {}
        }
        let sql = "SELECT number FROM furlong.version";
        let version: i64 = client.query_one(sql, &[]).map_err(wrong)?.get(0);
        match u32::try_from(version) {
            Ok(known) if known <= schema::VERSION => Ok(Some(known)),
            _ => Err(Fault::newer(&self.shown, version, schema::VERSION)),
        }
    }

    /// Executes all missing migration steps, or none.
    fn migrate(&mut self) -> Result<(), Fault> {
        let lock = format!("BEGIN; SELECT pg_advisory_xact_lock({MIGRATION});");
        self.batch_now(&lock)?;
        // Read again under the lock: another furlong may have migrated first.
        let done = self.version()?;
        let mut steps = match done {
            None => format!(
                "CREATE SCHEMA {SCHEMA};
                CREATE TABLE version (number BIGINT NOT NULL);
                INSERT INTO version VALUES (0);"
            ),
            Some(_) => String::new(),
        };
        let missing = schema::postgres_steps(done.unwrap_or(0));
        steps.extend(missing);
        self.batch_now(&steps)?;
        schema::name_comparisons(|sql, values| self.run(sql, values))?;
        let version = schema::VERSION;
        self.batch_now(&format!("UPDATE version SET number = {version}; COMMIT;"))
    }

    fn batch_now(&self, sql: &str) -> Result<(), Fault> {
        let done = self.client.borrow_mut().batch_execute(sql);
        done.map_err(|error| fault(&self.shown, &error))
    }
}

/// Connects with a search path that has furlong's schema only. No statement reads so much that a
/// compiled plan pays for its compiler.
fn client(config: &Config, tls: Option<&MakeRustlsConnect>) -> Result<Client, postgres::Error> {
    let mut client = match tls {
        Some(tls) => config.connect(tls.clone())?,
        None => config.connect(NoTls)?,
    };
    client.batch_execute(&format!(
        "SET search_path TO {SCHEMA}; SET synchronous_commit TO on; \
         SET client_min_messages TO error; SELECT set_config(name, 'off', false) \
         FROM pg_settings WHERE name = 'jit';"
    ))?;
    Ok(client)
}

impl Engine for Postgres {
    fn run(&self, sql: &str, values: &[Value]) -> Result<Vec<Row>, Fault> {
        let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|one| one as _).collect();
        let found = self.client.borrow_mut().query(&placeholders(sql), &values);
        let rows = found.map_err(|error| fault(&self.shown, &error))?;
        let row = |row: &postgres::Row| (0..row.len()).map(|at| row.get(at)).collect();
        Ok(rows.iter().map(|found| Row(row(found))).collect())
    }

    fn begin(&self, access: Access) -> Result<(), Fault> {
        self.batch_now(match access {
            Access::Read => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            Access::Write => "BEGIN",
        })
        .inspect(|()| self.lost.set(None))
    }

    fn reconnect(&self) -> bool {
        let since = self.lost.get().unwrap_or_else(Instant::now);
        self.lost.set(Some(since));
        while since.elapsed() < PATIENCE {
            if let Ok(client) = client(&self.config, self.tls.as_ref()) {
                self.client.replace(client);
                return true;
            }
            thread::sleep(Duration::from_millis(200));
        }
        false
    }

    fn refuse_writes(&self) -> Result<(), Fault> {
        self.batch_now("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")
    }

    fn odd(&self, what: &Odd) -> Fault {
        Fault::odd(&self.shown, what)
    }
}

/// Rewrites placeholders: `?1` is `$1` here.
fn placeholders(sql: &str) -> String {
    sql.replace('?', "$")
}

/// Translates an error of the server or the connection into a fault.
fn fault(shown: &str, error: &postgres::Error) -> Fault {
    let why = error.as_db_error().map_or_else(
        || {
            error
                .source()
                .map_or_else(|| error.to_string(), ToString::to_string)
        },
        |said| said.message().to_owned(),
    );
    let plain = |what: &str| Fault::new(format!("the database {shown} {what}, or {ANOTHER}"));
    match error.code() {
        Some(&SqlState::UNIQUE_VIOLATION) => Fault::of_kind(
            Kind::Twice,
            format!("the database {shown}: {why}: {ANOTHER}"),
        ),
        Some(&SqlState::INSUFFICIENT_PRIVILEGE | &SqlState::READ_ONLY_SQL_TRANSACTION) => {
            Fault::of_kind(
                Kind::Unwritable,
                format!(
                    "the database {shown} cannot be written ({why}): ask its owner, or {ANOTHER}"
                ),
            )
        }
        Some(&SqlState::INVALID_CATALOG_NAME) => {
            plain(&format!("does not exist ({why}): `createdb` creates it"))
        }
        Some(&SqlState::INVALID_PASSWORD | &SqlState::INVALID_AUTHORIZATION_SPECIFICATION) => {
            plain(&format!(
                "refuses the user ({why}): check the name, and the password in PGPASSWORD"
            ))
        }
        Some(&SqlState::DISK_FULL) => plain(&format!("is full ({why}): free some space")),
        Some(
            &SqlState::ADMIN_SHUTDOWN | &SqlState::CRASH_SHUTDOWN | &SqlState::CANNOT_CONNECT_NOW,
        ) => lost(shown, &why),
        Some(_) => Fault::new(format!("the database {shown}: {why}: {ANOTHER}")),
        None if error.is_closed() || is_transport(error) => lost(shown, &why),
        None => plain(&format!("cannot be used ({why}): check its address")),
    }
}

/// Returns the fault of a server that is unreachable or was lost.
fn lost(shown: &str, why: &str) -> Fault {
    let text = format!(
        "the database {shown} cannot be reached ({why}): check that its server runs, or {ANOTHER}"
    );
    Fault::of_kind(Kind::Lost, text)
}

fn is_transport(error: &postgres::Error) -> bool {
    let source = error.source();
    source.is_some_and(<dyn Error>::is::<std::io::Error>)
}

impl ToSql for Value {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Value::Null => Ok(IsNull::Yes),
            Value::Integer(number) => number.to_sql(kind, out),
            Value::Real(number) => number.to_sql(kind, out),
            // PostgreSQL cannot store a null character in text.
            Value::Text(text) => text.replace('\0', "\u{fffd}").to_sql(kind, out),
        }
    }

    fn accepts(kind: &Type) -> bool {
        [Type::INT8, Type::FLOAT8, Type::TEXT].contains(kind)
    }

    postgres::types::to_sql_checked!();
}

impl<'a> FromSql<'a> for Value {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Value, Box<dyn Error + Sync + Send>> {
        match *kind {
            Type::INT8 => i64::from_sql(kind, raw).map(Value::Integer),
            Type::FLOAT8 => f64::from_sql(kind, raw).map(Value::Real),
            _ => String::from_sql(kind, raw).map(Value::Text),
        }
    }

    fn from_sql_null(_: &Type) -> Result<Value, Box<dyn Error + Sync + Send>> {
        Ok(Value::Null)
    }

    fn accepts(kind: &Type) -> bool {
        [Type::INT8, Type::FLOAT8, Type::TEXT].contains(kind)
    }
}
