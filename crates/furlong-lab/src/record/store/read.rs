//! What `show`, `list` and `--resume` take out of the store.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;

use super::engine::Access;
use super::{Fault, Status, Store, owner};
use crate::measure::Agenda;
use crate::record::ledger::push;
use crate::record::measured::{Block, Sample};
use crate::record::result::{
    ArmResult, Control, ExperimentResult, Kind, ResultFile, Run, SCHEMA, WorkloadResult,
};

/// A run as it was stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Saved {
    /// Everything that was measured, without summaries and comparisons.
    pub result: ResultFile,
    /// The margin that goes before the declared ones, per cent.
    pub margin_pct: Option<f64>,
    /// How it stands.
    pub status: Status,
    /// Fingerprint of the executable that began it.
    pub binary: String,
}

/// A run in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Brief {
    /// Its name.
    pub id: String,
    /// When it began.
    pub started: String,
    /// How it stands.
    pub status: Status,
}

impl Store {
    /// The runs whose names begin with `prefix`, the latest first.
    ///
    /// # Errors
    ///
    /// What is wrong with the database.
    pub fn runs(&self, prefix: &str) -> Result<Vec<Brief>, Fault> {
        let sql = "SELECT id, started, status FROM runs WHERE substr(id, 1, length(?1)) = ?1
            ORDER BY began DESC, rowid DESC";
        self.rows(sql, &[prefix.into()], |row| {
            let status: String = row.get(2)?;
            Ok(Brief {
                id: row.get(0)?,
                started: row.get(1)?,
                status: Status::named(&status),
            })
        })
    }

    /// Name of the latest run with blocks of an experiment.
    ///
    /// # Errors
    ///
    /// What is wrong with the database.
    pub fn latest_of(&self, experiment: &str) -> Result<Option<String>, Fault> {
        let sql = "SELECT runs.id FROM runs JOIN experiments ON experiments.run = runs.id
            WHERE experiments.name = ?1 AND runs.profile <> 'smoke' AND EXISTS (
                SELECT 1 FROM workloads JOIN blocks ON blocks.workload = workloads.id
                WHERE workloads.experiment = experiments.id)
            ORDER BY runs.began DESC, runs.rowid DESC LIMIT 1";
        Ok(self
            .rows(sql, &[experiment.into()], |row| row.get(0))?
            .into_iter()
            .next())
    }

    /// The processes that are measuring runs now, besides this one.
    ///
    /// # Errors
    ///
    /// What is wrong with the database.
    pub fn others_at_work(&self) -> Result<Vec<u32>, Fault> {
        let sql = "SELECT owner FROM runs WHERE owner IS NOT NULL AND owner <> ?1";
        let owners: Vec<String> =
            self.rows(sql, &[owner::this_process().into()], |row| row.get(0))?;
        Ok(owners
            .iter()
            .filter_map(|owner| owner::alive(owner))
            .collect())
    }

    /// A run by its whole name.
    ///
    /// # Errors
    ///
    /// What is wrong with the database, also that it holds what no furlong wrote.
    pub fn load(&self, id: &str) -> Result<Saved, Fault> {
        // One transaction, so that a block that is being added is there as a whole or not at all.
        self.engine.begin(Access::Read)?;
        let saved = self.load_part(id, None);
        // Nothing was written: there is nothing to lose.
        self.engine.rollback();
        saved
    }

    /// What a run was to do. Its form is that of the furlong that began it: whoever reads it has
    /// seen before that this is the same.
    ///
    /// # Errors
    ///
    /// What is wrong with the database.
    pub fn agenda(&self, id: &str) -> Result<Agenda, Fault> {
        let sql = "SELECT agenda FROM runs WHERE id = ?1";
        let agenda = self
            .rows(sql, &[id.into()], |row| row.parsed(0))?
            .into_iter()
            .next();
        agenda.ok_or_else(|| self.no_run(id))
    }

    fn no_run(&self, id: &str) -> Fault {
        Fault::new(format!("there is no run {id} in {}", self.location))
    }

    /// A run, or of its experiments only one, within a transaction.
    pub(super) fn load_part(&self, id: &str, experiment: Option<&str>) -> Result<Saved, Fault> {
        let sql = "SELECT id, started, command, profile, seed, version, tag, note, machine,
            warnings, status, \"binary\", margin_pct FROM runs WHERE id = ?1";
        let texts = self.rows(sql, &[id.into()], |row| {
            let text = |index| row.get::<String>(index);
            let run = Run {
                id: text(0)?,
                started: text(1)?,
                command: row.parsed(2)?,
                profile: text(3)?,
                seed: row.get::<i64>(4)?.cast_unsigned(),
                version: text(5)?,
                tag: row.get(6)?,
                note: row.get(7)?,
                machine: row.parsed(8)?,
                warnings: row.parsed(9)?,
            };
            Ok((run, Status::named(&text(10)?), text(11)?, row.get(12)?))
        })?;
        let Some((run, status, binary, margin_pct)) = texts.into_iter().next() else {
            return Err(self.no_run(id));
        };
        let experiments = self.experiments(id, experiment)?;
        let result = ResultFile {
            schema: SCHEMA.to_owned(),
            run,
            experiments,
        };
        Ok(Saved {
            result,
            margin_pct,
            status,
            binary,
        })
    }

