//! Writes of a run to the store.

use jiff::Timestamp;
use serde::Serialize;

use super::engine::{Access, Engine, Odd, Value, values};
use super::fault::Kind;
use super::{Fault, Status, Store, owner};
use crate::model::Schedule;
use crate::model::result::{ExperimentResult, ResultFile, Run};
use crate::record::ledger::{ExactValues, Place};
use crate::record::line::Line;
use crate::record::measured::{Block, Sample};

impl Store {
    /// Stores a new run with its schedule; this process is its owner.
    ///
    /// # Errors
    ///
    /// A fault of the database; nothing has changed.
    pub fn begin(
        &mut self,
        result: &ResultFile,
        schedule: &Schedule,
        binary: &str,
    ) -> Result<(), Fault> {
        let terms = Terms {
            binary,
            margin_pct: schedule.margin_pct,
            schedule: json(schedule),
            owner: Some(owner::this_process()),
        };
        self.write(|store| {
            insert_run(store, &result.run, Status::Running, &terms)?;
            for (position, experiment) in (0_i64..).zip(&result.experiments) {
                insert_experiment(store, &result.run.id, position, experiment)?;
            }
            Ok(())
        })
    }

    /// Makes this process the owner of a run.
    ///
    /// # Errors
    ///
    /// A fault of the database, or another process is measuring the run.
    pub fn claim(&mut self, run: &str) -> Result<(), Fault> {
        let held = self.write(|store| {
            // An update without effect takes the write lock, so that no other process reads the
            // owner meanwhile.
            let sql = "UPDATE runs SET owner = owner WHERE id = ?1 RETURNING owner";
            let Some(row) = store.run(sql, &values![run])?.into_iter().next() else {
                return Err(no_run(run));
            };
            let held: Option<String> = row.get(0).map_err(|odd| store.odd(&odd))?;
            if let Some(pid) = held.as_deref().and_then(owner::alive) {
                return Ok(Some(pid));
            }
            let sql = "UPDATE runs SET owner = ?2, status = 'running' WHERE id = ?1";
            store.run(sql, &values![run, owner::this_process()])?;
            Ok(None)
        })?;
        match held {
            Some(pid) => Err(Fault::new(format!(
                "run {run} is being measured by process {pid}: wait for it, or stop it first"
            ))),
            None => Ok(()),
        }
    }

    /// Stores a line of a run's ledger, which its result has already: all of it or nothing.
    ///
    /// # Errors
    ///
    /// A fault of the database, or the line is a block that exists already; nothing has changed.
    pub fn put(&mut self, result: &ResultFile, line: &Line) -> Result<(), Fault> {
        self.write(|store| match line {
            Line::Metrics { experiment, .. } => update_metrics(store, result, *experiment),
            Line::Exact { place, values } => {
                insert_exact(store, workload_id(store, result, *place)?, values)
            }
            Line::Demotion {
                experiment, metric, ..
            } => {
                update_metrics(store, result, *experiment)?;
                let (run, name) = (&result.run, result.experiments[*experiment].filed_as());
                let sql = "DELETE FROM exact_values WHERE metric = ?1 AND workload IN (
                    SELECT workloads.id FROM workloads
                    JOIN experiments ON experiments.id = workloads.experiment
                    WHERE experiments.run = ?2 AND experiments.name = ?3)";
                store.run(sql, &values![metric, &run.id, name])?;
                let sql = "UPDATE runs SET warnings = ?2 WHERE id = ?1";
                store
                    .run(sql, &values![&run.id, json(&run.warnings)])
                    .map(drop)
            }
            Line::Note { place, .. } | Line::Warning { place, .. } => {
                let id = workload_id(store, result, *place)?;
                let workload = &result.experiments[place.experiment].workloads[place.workload];
                let sql = "UPDATE workloads SET params = ?2, warnings = ?3 WHERE id = ?1";
                let (params, warnings) = (json(&workload.params), json(&workload.warnings));
                store.run(sql, &values![id, params, warnings]).map(drop)
            }
            Line::Block { place, block } => {
                insert_block(store, workload_id(store, result, *place)?, block)
            }
        })
    }

    /// Stores the end of a run and removes its owner.
    ///
    /// # Errors
    ///
    /// A fault of the database; nothing has changed.
    pub fn close(&mut self, run: &Run, status: Status) -> Result<(), Fault> {
        self.write(|store| {
            let sql = "UPDATE runs SET status = ?2, machine = ?3, warnings = ?4,
                machine_id = ?5, owner = NULL WHERE id = ?1";
            let (machine, warnings) = (json(&run.machine), json(&run.warnings));
            let id = &run.id;
            store.run(
                sql,
                &values![id, status.name(), machine, warnings, &run.machine.id],
            )?;
            let sql = "UPDATE experiments SET machine_id = ?2 WHERE run = ?1";
            store.run(sql, &values![id, &run.machine.id])?;
            Ok(())
        })
    }

    /// Runs one transaction: all of `change` or nothing.
    ///
    /// If the connection to a server is lost, it reconnects and repeats the whole transaction. If
    /// only the reply to the commit was lost, the repetition fails because the data is already
    /// there; that counts as success.
    pub(super) fn write<T: Default>(
        &mut self,
        change: impl Fn(&dyn Engine) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let engine = &*self.engine;
        let mut committing = false;
        loop {
            let done = engine.begin(Access::Write).and_then(|()| change(engine));
            let done = match done {
                Ok(answer) => engine.commit().map(|()| answer).inspect_err(|fault| {
                    committing |= fault.is_lost();
                }),
                Err(fault) if committing && fault.kind == Kind::Twice => {
                    engine.rollback();
                    return Ok(T::default());
                }
                Err(fault) => Err(fault),
            };
            match done {
                Err(fault) if fault.is_lost() && engine.reconnect() => {}
                Err(fault) => {
                    engine.rollback();
                    return Err(fault);
                }
                done => return done,
            }
        }
    }
}

