//! The tables as a list of migration steps. An old database executes the missing steps, a new one
//! all of them.

use rusqlite::{Connection, TransactionBehavior};

use super::sqlite::answer;
use super::{Row, Value, values};
use crate::record::comparison::{COMPARE, of_record};

/// Marks a database as furlong's own (`FURL`).
pub(super) const APPLICATION_ID: i32 = 0x4655_524c;

/// The version that this furlong writes.
pub(super) const VERSION: u32 = STEPS.len() as u32;

/// Step `n` migrates from version `n` to `n + 1`. A released step is never changed.
const STEPS: [Step; 6] = [
    Step {
        // SQLite gives every row such a number by itself. It orders runs that began at the same
        // time.
        postgres: "ALTER TABLE runs ADD COLUMN rowid BIGINT GENERATED ALWAYS AS IDENTITY;",
        ..Step::of(RUNS)
    },
    Step::of(OWNERS),
    Step {
        sqlite: BEGAN,
        ..Step::of(HISTORY)
    },
    Step::of(LISTS),
    Step::of(COMPARISONS),
    Step::of(DISMISSED),
];

/// A migration step: the common SQL, then an addition for each engine.
struct Step {
    sql: &'static str,
    sqlite: &'static str,
    #[cfg_attr(
        not(feature = "team"),
        expect(dead_code, reason = "for a server's tables")
    )]
    postgres: &'static str,
}

impl Step {
    /// The same for both engines.
    const fn of(sql: &'static str) -> Step {
        let (sqlite, postgres) = ("", "");
        Step {
            sql,
            sqlite,
            postgres,
        }
    }

    fn for_sqlite(&self) -> String {
        [self.sql, self.sqlite].concat()
    }

    /// Translates the types to those of PostgreSQL.
    #[cfg(feature = "team")]
    fn for_postgres(&self) -> String {
        let words = [
            (
                "INTEGER PRIMARY KEY",
                "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
            ),
            ("INTEGER", "BIGINT"),
            ("REAL", "DOUBLE PRECISION"),
            (" STRICT, WITHOUT ROWID;", ";"),
            (" STRICT;", ";"),
            // `binary` is a reserved word in PostgreSQL.
            ("\n    binary ", "\n    \"binary\" "),
        ];
        let sql = self.sql.to_owned();
        let translated = words
            .iter()
            .fold(sql, |sql, (from, to)| sql.replace(from, to));
        translated + self.postgres
    }
}

/// Returns the steps with which PostgreSQL migrates from a version to this one.
#[cfg(feature = "team")]
pub(super) fn postgres_steps(from: u32) -> Vec<String> {
    let steps = STEPS.iter().skip(from as usize);
    steps.map(Step::for_postgres).collect()
}

/// Runs, their schedules, and every finished block.
const RUNS: &str = "
CREATE TABLE runs (
    id         TEXT PRIMARY KEY,
    started    TEXT NOT NULL,
    status     TEXT NOT NULL CHECK (status IN ('running', 'finished', 'interrupted', 'failed')),
    command    TEXT NOT NULL,
    profile    TEXT NOT NULL,
    seed       INTEGER NOT NULL,
    version    TEXT NOT NULL,
    binary     TEXT NOT NULL,
    tag        TEXT,
    note       TEXT,
    machine_id TEXT NOT NULL,
    machine    TEXT NOT NULL,
    warnings   TEXT NOT NULL,
    margin_pct REAL,
    agenda     TEXT NOT NULL
) STRICT;
CREATE INDEX runs_by_start ON runs (started);

CREATE TABLE experiments (
    id           INTEGER PRIMARY KEY,
    run          TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
    position     INTEGER NOT NULL,
    name         TEXT NOT NULL,
    question     TEXT NOT NULL,
    metrics      TEXT NOT NULL,
    metric_order TEXT NOT NULL,
    left_out     TEXT NOT NULL,
    UNIQUE (run, name)
) STRICT;
CREATE INDEX experiments_by_name ON experiments (name);

CREATE TABLE workloads (
    id         INTEGER PRIMARY KEY,
    experiment INTEGER NOT NULL REFERENCES experiments ON DELETE CASCADE,
    position   INTEGER NOT NULL,
    name       TEXT NOT NULL,
    params     TEXT NOT NULL,
    warnings   TEXT NOT NULL,
    UNIQUE (experiment, name)
) STRICT;

