//! Measurements in records that correspond to the documents' figures.

use std::cmp::Reverse;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::document::{Counterpart, Document};
use furlong_lab::model::result::{Kind, ResultFile, Run, Verdict, WorkloadResult};
use furlong_lab::record::judged::judged;
use furlong_lab::record::machine::Files;
use furlong_lab::record::store::{Fault, Store};
use furlong_lab::report::json;

/// Maximum number of runs of an experiment to search, the latest first.
const RUNS: u32 = 20;

/// Results in order of preference: those of the store, then of files. Files of this machine come
/// first, and the latest first.
#[derive(Debug)]
pub struct Records {
    /// The identifier of this machine.
    here: String,
    all: Vec<Record>,
}

impl Default for Records {
    fn default() -> Self {
        Self {
            here: Files::default().machine().id,
            all: vec![],
        }
    }
}

/// A result and its location.
#[derive(Debug)]
struct Record {
    result: ResultFile,
    place: String,
}

/// A measured figure and its origin.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// Location of the record.
    pub place: String,
    /// Identifier of the run.
    pub run: String,
    /// Start of the run.
    pub started: String,
    /// Version of furlong.
    pub version: String,
    /// Machine of the run.
    pub host: String,
    /// True if it is this machine.
    pub is_here: bool,
    /// The figure.
    pub figure: Figure,
}

/// A measured figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Figure {
    /// An arm compared with another.
    Change {
        /// Difference, per cent.
        effect_pct: f64,
        /// 95 % interval; `None` for an exact figure.
        ci95_pct: Option<[f64; 2]>,
        /// Verdict of the comparison.
        verdict: Verdict,
        /// Number of blocks.
        blocks: usize,
    },
    /// An arm by itself: its median, in the metric's unit.
    Level {
        /// The median.
        median: f64,
        /// Its unit.
        unit: String,
        /// Number of blocks.
        blocks: usize,
    },
}

impl Records {
    /// Adds this machine's runs from the store, of experiments that correspond to the documents.
    ///
    /// # Errors
    ///
    /// The store's fault.
    pub fn add_store(&mut self, store: &Store, documents: &[Document]) -> Result<(), Fault> {
        let claims = documents.iter().flat_map(|one| &one.claims);
        let mut experiments: Vec<&str> = claims
            .filter_map(|claim| Some(claim.measured.as_ref()?.experiment.as_str()))
            .collect();
        experiments.sort_unstable();
        experiments.dedup();
        for experiment in experiments {
            for saved in store.past(&self.here, experiment, RUNS)?.into_iter().rev() {
                self.all.push(Record {
                    place: format!("{}", store.location()),
                    result: judged(&saved.result, saved.margin_pct),
                });
            }
        }
        Ok(())
    }

    /// Adds the files `results/*.json` in each directory of `experiments`. Returns a message for
    /// each file that is not a result; those are skipped.
    pub fn add_files(&mut self, experiments: &Path) -> Vec<String> {
        let (mut found, mut said) = (vec![], vec![]);
        // Paths are relative to the repository, so that they also help readers on other machines.
        let root = experiments.parent().unwrap_or(Path::new(""));
        for path in files(experiments) {
            let read = fs::read_to_string(&path).map_err(|error| error.to_string());
            let parsed = read.and_then(|text| json::read(&text).map_err(|error| error.to_string()));
            match parsed {
                Ok(result) => found.push(Record {
                    place: path
                        .strip_prefix(root)
                        .unwrap_or(&path)
                        .display()
                        .to_string(),
                    result,
                }),
                Err(why) => said.push(format!("{} is left out: {why}", path.display())),
            }
        }
        let rank = |record: &Record| {
            let Run {
                machine, started, ..
            } = &record.result.run;
            (machine.id == self.here, started.clone())
        };
        found.sort_by_key(|record| Reverse(rank(record)));
        self.all.extend(found);
        said
    }

    /// The first record that has the figure.
    #[must_use]
    pub fn find(&self, like: &Counterpart) -> Option<Measured> {
        self.all.iter().find_map(|record| {
            let figure = figure(&record.result, like)?;
            let run = &record.result.run;
            Some(Measured {
                place: record.place.clone(),
                run: run.id.clone(),
                started: run.started.clone(),
                version: run.version.clone(),
                host: run.machine.host.clone(),
                is_here: run.machine.id == self.here,
                figure,
            })
        })
    }
}

/// The nearest directory of experiments above `start`.
#[must_use]
pub fn nearest(start: &Path) -> Option<PathBuf> {
    let mut places = start.ancestors().map(|dir| dir.join("experiments"));
    places.find(|dir| !files(dir).is_empty())
}

/// Files with names of results.
fn files(experiments: &Path) -> Vec<PathBuf> {
    let below = |dir: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(dir).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        paths
    };
    let results = below(experiments).into_iter();
    results
        .flat_map(|experiment| below(&experiment.join("results")))
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .collect()
}

fn figure(result: &ResultFile, like: &Counterpart) -> Option<Figure> {
    let mut experiments = result.experiments.iter();
    let experiment = experiments.find(|one| one.name == like.experiment)?;
    let mut workloads = experiment.workloads.iter();
    let workload = workloads.find(|one| one.name == like.workload)?;
    let metric = experiment.metrics.get(&like.metric)?;
    let Some(baseline) = &like.baseline else {
        let arm = workload.arms.iter().find(|arm| arm.name == like.arm)?;
        return Some(Figure::Level {
            median: arm.summary.get(&like.metric)?.median,
            unit: metric.unit.clone(),
            blocks: workload.blocks.len(),
        });
    };
    let comparison = workload.comparisons.iter().find(|one| {
        one.baseline == *baseline && one.arm == like.arm && one.metric == like.metric
    })?;
    Some(Figure::Change {
        effect_pct: comparison.effect_pct,
        ci95_pct: comparison.ci95_pct.filter(|_| metric.kind == Kind::Sampled),
        verdict: comparison.verdict,
        blocks: blocks(workload, comparison.n),
    })
}

/// Blocks of a comparison; for an exact one, all blocks of the workload.
fn blocks(workload: &WorkloadResult, compared: usize) -> usize {
    match compared {
        0 => workload.blocks.len(),
        some => some,
    }
}