/// Serializes a value of the record to JSON. This cannot fail: its maps have text keys and its
/// numbers are finite.
pub(super) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Converts a result's time to milliseconds since 1970.
pub(super) fn milliseconds(time: &str) -> i64 {
    let time: Option<Timestamp> = time.parse().ok();
    time.map_or(0, Timestamp::as_millisecond)
}

fn no_run(id: &str) -> Fault {
    Fault::new(format!("there is no run {id}"))
}

pub(super) fn insert_run(
    store: &dyn Engine,
    run: &Run,
    status: Status,
    terms: &Terms<'_>,
) -> Result<(), Fault> {
    let sql = "INSERT INTO runs (id, started, began, status, command, profile, seed, version,
            \"binary\", tag, note, machine_id, machine, warnings, margin_pct, agenda, owner)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)";
    let values = values![
        &run.id,
        &run.started,
        milliseconds(&run.started),
        status.name(),
        json(&run.command),
        &run.profile,
        run.seed.cast_signed(),
        &run.version,
        terms.binary,
        run.tag.as_ref(),
        run.note.as_ref(),
        &run.machine.id,
        json(&run.machine),
        json(&run.warnings),
        terms.margin_pct,
        &terms.schedule,
        terms.owner.as_ref()
    ];
    store.run(sql, &values).map(drop)
}

/// Columns of a run's row besides the run.
pub(super) struct Terms<'a> {
    /// Fingerprint of the executable.
    pub(super) binary: &'a str,
    /// A margin that overrides the declared ones.
    pub(super) margin_pct: Option<f64>,
    /// Schedule as JSON.
    pub(super) schedule: String,
    /// Process that measures it.
    pub(super) owner: Option<String>,
}

/// Inserts an experiment with its workloads and arms, and returns the row identifiers of the
/// workloads.
pub(super) fn insert_experiment(
    store: &dyn Engine,
    run: &str,
    position: i64,
    experiment: &ExperimentResult,
) -> Result<Vec<i64>, Fault> {
    let sql = "INSERT INTO experiments (run, position, name, question, metrics, metric_order,
            left_out, comparison, machine_id, began)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, (SELECT machine_id FROM runs WHERE id = ?1),
            coalesce((SELECT began FROM runs WHERE id = ?1), 0)) RETURNING id";
    let values = values![
        run,
        position,
        experiment.filed_as(),
        &experiment.question,
        json(&experiment.metrics),
        json(&experiment.metric_order),
        json(&experiment.left_out),
        experiment.comparison.as_ref()
    ];
    let id = number(store, sql, &values)?;
    let mut ids = vec![];
    for (position, workload) in (0_i64..).zip(&experiment.workloads) {
        let sql = "INSERT INTO workloads (experiment, position, name, params, warnings)
            VALUES (?1, ?2, ?3, ?4, ?5) RETURNING id";
        let values = values![
            id,
            position,
            &workload.name,
            json(&workload.params),
            json(&workload.warnings)
        ];
        let id = number(store, sql, &values)?;
        for (position, arm) in (0_i64..).zip(&workload.arms) {
            let sql = "INSERT INTO arms (workload, position, name, na) VALUES (?1, ?2, ?3, ?4)";
            let values = values![id, position, &arm.name, arm.na.as_ref()];
            store.run(sql, &values)?;
        }
        ids.push(id);
    }
    Ok(ids)
}

