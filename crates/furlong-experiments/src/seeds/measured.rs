//! What records say of what is like a document's figure.
#![forbid(unsafe_code)]

use std::cmp::Reverse;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::document::{Counterpart, Document};
use furlong_lab::model::result::{Kind, ResultFile, Run, Verdict, WorkloadResult};
use furlong_lab::record::judged::judged;
use furlong_lab::record::machine::Files;
use furlong_lab::record::store::{Fault, Store};

/// Runs of an experiment that are looked through, the latest.
const RUNS: u32 = 20;

/// Results in the order in which they are asked: the store's before files, of files this machine's
/// before others', the latest first.
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

/// A result, and where it was.
#[derive(Debug)]
struct Record {
    result: ResultFile,
    place: String,
}

/// What a record says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// Where it stands.
    pub place: String,
    /// Which run.
    pub run: String,
    /// When it began.
    pub started: String,
    /// Version of furlong.
    pub version: String,
    /// On which machine.
    pub host: String,
    /// Whether that is this one.
    pub is_here: bool,
    /// What it was.
    pub figure: Figure,
}

/// A measured figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Figure {
    /// An arm against another.
    Change {
        /// Per cent.
        effect_pct: f64,
        /// 95 % interval; `None` where the figure is exact.
        ci95_pct: Option<[f64; 2]>,
        /// What it came to.
        verdict: Verdict,
        /// Blocks.
        blocks: usize,
    },
    /// An arm by itself: its median, in the metric's unit.
    Level {
        /// The median.
        median: f64,
        /// Its unit.
        unit: String,
        /// Blocks.
        blocks: usize,
    },
}

impl Records {
    /// Of this machine's runs in the store that have to do with the documents.
    ///
    /// # Errors
    ///
    /// What is wrong with the store.
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

    /// Of the files `results/*.json` in each directory of `experiments`; what is no result is said
    /// and left out.
    pub fn add_files(&mut self, experiments: &Path) -> Vec<String> {
        let (mut found, mut said) = (vec![], vec![]);
        // A page that goes elsewhere names a record as whoever has the repository finds it.
        let root = experiments.parent().unwrap_or(Path::new(""));
        for path in files(experiments) {
            let read = fs::read_to_string(&path).map_err(|error| error.to_string());
            let parsed = read.and_then(|text| {
                serde_json::from_str::<ResultFile>(&text).map_err(|error| error.to_string())
            });
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

/// The directory of experiments that is nearest above `start`.
#[must_use]
pub fn nearest(start: &Path) -> Option<PathBuf> {
    let mut places = start.ancestors().map(|dir| dir.join("experiments"));
    places.find(|dir| !files(dir).is_empty())
}

/// Files that are named like results.
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

/// Blocks behind a comparison; an exact one stands for all.
fn blocks(workload: &WorkloadResult, compared: usize) -> usize {
    match compared {
        0 => workload.blocks.len(),
        some => some,
    }
}