    fn experiments(&self, run: &str, only: Option<&str>) -> Result<Vec<ExperimentResult>, Fault> {
        let sql = "SELECT id, name, question, metrics, metric_order, left_out FROM experiments
            WHERE run = ?1 AND (?2 = '' OR name = ?2) ORDER BY position";
        let only = only.unwrap_or_default();
        let found = self.rows(sql, &[run.into(), only.into()], |row| {
            let experiment = ExperimentResult {
                name: row.get(1)?,
                question: row.get(2)?,
                metrics: row.parsed(3)?,
                metric_order: row.parsed(4)?,
                workloads: vec![],
                left_out: row.parsed(5)?,
            };
            Ok((row.get::<i64>(0)?, experiment))
        })?;
        let mut experiments = vec![];
        for (id, mut experiment) in found {
            let mut sampled = experiment.metric_order.clone();
            sampled.retain(|name| {
                experiment
                    .metrics
                    .get(name)
                    .is_some_and(|metric| metric.kind == Kind::Sampled)
            });
            experiment.workloads = self.workloads(id, &sampled)?;
            experiments.push(experiment);
        }
        Ok(experiments)
    }

    fn workloads(&self, experiment: i64, sampled: &[String]) -> Result<Vec<WorkloadResult>, Fault> {
        let sql = "SELECT id, name, params, warnings FROM workloads WHERE experiment = ?1
            ORDER BY position";
        let found = self.rows(sql, &[experiment.into()], |row| {
            let control = sampled
                .iter()
                .map(|metric| (metric.clone(), Control::blank()));
            let workload = WorkloadResult {
                name: row.get(1)?,
                params: row.parsed(2)?,
                blocks: vec![],
                order: vec![],
                arms: vec![],
                control: control.collect(),
                comparisons: vec![],
                warnings: row.parsed(3)?,
            };
            Ok((row.get::<i64>(0)?, workload))
        })?;
        let mut workloads = vec![];
        for (id, mut workload) in found {
            workload.arms = self.arms(id)?;
            for block in self.blocks(id)? {
                push(&mut workload, sampled, &block);
            }
            workloads.push(workload);
        }
        Ok(workloads)
    }

    fn arms(&self, workload: i64) -> Result<Vec<ArmResult>, Fault> {
        let sql = "SELECT name, na FROM arms WHERE workload = ?1 ORDER BY position";
        let mut arms = self.rows(sql, &[workload.into()], |row| {
            let (samples, summary) = (BTreeMap::new(), BTreeMap::new());
            Ok(ArmResult {
                name: row.get(0)?,
                na: row.get(1)?,
                samples,
                summary,
            })
        })?;
        let sql = "SELECT arm, metric, value FROM exact_values WHERE workload = ?1";
        let exact = self.rows(sql, &[workload.into()], |row| {
            Ok((row.get::<String>(0)?, row.get::<String>(1)?, row.get(2)?))
        })?;
        for (name, metric, value) in exact {
            if let Some(arm) = arms.iter_mut().find(|arm| arm.name == name) {
                arm.samples.insert(metric, vec![value]);
            }
        }
        Ok(arms)
    }

    fn blocks(&self, workload: i64) -> Result<Vec<Block>, Fault> {
        let sql = "SELECT number, seed FROM blocks WHERE workload = ?1 ORDER BY number";
        let mut blocks = self.rows(sql, &[workload.into()], |row| {
            let seed = row.get::<i64>(1)?.cast_unsigned();
            Ok(Block {
                number: row.get(0)?,
                seed,
                samples: vec![],
            })
        })?;
        let sql = "SELECT block, runner, elapsed_s, operations, digest, failure FROM samples
            WHERE workload = ?1 ORDER BY block, position";
        let samples = self.rows(sql, &[workload.into()], |row| {
            let sample = Sample {
                runner: row.get(1)?,
                values: BTreeMap::new(),
                elapsed_s: row.get(2)?,
                operations: row.get::<i64>(3)?.cast_unsigned(),
                digest: row.get::<Option<i64>>(4)?.map(i64::cast_unsigned),
                failure: row.get(5)?,
            };
            Ok((row.get::<u32>(0)?, sample))
        })?;
        for (block, sample) in samples {
            // A sample belongs to a block, a value to a sample: the foreign keys say so.
            if let Some(block) = numbered(&mut blocks, block) {
                block.samples.push(sample);
            }
        }
        let sql = "SELECT block, position, metric, value FROM sample_values WHERE workload = ?1";
        let values = self.rows(sql, &[workload.into()], |row| {
            let position: u32 = row.get(1)?;
            Ok((
                row.get::<u32>(0)?,
                position,
                row.get::<String>(2)?,
                row.get::<f64>(3)?,
            ))
        })?;
        for (block, position, metric, value) in values {
            let samples = numbered(&mut blocks, block).map(|block| &mut block.samples);
            if let Some(sample) = samples.and_then(|samples| samples.get_mut(position as usize)) {
                sample.values.insert(metric, value);
            }
        }
        Ok(blocks)
    }
}

/// The block of that number, of blocks in ascending order.
fn numbered(blocks: &mut [Block], number: u32) -> Option<&mut Block> {
    let place = blocks
        .binary_search_by_key(&number, |block| block.number)
        .ok()?;
    blocks.get_mut(place)
}
