//! Changes to stored runs: marks, pins, import and removal.

use std::collections::BTreeMap;

use super::engine::{Engine, values};
use super::write::{Terms, insert_block, insert_exact, insert_experiment, insert_run};
use super::{Fault, Status, Store};
use crate::model::result::{CONTROL, Kind, ResultFile, WorkloadResult};
use crate::record::comparison;
use crate::record::measured::{Block, Sample};
use furlong_stats::judge::declared_margin;

/// Stands in for the executable's fingerprint of a run that was imported.
const IMPORTED: &str = "imported";

impl Store {
    /// Gives a run a tag or a note; an empty one removes the old one.
    ///
    /// # Errors
    ///
    /// A fault of the database; nothing has changed.
    pub fn mark(&mut self, run: &str, tag: Option<&str>, note: Option<&str>) -> Result<(), Fault> {
        self.write(|store| {
            for (column, text) in [("tag", tag), ("note", note)] {
                if let Some(text) = text {
                    let text = Some(text).filter(|text| !text.is_empty());
                    let sql = format!("UPDATE runs SET {column} = ?2 WHERE id = ?1");
                    store.run(&sql, &values![run, text])?;
                }
            }
            Ok(())
        })
    }

    /// Makes a run the reference of its machine's runs.
    ///
    /// # Errors
    ///
    /// A fault of the database; nothing has changed.
    pub fn pin(&mut self, run: &str) -> Result<(), Fault> {
        self.write(|store| {
            let sql = "INSERT INTO pins (machine_id, run)
                SELECT machine_id, id FROM runs WHERE id = ?1
                ON CONFLICT (machine_id) DO UPDATE SET run = excluded.run";
            store.run(sql, &values![run]).map(drop)
        })
    }

    /// Removes the pin of a run.
    ///
    /// # Errors
    ///
    /// A fault of the database; nothing has changed.
    pub fn unpin(&mut self, run: &str) -> Result<(), Fault> {
        self.write(|store| {
            let sql = "DELETE FROM pins WHERE run = ?1";
            store.run(sql, &values![run]).map(drop)
        })
    }

    /// Keeps the user's judgement that no figure changed at a run, or removes it.
    ///
    /// # Errors
    ///
    /// A fault of the database; nothing has changed.
    pub fn dismiss(&mut self, run: &str, is_dismissed: bool) -> Result<(), Fault> {
        self.write(|store| {
            let sql = "UPDATE runs SET dismissed = ?2 WHERE id = ?1";
            store
                .run(sql, &values![run, i64::from(is_dismissed)])
                .map(drop)
        })
    }

    /// Returns the reference run of a machine.
    ///
    /// # Errors
    ///
    /// A fault of the database.
    pub fn pinned(&self, machine: &str) -> Result<Option<String>, Fault> {
        let sql = "SELECT run FROM pins WHERE machine_id = ?1";
        self.first(sql, &values![machine], |row| row.get(0))
    }

    /// Removes runs and all their data: all or none.
    ///
    /// # Errors
    ///
    /// A fault of the database; nothing has changed.
    pub fn remove(&mut self, runs: &[&str]) -> Result<(), Fault> {
        self.write(|store| {
            let sql = "DELETE FROM runs WHERE id = ?1";
            let mut all = runs.iter();
            all.try_for_each(|run| store.run(sql, &values![*run]).map(drop))
        })
    }

    /// Returns the space of removed runs to the system. A server keeps it for new runs.
    ///
    /// # Errors
    ///
    /// A fault of the database.
    pub fn compact(&mut self) -> Result<(), Fault> {
        self.engine.compact()
    }

    /// Returns the size of the files; 0 on a server.
    pub fn bytes(&self) -> u64 {
        self.engine.bytes()
    }

    /// Adds a finished run that was measured elsewhere.
    ///
    /// # Shapes
    ///
    /// `result` is consistent: see `fits_together` of the result.
    ///
    /// # Errors
    ///
    /// A fault of the database, or a run of this name exists; nothing has changed.
    pub fn import(&mut self, result: &ResultFile) -> Result<(), Fault> {
        let terms = Terms {
            binary: IMPORTED,
            margin_pct: own_margin(result),
            schedule: "null".to_owned(),
            owner: None,
        };
        self.write(|store| {
            insert_run(store, &result.run, Status::Finished, &terms)?;
            let experiments = result.experiments.iter().map(comparison::named);
            for (position, experiment) in (0_i64..).zip(experiments) {
                let run = &result.run.id;
                let ids = insert_experiment(store, run, position, &experiment)?;
                let exact = |name: &String| {
                    let metric = experiment.metrics.get(name);
                    metric.is_some_and(|metric| metric.kind == Kind::Exact)
                };
                for (id, workload) in ids.into_iter().zip(&experiment.workloads) {
                    import_workload(store, id, workload, exact)?;
                }
            }
            Ok(())
        })
    }
}

fn import_workload(
    store: &dyn Engine,
    id: i64,
    workload: &WorkloadResult,
    exact: impl Fn(&String) -> bool,
) -> Result<(), Fault> {
    let mut counted = BTreeMap::new();
    for arm in &workload.arms {
        let own = arm.samples.iter().filter(|(metric, _)| exact(metric));
        let values: BTreeMap<String, Option<f64>> = own
            .filter_map(|(metric, values)| Some((metric.clone(), *values.first()?)))
            .collect();
        counted.insert(arm.name.clone(), values);
    }
    insert_exact(store, id, &counted)?;
    for (place, number) in workload.blocks.iter().enumerate() {
        let order = workload.order.get(place).into_iter().flatten();
        let block = Block {
            number: *number,
            // The file has no seeds. Only `--resume` needs them, and finished runs are not resumed.
            seed: 0,
            samples: order
                .map(|runner| sample(workload, runner, place, &exact))
                .collect(),
        };
        insert_block(store, id, &block)?;
    }
    Ok(())
}

/// Returns the sample of one process from a file.
fn sample(
    workload: &WorkloadResult,
    runner: &str,
    place: usize,
    exact: &impl Fn(&String) -> bool,
) -> Sample {
    let arm = workload.arms.iter().find(|arm| arm.name == runner);
    let of_arm = arm.into_iter().flat_map(|arm| &arm.samples);
    let own = of_arm.map(|(metric, values)| (metric, values.get(place)));
    let again = workload.control.iter().filter(|_| runner == CONTROL);
    let again = again.map(|(metric, control)| (metric, control.samples.get(place)));
    let mut sample = Sample {
        runner: runner.to_owned(),
        ..Sample::default()
    };
    for (metric, value) in own.chain(again).filter(|(metric, _)| !exact(metric)) {
        match value {
            Some(Some(value)) => drop(sample.values.insert(metric.clone(), *value)),
            Some(None) => sample.failure = Some("no value in the imported file".to_owned()),
            None => {}
        }
    }
    sample
}

/// Returns the margin that overrode the declared ones, taken from the comparisons: one for all of
/// them, and not what they declare.
fn own_margin(result: &ResultFile) -> Option<f64> {
    let mut used = vec![];
    let mut is_declared = true;
    for experiment in &result.experiments {
        for workload in &experiment.workloads {
            for one in &workload.comparisons {
                let Some(metric) = experiment.metrics.get(&one.metric) else {
                    continue;
                };
                used.push(one.margin_pct);
                is_declared &= declared_margin(metric, workload) == one.margin_pct;
            }
        }
    }
    let first = *used.first()?;
    let is_one = used.iter().all(|margin| *margin == first);
    (is_one && !is_declared).then_some(first)
}
