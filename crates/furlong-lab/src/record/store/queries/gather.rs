//! Loads whole runs, or parts of many, in a fixed number of statements, however many workloads and
//! runs there are.

use std::collections::BTreeMap;

use crate::model::result::{
    ArmResult, Control, ExperimentResult, Kind, ResultFile, Run, SCHEMA, WorkloadResult,
};
use crate::record::ledger::push;
use crate::record::measured::{Block, Sample};
use crate::record::store::engine::{Odd, Row, Value};
use crate::record::store::{Fault, Saved, Store};

/// A selection of experiments, and of the parts to load.
#[derive(Default)]
pub(in crate::record::store) struct Choice {
    /// Statement for the row identifiers of the experiments.
    pub(in crate::record::store) experiments: &'static str,
    /// All its values.
    pub(in crate::record::store) values: Vec<Value>,
    /// Only this workload.
    pub(in crate::record::store) workload: Option<String>,
    /// Only this metric.
    pub(in crate::record::store) metric: Option<String>,
}

/// The experiments of a run.
const OF_RUN: &str = "SELECT id FROM experiments WHERE run = ?1";

/// One experiment of a run, by name.
const ONE_OF_RUN: &str = "SELECT id FROM experiments WHERE run = ?1 AND name = ?2";

/// The latest of one experiment's runs on one machine that have blocks of it and are no smoke runs.
const PAST: &str = "SELECT one.id FROM experiments AS one JOIN runs ON runs.id = one.run
    WHERE one.name = ?1 AND one.machine_id = ?2 AND runs.profile <> 'smoke' AND EXISTS (
        SELECT 1 FROM workloads JOIN blocks ON blocks.workload = workloads.id
        WHERE workloads.experiment = one.id)
    ORDER BY one.began DESC, one.id DESC LIMIT ?3";

impl Choice {
    /// Returns the choice of a whole run, or of one of its experiments.
    pub(in crate::record::store) fn of_run(run: &str, experiment: Option<&str>) -> Choice {
        let (experiments, values) = match experiment {
            None => (OF_RUN, vec![run.into()]),
            Some(name) => (ONE_OF_RUN, vec![run.into(), name.into()]),
        };
        Choice {
            experiments,
            values,
            ..Choice::default()
        }
    }

    /// Returns the choice of an experiment in the latest runs of a machine.
    pub(super) fn of_past(machine: &str, experiment: &str, count: u32) -> Choice {
        Choice {
            experiments: PAST,
            values: vec![experiment.into(), machine.into(), count.into()],
            ..Choice::default()
        }
    }

    /// Returns the condition on rows of experiments.
    fn of_experiments(&self, column: &str) -> Rule {
        Rule {
            sql: format!("{column} IN ({})", self.experiments),
            values: self.values.clone(),
        }
    }

    /// Returns the condition on rows of workloads.
    fn of_workloads(&self) -> Rule {
        self.of_experiments("experiment")
            .and("name", self.workload.as_deref())
    }

    /// Returns the condition on rows that belong to a workload.
    fn of_parts(&self) -> Rule {
        let workloads = self.of_workloads();
        Rule {
            sql: format!(
                "workload IN (SELECT id FROM workloads WHERE {})",
                workloads.sql
            ),
            values: workloads.values,
        }
    }

    /// Returns the condition on values.
    fn of_values(&self) -> Rule {
        self.of_parts().and("metric", self.metric.as_deref())
    }
}

/// A condition on rows, with its values.
struct Rule {
    sql: String,
    values: Vec<Value>,
}

impl Rule {
    /// Adds the condition that a column equals a text, if there is one.
    fn and(mut self, column: &str, text: Option<&str>) -> Rule {
        if let Some(text) = text {
            self.values.push(text.into());
            self.sql += &format!(" AND {column} = ?{}", self.values.len());
        }
        self
    }
}

/// A workload that is being loaded, with the row identifiers of its parts.
struct Loose {
    id: i64,
    experiment: i64,
    workload: WorkloadResult,
    blocks: Vec<Block>,
}

/// An experiment that is being loaded.
struct Found {
    id: i64,
    run: String,
    experiment: ExperimentResult,
}

impl Store {
    /// Loads the runs of a choice, oldest first, each with the chosen parts.
    pub(in crate::record::store) fn gather(&self, choice: &Choice) -> Result<Vec<Saved>, Fault> {
        let rule = choice.of_experiments("id");
        let rule = Rule {
            sql: format!("id IN (SELECT run FROM experiments WHERE {})", rule.sql),
            values: rule.values,
        };
        let mut runs = self.bare(&rule)?;
        for (run, experiment) in self.experiments(choice)? {
            if let Some(saved) = runs.iter_mut().find(|one| one.result.run.id == run) {
                saved.result.experiments.push(experiment);
            }
        }
        Ok(runs)
    }

