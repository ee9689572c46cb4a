//! What a run puts into the store.
#![forbid(unsafe_code)]

use rusqlite::{Connection, Transaction, TransactionBehavior, named_params, params};
use serde::Serialize;

use super::{Fault, Status, Store, owner};
use crate::measure::Agenda;
use crate::record::ledger::ExactValues;
use crate::record::measured::{Block, Sample};
use crate::record::result::{ExperimentResult, ResultFile, Run, WorkloadResult};

impl Store {
    /// Notes a new run with all that it will do; this process is its owner.
    ///
    /// # Errors
    ///
    /// What is wrong with the database; nothing has changed.
    pub fn begin(
        &mut self,
        result: &ResultFile,
        agenda: &Agenda,
        binary: &str,
    ) -> Result<(), Fault> {
        self.write(|store| {
            insert_run(store, &result.run, agenda, binary)?;
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
    /// The database, or that another process is measuring the run.
    pub fn claim(&mut self, run: &str) -> Result<(), Fault> {
        let held = self.write(|store| {
            let sql = "SELECT owner FROM runs WHERE id = ?1";
            let held: Option<String> = store.query_row(sql, [run], |row| row.get(0))?;
            if let Some(pid) = held.as_deref().and_then(owner::alive) {
                return Ok(Some(pid));
            }
            let sql = "UPDATE runs SET owner = ?2, status = 'running' WHERE id = ?1";
            store.execute(sql, [run, &owner::this_process()])?;
            Ok(None)
        })?;
        match held {
            Some(pid) => Err(Fault::new(format!(
                "run {run} is being measured by process {pid}: wait for it, or stop it first"
            ))),
            None => Ok(()),
        }
    }

    /// Notes an experiment's metrics.
    ///
    /// # Errors
    ///
    /// What is wrong with the database; nothing has changed.
    pub fn put_metrics(&mut self, run: &str, experiment: &ExperimentResult) -> Result<(), Fault> {
        self.write(|store| update_metrics(store, run, experiment))
    }

    /// Notes that a metric is sampled from now on.
    ///
    /// # Errors
    ///
    /// What is wrong with the database; nothing has changed.
    pub fn put_demotion(
        &mut self,
        run: &Run,
        experiment: &ExperimentResult,
        metric: &str,
    ) -> Result<(), Fault> {
        self.write(|store| {
            update_metrics(store, &run.id, experiment)?;
            let sql = "DELETE FROM exact_values WHERE metric = ?1 AND workload IN (
                SELECT workloads.id FROM workloads
                JOIN experiments ON experiments.id = workloads.experiment
                WHERE experiments.run = ?2 AND experiments.name = ?3)";
            store.execute(sql, [metric, &run.id, &experiment.name])?;
            let sql = "UPDATE runs SET warnings = ?2 WHERE id = ?1";
            store.execute(sql, [&run.id, &json(&run.warnings)])?;
            Ok(())
        })
    }

    /// Notes a workload's frozen batch and what was noticed about it.
    ///
    /// # Errors
    ///
    /// What is wrong with the database; nothing has changed.
    pub fn put_workload(
        &mut self,
        run: &str,
        experiment: &str,
        workload: &WorkloadResult,
    ) -> Result<(), Fault> {
        self.write(|store| {
            let id = workload_id(store, run, experiment, &workload.name)?;
            let sql = "UPDATE workloads SET params = ?2, warnings = ?3 WHERE id = ?1";
            store.execute(
                sql,
                params![id, json(&workload.params), json(&workload.warnings)],
            )?;
            Ok(())
        })
    }

    /// Notes what was counted on a workload.
    ///
    /// # Errors
    ///
    /// What is wrong with the database; nothing has changed.
    pub fn put_exact(
        &mut self,
        run: &str,
        experiment: &str,
        workload: &str,
        values: &ExactValues,
    ) -> Result<(), Fault> {
        self.write(|store| {
            let id = workload_id(store, run, experiment, workload)?;
            let sql = "INSERT OR REPLACE INTO exact_values (workload, arm, metric, value)
                VALUES (?1, ?2, ?3, ?4)";
            let mut insert = store.prepare(sql)?;
            for (arm, metrics) in values {
                for (metric, value) in metrics {
                    insert.execute(params![id, arm, metric, value])?;
                }
            }
            Ok(())
        })
    }

    /// Notes a finished block: all of it or nothing.
    ///
    /// # Errors
    ///
    /// What is wrong with the database, or that the block is there already; nothing has changed.
    pub fn put_block(
        &mut self,
        run: &str,
        experiment: &str,
        workload: &str,
        block: &Block,
    ) -> Result<(), Fault> {
        self.write(|store| {
            let id = workload_id(store, run, experiment, workload)?;
            let sql = "INSERT INTO blocks (workload, number, seed, finished)
                VALUES (?1, ?2, ?3, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))";
            store.execute(sql, params![id, block.number, block.seed.cast_signed()])?;
            for (position, sample) in (0_i64..).zip(&block.samples) {
                insert_sample(store, id, block.number, position, sample)?;
            }
            Ok(())
        })
    }

    /// Notes how a run ended; it has no owner from now on.
    ///
    /// # Errors
    ///
    /// What is wrong with the database; nothing has changed.
    pub fn close(&mut self, run: &Run, status: Status) -> Result<(), Fault> {
        self.write(|store| {
            let sql = "UPDATE runs SET status = ?2, machine = ?3, warnings = ?4,
                machine_id = ?5, owner = NULL WHERE id = ?1";
            let (machine, warnings) = (json(&run.machine), json(&run.warnings));
            store.execute(
                sql,
                params![run.id, status.name(), machine, warnings, run.machine.id],
            )?;
            Ok(())
        })
    }

    fn write<T>(
        &mut self,
        change: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, Fault> {
        let done = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .and_then(|store| {
                let answer = change(&store)?;
                store.commit()?;
                Ok(answer)
            });
        done.map_err(|error| self.fault(&error))
    }
}

/// A value of the record as JSON. Its maps have text for keys and its numbers are finite, which is
/// all that can go wrong.
pub(super) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn insert_run(
    store: &Connection,
    run: &Run,
    agenda: &Agenda,
    binary: &str,
) -> rusqlite::Result<()> {
    let sql = "INSERT INTO runs (id, started, status, command, profile, seed, version, binary, tag,
            note, machine_id, machine, warnings, margin_pct, agenda, owner)
        VALUES (:id, :started, 'running', :command, :profile, :seed, :version, :binary, :tag,
            :note, :machine_id, :machine, :warnings, :margin_pct, :agenda, :owner)";
    let values = named_params! {
        ":id": run.id,
        ":started": run.started,
        ":command": json(&run.command),
        ":profile": run.profile,
        ":seed": run.seed.cast_signed(),
        ":version": run.version,
        ":binary": binary,
        ":tag": run.tag,
        ":note": run.note,
        ":machine_id": run.machine.id,
        ":machine": json(&run.machine),
        ":warnings": json(&run.warnings),
        ":margin_pct": agenda.margin_pct,
        ":agenda": json(agenda),
        ":owner": owner::this_process(),
    };
    store.execute(sql, values)?;
    Ok(())
}

fn insert_experiment(
    store: &Connection,
    run: &str,
    position: i64,
    experiment: &ExperimentResult,
) -> rusqlite::Result<()> {
    let sql = "INSERT INTO experiments (run, position, name, question, metrics, metric_order,
        left_out) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    store.execute(
        sql,
        params![
            run,
            position,
            experiment.name,
            experiment.question,
            json(&experiment.metrics),
            json(&experiment.metric_order),
            json(&experiment.left_out),
        ],
    )?;
    let id = store.last_insert_rowid();
    for (position, workload) in (0_i64..).zip(&experiment.workloads) {
        let sql = "INSERT INTO workloads (experiment, position, name, params, warnings)
            VALUES (?1, ?2, ?3, ?4, ?5)";
        let (values, warnings) = (json(&workload.params), json(&workload.warnings));
        store.execute(sql, params![id, position, workload.name, values, warnings])?;
        let id = store.last_insert_rowid();
        for (position, arm) in (0_i64..).zip(&workload.arms) {
            let sql = "INSERT INTO arms (workload, position, name, na) VALUES (?1, ?2, ?3, ?4)";
            store.execute(sql, params![id, position, arm.name, arm.na])?;
        }
    }
    Ok(())
}

