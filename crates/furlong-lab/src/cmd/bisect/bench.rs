//! Builds of commits, and blocks of their command's runs.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::Args;
use crate::cmd::ab::command_line;
use crate::cmd::ab::recipe::Recipe;
use crate::cmd::ab::repository::{Built, Range, Repository};
use crate::error::Error;
use crate::measure::block_order::BlockOrder;
use crate::measure::commands::comparison::{
    CommandArm, CommandComparison, CommandWorkload, Failures, Rules, Timed,
};
use crate::measure::commands::pattern::{Pattern, Printed};
use crate::measure::instructions::{SLOWDOWN, costs};
use crate::measure::interrupt::Interrupt;
use crate::measure::launch::command::{Commands, Shell, in_shell, metrics};
use crate::measure::launch::launcher::Output;
use crate::measure::sampler::{Job, SampleError, Sampler as _};
use crate::model::Workload;
use crate::model::result::Better;
use crate::record::functions::FUNCTIONS_MAX;
use crate::talk::Voice;
use furlong_stats::attribution::{Attribution, Costs, attribution};
use furlong_stats::bisect::{Belief, Cost, Next, PILOT, Search};

/// Name of a search in the seeds of its orders.
const BISECT: &str = "bisect";

/// Name of the first commit in a block.
const FIRST: &str = "GOOD";

/// Longest time, in seconds, for the functions behind a change.
const WHY_S: f64 = 20.0;

/// Seconds of blocks that a commit needs before a conclusion rests on it. Whatever else runs on a
/// machine comes and goes within a few seconds, and blocks of short commands all fall into one
/// moment of it.
const MOMENT_S: f64 = 3.0;

/// Seconds for a run without a limit: it is stopped by Ctrl-C alone.
const PATIENCE_S: f64 = 1e9;

/// A block of runs: one of GOOD, and two of a commit.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub(super) struct Block {
    /// Number of the commit in its range, from 1.
    pub(super) commit: usize,
    /// The figure of GOOD.
    pub(super) good: f64,
    /// The figures of the commit.
    pub(super) values: [f64; 2],
}

/// Seconds of things of one kind.
#[derive(Default)]
struct Times(Vec<f64>);

impl Times {
    /// Returns the seconds that were added.
    fn add(&mut self, began: Instant) -> f64 {
        let seconds = began.elapsed().as_secs_f64();
        self.0.push(seconds);
        seconds
    }

    fn mean_s(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len().max(1) as f64
    }
}

/// A commit that is built, with the command in its checkout and in that of GOOD.
struct Subject {
    workload: Workload,
    sampler: Timed,
    _built: Built,
}

/// Builds and runs everything of a search.
pub(super) struct Bench<'a> {
    args: &'a Args,
    repository: &'a Repository,
    range: &'a Range,
    seed: u64,
    voice: Voice,
    interrupt: &'a Interrupt,
    began: Instant,
    good: Built,
    pub(super) metric: String,
    patterns: Vec<Pattern>,
    subjects: BTreeMap<usize, Subject>,
    builds: Times,
    times: Times,
    /// All blocks, in their order.
    pub(super) blocks: Vec<Block>,
    /// Seconds of the blocks of each commit.
    spent: BTreeMap<usize, f64>,
    /// Commits that were left out, with the reasons.
    pub(super) left_out: BTreeMap<usize, String>,
}

impl<'a> Bench<'a> {
    /// Builds both ends of the range.
    pub(super) fn new(
        args: &'a Args,
        repository: &'a Repository,
        range: &'a Range,
        (seed, voice): (u64, Voice),
        interrupt: &'a Interrupt,
    ) -> Result<Self, Error> {
        let printed = args.metric.iter().map(|regex| {
            Pattern::new(&Printed {
                regex: regex.clone(),
                unit: "1".to_owned(),
                better: Better::Lower,
            })
        });
        let patterns: Vec<Pattern> = printed.collect::<Result<_, _>>().map_err(Error::usage)?;
        let metric = match &patterns[..] {
            [] => metrics()[0].name.clone(),
            [first, ..] => first.metric.name.clone(),
        };
        let began = Instant::now();
        let good = repository.built(&range.good, Recipe::by(args.build.as_deref()), voice);
        go_on(interrupt)?;
        let good = good?;
        let mut bench = Self {
            args,
            repository,
            range,
            seed,
            voice,
            interrupt,
            began,
            good,
            metric,
            patterns,
            subjects: BTreeMap::new(),
            builds: Times::default(),
            times: Times::default(),
            blocks: vec![],
            spent: BTreeMap::new(),
            left_out: BTreeMap::new(),
        };
        bench.builds.add(began);
        let last = range.commits.len();
        let subject = bench.build(last)?;
        bench.subjects.insert(last, subject);
        Ok(bench)
    }