    /// Loads a run with the chosen parts; `None` if there is no such run.
    pub(in crate::record::store) fn whole(
        &self,
        run: &str,
        choice: &Choice,
    ) -> Result<Option<Saved>, Fault> {
        let rule = Rule {
            sql: "id = ?1".to_owned(),
            values: vec![run.into()],
        };
        let Some(mut saved) = self.bare(&rule)?.pop() else {
            return Ok(None);
        };
        let experiments = self.experiments(choice)?.into_iter();
        saved.result.experiments = experiments.map(|(_, experiment)| experiment).collect();
        Ok(Some(saved))
    }

    /// Returns an experiment of a run without values: its workloads with their arms.
    ///
    /// # Errors
    ///
    /// A fault of the database.
    pub fn contents(&self, run: &str, name: &str) -> Result<Option<ExperimentResult>, Fault> {
        let choice = Choice::of_run(run, Some(name));
        let Some(mut found) = self.headings(&choice)?.pop() else {
            return Ok(None);
        };
        let mut loose = self.loose(&choice)?;
        self.add_arms(&choice, &mut loose)?;
        found.experiment.workloads = loose.into_iter().map(|one| one.workload).collect();
        Ok(Some(found.experiment))
    }

    /// Returns the rows that a rule admits; it stands in the place of `{}`.
    fn ruled<T>(
        &self,
        rule: &Rule,
        sql: &str,
        read: impl FnMut(&Row) -> Result<T, Odd>,
    ) -> Result<Vec<T>, Fault> {
        self.rows(&sql.replace("{}", &rule.sql), &rule.values, read)
    }

    fn bare(&self, rule: &Rule) -> Result<Vec<Saved>, Fault> {
        let sql = "SELECT id, started, command, profile, seed, version, tag, note, machine,
                warnings, status, \"binary\", margin_pct, dismissed
            FROM runs WHERE {} ORDER BY began, rowid";
        self.ruled(rule, sql, bare)
    }

    /// Loads the experiments of a choice, each with the name of its run.
    fn experiments(&self, choice: &Choice) -> Result<Vec<(String, ExperimentResult)>, Fault> {
        let mut loose = self.loose(choice)?;
        self.add_arms(choice, &mut loose)?;
        self.add_exact(choice, &mut loose)?;
        self.add_blocks(choice, &mut loose)?;
        let mut together = vec![];
        for mut found in self.headings(choice)? {
            let experiment = &mut found.experiment;
            let mut sampled = experiment.metric_order.clone();
            sampled.retain(|name| {
                let metric = experiment.metrics.get(name);
                metric.is_some_and(|metric| metric.kind == Kind::Sampled)
            });
            for one in loose.iter_mut().filter(|one| one.experiment == found.id) {
                let mut workload = one.workload.clone();
                let blank = |metric: &String| (metric.clone(), Control::default());
                if workload.arms.len() > 1 {
                    workload.control = sampled.iter().map(blank).collect();
                }
                for block in &one.blocks {
                    push(&mut workload, &sampled, block);
                }
                experiment.workloads.push(workload);
            }
            together.push((found.run, found.experiment));
        }
        Ok(together)
    }

    fn headings(&self, choice: &Choice) -> Result<Vec<Found>, Fault> {
        let sql = "SELECT id, run, name, question, metrics, metric_order, left_out, comparison
            FROM experiments WHERE {} ORDER BY position, id";
        self.ruled(&choice.of_experiments("id"), sql, |row| {
            let (filed, comparison): (String, Option<String>) = (row.get(2)?, row.get(7)?);
            let own = comparison.as_deref();
            let name = own.and_then(|own| filed.strip_suffix(own)?.strip_suffix(' '));
            Ok(Found {
                id: row.get(0)?,
                run: row.get(1)?,
                experiment: ExperimentResult {
                    name: name.unwrap_or(&filed).to_owned(),
                    comparison,
                    question: row.get(3)?,
                    metrics: row.parsed(4)?,
                    metric_order: row.parsed(5)?,
                    workloads: vec![],
                    left_out: row.parsed(6)?,
                },
            })
        })
    }

    fn loose(&self, choice: &Choice) -> Result<Vec<Loose>, Fault> {
        let sql = "SELECT id, experiment, name, params, warnings FROM workloads WHERE {}
            ORDER BY experiment, position";
        self.ruled(&choice.of_workloads(), sql, |row| {
            Ok(Loose {
                id: row.get(0)?,
                experiment: row.get(1)?,
                workload: WorkloadResult {
                    name: row.get(2)?,
                    params: row.parsed(3)?,
                    warnings: row.parsed(4)?,
                    ..WorkloadResult::default()
                },
                blocks: vec![],
            })
        })
    }