fn update_metrics(
    store: &Connection,
    run: &str,
    experiment: &ExperimentResult,
) -> rusqlite::Result<()> {
    let sql = "UPDATE experiments SET metrics = ?3, metric_order = ?4 WHERE run = ?1 AND name = ?2";
    let (metrics, order) = (json(&experiment.metrics), json(&experiment.metric_order));
    store.execute(sql, params![run, experiment.name, metrics, order])?;
    Ok(())
}

fn insert_sample(
    store: &Connection,
    workload: i64,
    block: u32,
    position: i64,
    sample: &Sample,
) -> rusqlite::Result<()> {
    let sql = "INSERT INTO samples (workload, block, position, runner, elapsed_s, operations,
        digest, failure) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    store.execute(
        sql,
        params![
            workload,
            block,
            position,
            sample.runner,
            sample.elapsed_s,
            sample.operations.cast_signed(),
            sample.digest.map(u64::cast_signed),
            sample.failure,
        ],
    )?;
    let sql = "INSERT INTO sample_values (workload, block, position, metric, value)
        VALUES (?1, ?2, ?3, ?4, ?5)";
    for (metric, value) in &sample.values {
        store.execute(sql, params![workload, block, position, metric, value])?;
    }
    Ok(())
}

fn workload_id(
    store: &Connection,
    run: &str,
    experiment: &str,
    workload: &str,
) -> rusqlite::Result<i64> {
    let sql = "SELECT workloads.id FROM workloads
        JOIN experiments ON experiments.id = workloads.experiment
        WHERE experiments.run = ?1 AND experiments.name = ?2 AND workloads.name = ?3";
    store.query_row(sql, [run, experiment, workload], |row| row.get(0))
}