fn update_metrics(store: &dyn Engine, result: &ResultFile, experiment: usize) -> Result<(), Fault> {
    let experiment = &result.experiments[experiment];
    let sql = "UPDATE experiments SET metrics = ?3, metric_order = ?4 WHERE run = ?1 AND name = ?2";
    let (metrics, order) = (json(&experiment.metrics), json(&experiment.metric_order));
    let (run, name) = (&result.run.id, experiment.filed_as());
    store
        .run(sql, &values![run, name, metrics, order])
        .map(drop)
}

/// Inserts or replaces the counts of a workload.
pub(super) fn insert_exact(
    store: &dyn Engine,
    workload: i64,
    values: &ExactValues,
) -> Result<(), Fault> {
    let sql = "INSERT INTO exact_values (workload, arm, metric, value) VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT (workload, arm, metric) DO UPDATE SET value = excluded.value";
    for (arm, metrics) in values {
        for (metric, value) in metrics {
            store.run(sql, &values![workload, arm, metric, *value])?;
        }
    }
    Ok(())
}

/// Inserts a block with all its samples.
pub(super) fn insert_block(store: &dyn Engine, workload: i64, block: &Block) -> Result<(), Fault> {
    let sql = "INSERT INTO blocks (workload, number, seed, finished) VALUES (?1, ?2, ?3, ?4)";
    let finished = Timestamp::now().to_string();
    let values = values![workload, block.number, block.seed.cast_signed(), finished];
    store.run(sql, &values)?;
    for (position, sample) in (0_i64..).zip(&block.samples) {
        insert_sample(store, workload, block.number, position, sample)?;
    }
    Ok(())
}

fn insert_sample(
    store: &dyn Engine,
    workload: i64,
    block: u32,
    position: i64,
    sample: &Sample,
) -> Result<(), Fault> {
    let sql = "INSERT INTO samples (workload, block, position, runner, elapsed_s, operations,
        digest, failure) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    let values = values![
        workload,
        block,
        position,
        &sample.runner,
        sample.elapsed_s,
        sample.operations.cast_signed(),
        sample.digest.map(u64::cast_signed),
        sample.failure.as_ref()
    ];
    store.run(sql, &values)?;
    let sql = "INSERT INTO sample_values (workload, block, position, metric, value)
        VALUES (?1, ?2, ?3, ?4, ?5)";
    for (metric, value) in &sample.values {
        let values = values![workload, block, position, metric, *value];
        store.run(sql, &values)?;
    }
    Ok(())
}

fn workload_id(store: &dyn Engine, result: &ResultFile, place: Place) -> Result<i64, Fault> {
    let experiment = &result.experiments[place.experiment];
    let workload = &experiment.workloads[place.workload].name;
    let sql = "SELECT workloads.id FROM workloads
        JOIN experiments ON experiments.id = workloads.experiment
        WHERE experiments.run = ?1 AND experiments.name = ?2 AND workloads.name = ?3";
    let (run, name) = (&result.run.id, experiment.filed_as());
    number(store, sql, &values![run, name, workload])
}

/// Executes a statement that returns one number.
fn number(store: &dyn Engine, sql: &str, values: &[Value]) -> Result<i64, Fault> {
    let rows = store.run(sql, values)?;
    let nothing = || Odd("it has lost the data of this run".to_owned());
    let found = rows.first().ok_or_else(nothing).and_then(|row| row.get(0));
    found.map_err(|odd| store.odd(&odd))
}
