//! A commit beside GOOD, and blocks of their runs: here, or as a task on a node of a cluster.

use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Exit};
use crate::measure::block_order::BlockOrder;
use crate::measure::commands::comparison::{
    CommandArm, CommandComparison, CommandWorkload, Failures, Rules, Timed,
};
use crate::measure::commands::pattern::{Pattern, Printed};
use crate::measure::instructions::costs;
use crate::measure::interrupt::Interrupt;
use crate::measure::launch::command::{Commands, Shell, in_shell, metrics};
use crate::measure::launch::launcher::Output;
use crate::measure::sampler::{Job, SampleError, Sampler as _};
use crate::model::Workload;
use crate::model::result::Better;
use furlong_stats::attribution::Costs;

/// Name of a search in the seeds of its orders.
const BISECT: &str = "bisect";

/// Name of the first commit in a block.
pub(super) const FIRST: &str = "GOOD";

/// Seconds for a run without a limit: it is stopped by Ctrl-C alone.
const PATIENCE_S: f64 = 1e9;

/// A commit beside GOOD, and the way to run both.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::cmd) struct Pair {
    /// Name of the commit.
    pub(super) name: String,
    /// Checkouts of GOOD and of the commit.
    pub(super) folders: [PathBuf; 2],
    /// Command to run in each.
    pub(super) command: String,
    /// Command to run before each run, for sh.
    pub(super) prepare: Option<String>,
    /// Regular expression that finds the figure in the output; none for the time.
    pub(super) printed: Option<String>,
    pub(super) timeout_s: Option<f64>,
    pub(super) ignore_failure: bool,
    /// Seed of the order in every block.
    pub(super) seed: u64,
}

/// Figures of a block: a run of GOOD, and two of the commit.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Figures {
    pub(super) good: f64,
    pub(super) values: [f64; 2],
    /// Seconds that the block took.
    pub(super) seconds: f64,
}

/// Reason why there are no more blocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Fault {
    /// The commit fails, and the search goes on without it.
    Commit(String),
    /// The search cannot go on.
    Search(String),
    /// A signal.
    Interrupted,
}

/// Blocks that were measured, and the reason why there are no more of them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Measured {
    pub(super) blocks: Vec<Figures>,
    pub(super) fault: Option<Fault>,
}

/// A pair that can be run.
pub(super) struct Runner {
    pair: Pair,
    workload: Workload,
    sampler: Timed,
    /// Name of the figure.
    metric: String,
}

impl Runner {
    /// Checks the command, and prepares it in both checkouts.
    pub(super) fn new(pair: Pair, interrupt: &Interrupt) -> Result<Self, Error> {
        let patterns = patterns(pair.printed.as_ref())?;
        let metric = metric(&patterns);
        let line = pair.command.as_str();
        let texts = pair.folders.each_ref();
        let texts = texts.map(|folder| (line, Some(folder.as_path())));
        let commands = Commands::new(&texts, &Shell::AsNeeded)?;
        let mut arms = vec![];
        let names = [FIRST, &pair.name];
        for ((command, folder), arm) in commands.list.into_iter().zip(&pair.folders).zip(names) {
            let prepare = pair.prepare.as_deref();
            let prepare = prepare.map(|text| in_shell("sh", text, Some(folder)));
            arms.push(CommandArm {
                name: arm.to_owned(),
                commands: vec![command],
                prepare: prepare.transpose()?,
                conclude: None,
                output: Output::Discard,
            });
        }
        let rules = Rules {
            workloads: vec![CommandWorkload {
                name: pair.name.clone(),
                arms,
                ..CommandWorkload::default()
            }],
            events: vec![],
            patterns,
            same_output: false,
            warmup: 0,
            input: "/dev/null".into(),
            limit: pair.timeout_s.map(Duration::from_secs_f64),
            failures: match pair.ignore_failure {
                true => Failures::Count,
                false => Failures::End,
            },
        };
        let comparison = CommandComparison::new(rules, interrupt.clone());
        let comparison = comparison.map_err(|error| Error::failed(error.to_string()))?;
        Ok(Self {
            workload: Workload {
                name: pair.name.clone(),
                ..Workload::default()
            },
            sampler: Timed(Rc::clone(&comparison)),
            metric,
            pair,
        })
    }