    /// Mean seconds of a build and of a block so far.
    pub(super) fn cost(&self) -> Cost {
        Cost {
            block_s: self.times.mean_s(),
            build_s: self.builds.mean_s(),
        }
    }

    /// True if the time is over.
    pub(super) fn is_over(&self) -> bool {
        self.seconds() >= self.args.max_time
    }

    /// Seconds since it began.
    pub(super) fn seconds(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    /// Number of commits that were built, GOOD counted.
    pub(super) fn built(&self) -> usize {
        self.builds.0.len()
    }

    /// Measures blocks of a commit. One that cannot be built or run is left out.
    pub(super) fn measure(&mut self, next: Next, search: &mut Search) -> Result<(), Error> {
        if !self.subjects.contains_key(&next.commit) {
            match self.build(next.commit) {
                Ok(subject) => drop(self.subjects.insert(next.commit, subject)),
                Err(error) => return self.leave_out(next.commit, &error, search),
            }
        }
        for _ in 0..next.blocks {
            // Less than a pilot says nothing.
            if self.is_over() && search.blocks() >= PILOT {
                break;
            }
            let began = Instant::now();
            match self.block(next.commit)? {
                Ok(block) => {
                    search.add(next.commit, block.good.ln(), block.values.map(f64::ln));
                    self.blocks.push(block);
                    *self.spent.entry(next.commit).or_default() += self.times.add(began);
                }
                Err(why) => return self.leave_out(next.commit, &Error::failed(why), search),
            }
        }
        Ok(())
    }

    /// Commits that a conclusion rests on: the last one, or those on both sides of the set. `None`
    /// if all of them were measured for longer than a moment.
    pub(super) fn hasty(&self, belief: &Belief, search: &Search) -> Option<Vec<usize>> {
        let set = || belief.candidates.iter().map(|one| one.commit);
        let first = set().min().unwrap_or(search.commits());
        let last = set().max().unwrap_or(search.commits());
        let before = search.measured().filter(|commit| *commit < first).last();
        let behind = search.measured().find(|commit| *commit >= last);
        let sides: Vec<usize> = before.into_iter().chain(behind).collect();
        let spent = |commit: &usize| self.spent.get(commit).copied().unwrap_or_default();
        // Figures that repeat exactly depend on no moment.
        let varies = |block: &Block| block.values[0] != block.values[1];
        (sides.iter().any(|commit| spent(commit) < MOMENT_S) && self.blocks.iter().any(varies))
            .then_some(sides)
    }

    /// Measures these commits in turn until none of them is known from a moment alone.
    pub(super) fn settle(&mut self, commits: &[usize], search: &mut Search) -> Result<(), Error> {
        for _ in 0..(MOMENT_S / self.times.mean_s()).ceil() as u32 {
            for commit in commits {
                let (commit, blocks) = (*commit, 1);
                self.measure(Next { commit, blocks }, search)?;
            }
        }
        Ok(())
    }

    /// Builds a commit, and prepares the command in its checkout and in that of GOOD.
    fn build(&mut self, commit: usize) -> Result<Subject, Error> {
        let began = Instant::now();
        let revision = &self.range.commits[commit - 1].revision;
        let recipe = Recipe::by(self.args.build.as_deref());
        let built = self.repository.built(revision, recipe, self.voice);
        go_on(self.interrupt)?;
        let built = built?;
        self.builds.add(began);
        let line = command_line(&self.args.command);
        let folders = [&self.good.folder, &built.folder];
        let texts = folders.map(|folder| (line.as_str(), Some(folder.as_path())));
        let commands = Commands::new(&texts, &Shell::AsNeeded)?;
        let name = revision.short().to_owned();
        let mut arms = vec![];
        for ((command, folder), arm) in commands.list.into_iter().zip(folders).zip([FIRST, &name]) {
            let prepare = self.args.prepare.as_deref();
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
                name: name.clone(),
                arms,
                ..CommandWorkload::default()
            }],
            events: vec![],
            patterns: self.patterns.clone(),
            same_output: false,
            warmup: 0,
            input: "/dev/null".into(),
            limit: self.args.timeout.map(Duration::from_secs_f64),
            failures: match self.args.ignore_failure {
                true => Failures::Count,
                false => Failures::End,
            },
        };
        let comparison = CommandComparison::new(rules, self.interrupt.clone());
        let comparison = comparison.map_err(|error| Error::failed(error.to_string()))?;
        Ok(Subject {
            workload: Workload {
                name,
                ..Workload::default()
            },
            sampler: Timed(Rc::clone(&comparison)),
            _built: built,
        })
    }

    /// Returns the functions behind the change in a commit, and the name of the commit before it
    /// that was measured last. `None` if they cannot be counted, or not within [`WHY_S`].
    pub(super) fn why(&self, commit: usize) -> Option<(String, Attribution)> {
        let run_s = self.times.mean_s() / 3.0;
        if 2.0 * SLOWDOWN * run_s > WHY_S {
            return None;
        }
        let after = self.subjects.get(&commit)?;
        let before = self.subjects.range(..commit).next_back();
        let (subject, arm) = match before {
            Some((_, subject)) => (subject, subject.workload.name.as_str()),
            None => (after, FIRST),
        };
        let base = self.costs(subject, arm)?;
        let other = self.costs(after, &after.workload.name)?;
        let found = attribution([&base, &other]).greatest(FUNCTIONS_MAX);
        Some((arm.to_owned(), found))
    }

    fn costs(&self, subject: &Subject, arm: &str) -> Option<Costs> {
        let job = job(&subject.workload, arm, self.patience());
        costs(&subject.sampler.0, &job)
    }

    /// Time after which a run has failed.
    fn patience(&self) -> Duration {
        Duration::from_secs_f64(self.args.timeout.unwrap_or(PATIENCE_S))
    }

    /// Runs GOOD once and a commit twice, in random order. The inner error is that of the commit.
    fn block(&mut self, commit: usize) -> Result<Result<Block, String>, Error> {
        let number = self.blocks.len() as u32;
        let patience = self.patience();
        let Some(subject) = self.subjects.get_mut(&commit) else {
            return Err(Error::failed("a commit is measured before it is built"));
        };
        let name = subject.workload.name.clone();
        let order = BlockOrder::new(self.seed, BISECT, &name, number, 3);
        let mut values = [0.0; 3];
        for place in order.order {
            let arm = [FIRST, &name, &name][place];
            let outcome = subject.sampler.sample(&Job {
                seed: order.seed,
                padding: order.padding,
                ..job(&subject.workload, arm, patience)
            });
            let value = outcome.map(|outcome| outcome.metrics.get(&self.metric).copied());
            values[place] = match value {
                Ok(Some(value)) if value > 0.0 && value.is_finite() => value,
                Ok(value) => {
                    let value = value.unwrap_or(f64::NAN);
                    return Err(Error::failed(format!(
                        "{}: {value} in a run of {arm}, and only figures above 0 have a ratio",
                        self.metric
                    )));
                }
                Err(SampleError::Interrupted) => {
                    let exit = self
                        .interrupt
                        .signal()
                        .unwrap_or(crate::error::Exit::Signal(2));
                    let message = format!("interrupted after {number} blocks");
                    return Err(Error { exit, message });
                }
                Err(SampleError::Failed(why) | SampleError::Fatal(why)) => {
                    return match place {
                        0 => Err(Error::failed(why)),
                        _ => Ok(Err(why)),
                    };
                }
            };
        }
        let [good, values @ ..] = values;
        Ok(Ok(Block {
            commit,
            good,
            values,
        }))
    }

    /// Leaves a commit out, unless the search cannot do without it.
    fn leave_out(
        &mut self,
        commit: usize,
        error: &Error,
        search: &mut Search,
    ) -> Result<(), Error> {
        let needed = commit == search.commits() || search.blocks_of(commit) > 0;
        if needed || self.interrupt.signal().is_some() {
            return Err(Error {
                exit: error.exit,
                message: error.message.clone(),
            });
        }
        let why = error.message.lines().next().unwrap_or_default().to_owned();
        self.voice.note(&format!("left out: {why}"));
        self.left_out.insert(commit, why);
        self.subjects.remove(&commit);
        search.skip(commit);
        Ok(())
    }
}

/// Refuses to begin anything after a signal, which has ended a build too.
fn go_on(interrupt: &Interrupt) -> Result<(), Error> {
    interrupt.signal().map_or(Ok(()), |exit| {
        let message = "interrupted".to_owned();
        Err(Error { exit, message })
    })
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