    /// Gives each row that a rule admits to the workload that its first column names.
    fn add(
        &self,
        loose: &mut [Loose],
        rule: &Rule,
        sql: &str,
        give: impl Fn(&mut Loose, &Row) -> Result<(), Odd>,
    ) -> Result<(), Fault> {
        let places = loose.iter().enumerate().map(|(place, one)| (one.id, place));
        let places: BTreeMap<i64, usize> = places.collect();
        let given = self.ruled(rule, sql, |row| match places.get(&row.get(0)?) {
            Some(place) => give(&mut loose[*place], row),
            None => Ok(()),
        });
        given.map(drop)
    }

    fn add_arms(&self, choice: &Choice, loose: &mut [Loose]) -> Result<(), Fault> {
        let sql = "SELECT workload, name, na FROM arms WHERE {} ORDER BY workload, position";
        self.add(loose, &choice.of_parts(), sql, |one, row| {
            one.workload.arms.push(ArmResult {
                name: row.get(1)?,
                na: row.get(2)?,
                ..ArmResult::default()
            });
            Ok(())
        })
    }

    fn add_exact(&self, choice: &Choice, loose: &mut [Loose]) -> Result<(), Fault> {
        let sql = "SELECT workload, arm, metric, value FROM exact_values WHERE {}";
        self.add(loose, &choice.of_values(), sql, |one, row| {
            let (name, value): (String, _) = (row.get(1)?, row.get(3)?);
            let mut arms = one.workload.arms.iter_mut();
            if let Some(arm) = arms.find(|arm| arm.name == name) {
                arm.samples.insert(row.get(2)?, vec![value]);
            }
            Ok(())
        })
    }

    // The foreign keys guarantee that a sample has a block, and a value a sample.
    fn add_blocks(&self, choice: &Choice, loose: &mut [Loose]) -> Result<(), Fault> {
        let sql = "SELECT workload, number, seed FROM blocks WHERE {} ORDER BY workload, number";
        self.add(loose, &choice.of_parts(), sql, |one, row| {
            one.blocks.push(Block {
                number: row.get(1)?,
                seed: row.get::<i64>(2)?.cast_unsigned(),
                samples: vec![],
            });
            Ok(())
        })?;
        let sql = "SELECT workload, block, runner, elapsed_s, operations, digest, failure
            FROM samples WHERE {} ORDER BY workload, block, position";
        self.add(loose, &choice.of_parts(), sql, |one, row| {
            if let Some(block) = numbered(&mut one.blocks, row.get(1)?) {
                block.samples.push(sample(row)?);
            }
            Ok(())
        })?;
        let sql = "SELECT workload, block, position, metric, value FROM sample_values WHERE {}";
        self.add(loose, &choice.of_values(), sql, |one, row| {
            let samples = numbered(&mut one.blocks, row.get(1)?).map(|block| &mut block.samples);
            let place = row.get::<u32>(2)? as usize;
            if let Some(sample) = samples.and_then(|samples| samples.get_mut(place)) {
                sample.values.insert(row.get(3)?, row.get(4)?);
            }
            Ok(())
        })
    }
}

/// Reads a run without its experiments.
fn bare(row: &Row) -> Result<Saved, Odd> {
    let run = Run {
        id: row.get(0)?,
        started: row.get(1)?,
        command: row.parsed(2)?,
        profile: row.get(3)?,
        seed: row.get::<i64>(4)?.cast_unsigned(),
        version: row.get(5)?,
        tag: row.get(6)?,
        note: row.get(7)?,
        revision: None,
        machine: row.parsed(8)?,
        warnings: row.parsed(9)?,
    };
    Ok(Saved {
        result: ResultFile {
            schema: SCHEMA.to_owned(),
            run,
            experiments: vec![],
        },
        margin_pct: row.get(12)?,
        is_dismissed: row.get::<i64>(13)? > 0,
        status: row.get(10)?,
        binary: row.get(11)?,
    })
}

fn sample(row: &Row) -> Result<Sample, Odd> {
    Ok(Sample {
        runner: row.get(2)?,
        values: BTreeMap::new(),
        elapsed_s: row.get(3)?,
        operations: row.get::<i64>(4)?.cast_unsigned(),
        digest: row.get::<Option<i64>>(5)?.map(i64::cast_unsigned),
        failure: row.get(6)?,
    })
}

/// Finds a block by its number in blocks in ascending order.
fn numbered(blocks: &mut [Block], number: u32) -> Option<&mut Block> {
    let place = blocks
        .binary_search_by_key(&number, |block| block.number)
        .ok()?;
    blocks.get_mut(place)
}