CREATE TABLE arms (
    workload INTEGER NOT NULL REFERENCES workloads ON DELETE CASCADE,
    position INTEGER NOT NULL,
    name     TEXT NOT NULL,
    na       TEXT,
    PRIMARY KEY (workload, name)
) STRICT, WITHOUT ROWID;

-- One value for all blocks; NULL where the arm failed.
CREATE TABLE exact_values (
    workload INTEGER NOT NULL,
    arm      TEXT NOT NULL,
    metric   TEXT NOT NULL,
    value    REAL,
    PRIMARY KEY (workload, arm, metric),
    FOREIGN KEY (workload, arm) REFERENCES arms ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE blocks (
    workload INTEGER NOT NULL REFERENCES workloads ON DELETE CASCADE,
    number   INTEGER NOT NULL,
    seed     INTEGER NOT NULL,
    finished TEXT NOT NULL,
    PRIMARY KEY (workload, number)
) STRICT, WITHOUT ROWID;

-- One row a process; `position` is its place in the block's order.
CREATE TABLE samples (
    workload   INTEGER NOT NULL,
    block      INTEGER NOT NULL,
    position   INTEGER NOT NULL,
    runner     TEXT NOT NULL,
    elapsed_s  REAL NOT NULL,
    operations INTEGER NOT NULL,
    digest     INTEGER,
    failure    TEXT,
    PRIMARY KEY (workload, block, position),
    FOREIGN KEY (workload, block) REFERENCES blocks ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE sample_values (
    workload INTEGER NOT NULL,
    block    INTEGER NOT NULL,
    position INTEGER NOT NULL,
    metric   TEXT NOT NULL,
    value    REAL NOT NULL,
    PRIMARY KEY (workload, block, position, metric),
    FOREIGN KEY (workload, block, position) REFERENCES samples ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
";

/// The process that is measuring a run, so that two do not resume the same one.
const OWNERS: &str = "
ALTER TABLE runs ADD COLUMN owner TEXT;
";

/// The start of runs as a number, which an index can order; and the reference run of each machine.
const HISTORY: &str = "
-- Milliseconds since 1970.
ALTER TABLE runs ADD COLUMN began INTEGER;
DROP INDEX runs_by_start;
CREATE INDEX runs_by_began ON runs (began);
CREATE INDEX runs_by_tag ON runs (tag);

CREATE TABLE pins (
    machine_id TEXT PRIMARY KEY,
    run        TEXT NOT NULL REFERENCES runs ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
";

/// Fills the start of existing runs.
const BEGAN: &str = "
UPDATE runs SET began = CAST(round((julianday(started) - 2440587.5) * 86400000) AS INTEGER);
";

/// A copy of the run's columns for lists, so that one index filters and orders them.
const LISTS: &str = "
ALTER TABLE experiments ADD COLUMN machine_id TEXT NOT NULL DEFAULT '';
ALTER TABLE experiments ADD COLUMN began INTEGER NOT NULL DEFAULT 0;
UPDATE experiments SET
    machine_id = coalesce((SELECT machine_id FROM runs WHERE runs.id = experiments.run), ''),
    began = coalesce((SELECT began FROM runs WHERE runs.id = experiments.run), 0);
DROP INDEX experiments_by_name;
CREATE INDEX experiments_by_began ON experiments (name, began, id);
CREATE INDEX experiments_by_machine ON experiments (name, machine_id, began, id);
DROP INDEX runs_by_tag;
CREATE INDEX runs_by_tag ON runs (tag, began);
CREATE INDEX pins_by_run ON pins (run);
";

/// The names of comparisons. `experiments.name` is the name under which a history files an
/// experiment; it ends with that of the comparison.
const COMPARISONS: &str = "
ALTER TABLE experiments ADD COLUMN comparison TEXT;
";

/// True where the user has judged that the figures did not change at this run.
const DISMISSED: &str = "
ALTER TABLE runs ADD COLUMN dismissed INTEGER NOT NULL DEFAULT 0;
";

/// Names the comparisons from before they had names. It belongs to the migration, whose
/// transaction is open. A comparison without commands in its record stays without a name.
pub(super) fn name_comparisons<E>(
    run: impl Fn(&str, &[Value]) -> Result<Vec<Row>, E>,
) -> Result<(), E> {
    let sql = "SELECT experiments.id, runs.agenda FROM experiments
        JOIN runs ON runs.id = experiments.run
        WHERE experiments.name = ?1 AND experiments.comparison IS NULL";
    for row in run(sql, &values![COMPARE])? {
        let (Ok(id), Ok(agenda)) = (row.get::<i64>(0), row.get::<String>(1)) else {
            continue;
        };
        let sql = "SELECT workloads.params, arms.name FROM workloads
            JOIN arms ON arms.workload = workloads.id
            WHERE workloads.id = (SELECT one.id FROM workloads AS one
                WHERE one.experiment = ?1 ORDER BY one.position LIMIT 1)
            ORDER BY arms.position";
        let rows = run(sql, &values![id])?;
        let params: Option<String> = rows.first().and_then(|row| row.get(0).ok());
        let arms: Vec<String> = rows.iter().filter_map(|row| row.get(1).ok()).collect();
        if let Some(name) = of_record(&agenda, &params.unwrap_or_default(), &arms) {
            let sql = "UPDATE experiments SET name = ?2, comparison = ?3 WHERE id = ?1";
            let filed = format!("{COMPARE} {name}");
            run(sql, &values![id, filed, name])?;
        }
    }
    Ok(())
}

/// Reads the version of a file's tables, without writing, and whether they are furlong's. An empty
/// file counts as furlong's, with the version 0.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<(i64, bool)> {
    // One transaction for all three reads: another furlong may be creating the tables right now.
    let look = connection.unchecked_transaction()?;
    let pragma = |name| look.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0));
    let version: i64 = pragma("user_version")?;
    let application: i64 = pragma("application_id")?;
    let tables: i64 = look.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let is_empty = tables == 0 && version == 0;
    Ok((
        version,
        is_empty || application == i64::from(APPLICATION_ID),
    ))
}

/// Executes all missing steps, or none.
pub(super) fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    let steps = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Read again under the lock: another furlong may have migrated first.
    let done: u32 = steps.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    for step in STEPS.iter().skip(done as usize) {
        steps.execute_batch(&step.for_sqlite())?;
    }
    name_comparisons(|sql, values| answer(&steps, sql, values))?;
    if done < VERSION {
        steps.pragma_update(None, "application_id", APPLICATION_ID)?;
        steps.pragma_update(None, "user_version", VERSION)?;
    }
    steps.commit()
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::{STEPS, VERSION, migrate, version};

    fn tables(connection: &Connection) -> Vec<String> {
        let mut statement = connection
            .prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")
            .unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn an_empty_database_takes_every_step_once() {
        let mut connection = Connection::open_in_memory().unwrap();
        assert_eq!(version(&connection).unwrap(), (0, true));
        migrate(&mut connection).unwrap();
        let first = tables(&connection);
        assert_eq!(version(&connection).unwrap(), (VERSION.into(), true));
        migrate(&mut connection).unwrap();
        assert_eq!(tables(&connection), first);
    }

    #[test]
    fn a_database_of_any_version_ends_like_a_new_one() {
        let mut fresh = Connection::open_in_memory().unwrap();
        migrate(&mut fresh).unwrap();
        for old_version in 1..VERSION as usize {
            let mut old = Connection::open_in_memory().unwrap();
            STEPS[..old_version]
                .iter()
                .for_each(|step| old.execute_batch(&step.for_sqlite()).unwrap());
            old.pragma_update(None, "user_version", old_version as u32)
                .unwrap();
            old.pragma_update(None, "application_id", super::APPLICATION_ID)
                .unwrap();
            assert_eq!(version(&old).unwrap(), (old_version as i64, true));
            migrate(&mut old).unwrap();
            assert_eq!(tables(&old), tables(&fresh));
        }
    }

    #[test]
    fn a_newer_and_a_foreign_database_are_told_apart() {
        let mut newer = Connection::open_in_memory().unwrap();
        migrate(&mut newer).unwrap();
        newer.pragma_update(None, "user_version", 99).unwrap();
        assert_eq!(version(&newer).unwrap(), (99, true));
        let foreign = Connection::open_in_memory().unwrap();
        foreign
            .execute_batch("CREATE TABLE cookies (name TEXT)")
            .unwrap();
        assert_eq!(version(&foreign).unwrap(), (0, false));
    }
}