    /// Measures blocks, of numbers from `first` on.
    pub(super) fn measure(&mut self, first: u32, count: u32) -> Measured {
        let mut measured = Measured::default();
        for number in first..first + count {
            match self.block(number) {
                Ok(block) => measured.blocks.push(block),
                Err(fault) => {
                    measured.fault = Some(fault);
                    break;
                }
            }
        }
        measured
    }

    /// Runs GOOD once and the commit twice, in random order.
    fn block(&mut self, number: u32) -> Result<Figures, Fault> {
        let began = Instant::now();
        let order = BlockOrder::new(self.pair.seed, BISECT, &self.pair.name, number, 3);
        let mut figures = [0.0; 3];
        let longest = FIRST.len().max(self.pair.name.len());
        for place in order.order {
            let arm = [FIRST, &self.pair.name, &self.pair.name][place];
            let outcome = self.sampler.sample(&Job {
                seed: order.seed,
                // As for names that are arguments; see `Timed`.
                padding: order.padding + longest - arm.len(),
                ..job(&self.workload, arm, self.pair.patience())
            });
            let figure = outcome.map(|outcome| outcome.metrics.get(&self.metric).copied());
            figures[place] = match figure {
                Ok(Some(figure)) if figure > 0.0 && figure.is_finite() => figure,
                Ok(figure) => {
                    let figure = figure.unwrap_or(f64::NAN);
                    return Err(Fault::Search(format!(
                        "{}: {figure} in a run of {arm}, and only figures above 0 have a ratio",
                        self.metric
                    )));
                }
                Err(SampleError::Interrupted) => return Err(Fault::Interrupted),
                Err(SampleError::Failed(why) | SampleError::Fatal(why)) => {
                    return Err(match place {
                        0 => Fault::Search(why),
                        _ => Fault::Commit(why),
                    });
                }
            };
        }
        let [good, values @ ..] = figures;
        Ok(Figures {
            good,
            values,
            seconds: began.elapsed().as_secs_f64(),
        })
    }

    /// Returns the cost of every function in a run of the commit, or of GOOD; `None` after `limit`.
    pub(super) fn costs(&self, of_good: bool, limit: Duration) -> Option<Costs> {
        let arm = if of_good { FIRST } else { &self.pair.name };
        let job = job(&self.workload, arm, self.pair.patience());
        costs(&self.sampler.0, &job, limit)
    }

    /// Name of the commit.
    pub(super) fn name(&self) -> &str {
        &self.pair.name
    }

    /// The pair, for a node.
    pub(super) fn pair(&self) -> &Pair {
        &self.pair
    }
}

impl Pair {
    /// Time after which a run has failed.
    fn patience(&self) -> Duration {
        Duration::from_secs_f64(self.timeout_s.unwrap_or(PATIENCE_S))
    }
}

impl Fault {
    /// The error of a search that ends by it after a number of blocks.
    pub(super) fn error(self, interrupt: &Interrupt, blocks: usize) -> Error {
        match self {
            Self::Commit(why) | Self::Search(why) => Error::failed(why),
            Self::Interrupted => Error {
                exit: interrupt.signal().unwrap_or(Exit::Signal(2)),
                message: format!("interrupted after {blocks} blocks"),
            },
        }
    }
}

/// Returns the pattern of the figure, if it is one that the command prints.
///
/// # Errors
///
/// It is no regular expression.
pub(super) fn patterns(printed: Option<&String>) -> Result<Vec<Pattern>, Error> {
    let pattern = |regex: &String| {
        Pattern::new(&Printed {
            regex: regex.clone(),
            unit: "1".to_owned(),
            better: Better::Lower,
        })
    };
    let patterns: Result<_, String> = printed.into_iter().map(pattern).collect();
    patterns.map_err(Error::usage)
}

/// Returns the name of the figure.
pub(super) fn metric(patterns: &[Pattern]) -> String {
    match patterns {
        [] => metrics()[0].name.clone(),
        [first, ..] => first.metric.name.clone(),
    }
}

/// A run of an arm.
fn job<'a>(workload: &'a Workload, arm: &'a str, timeout: Duration) -> Job<'a> {
    Job {
        experiment: BISECT,
        workload,
        arm,
        block: 0,
        seed: 0,
        operations: 1,
        exact: false,
        padding: 0,
        timeout,
    }
}
