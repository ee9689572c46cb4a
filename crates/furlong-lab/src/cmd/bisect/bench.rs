//! Builds of commits, and blocks of their command's runs.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::Args;
use super::node;
use super::pair::{FIRST, Fault, Figures, Measured, Pair, Runner, metric, patterns};
use crate::cmd::ab::command_line;
use crate::cmd::ab::recipe::Recipe;
use crate::cmd::ab::repository::{Built, Range, Repository};
use crate::error::Error;
use crate::fleet::{Awaited, On};
use crate::measure::instructions::SLOWDOWN;
use crate::measure::interrupt::Interrupt;
use crate::record::functions::FUNCTIONS_MAX;
use crate::talk::Voice;
use furlong_stats::attribution::{Attribution, attribution};
use furlong_stats::bisect::{Belief, Cost, Next, PILOT, Search};

/// Longest time, in seconds, for the functions behind a change.
const WHY_S: f64 = 20.0;

/// Seconds of blocks that a commit needs before a conclusion rests on it. Whatever else runs on a
/// machine comes and goes within a few seconds, and blocks of short commands all fall into one
/// moment of it.
const MOMENT_S: f64 = 3.0;

/// Turns of such commits on nodes, where each is a task.
const TURNS: u32 = 3;

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
    fn add(&mut self, began: Instant) {
        self.0.push(began.elapsed().as_secs_f64());
    }

    fn mean_s(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len().max(1) as f64
    }
}

/// A commit that is built, with the command in its checkout and in that of GOOD.
struct Subject {
    runner: Runner,
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
    /// Nodes that measure; none for this machine.
    slurm: Option<Awaited>,
    /// Name of the figure.
    pub(super) metric: String,
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
        let metric = metric(&patterns(args.metric.as_ref())?);
        let slurm = match args.nodes.on {
            On::Local => None,
            On::Slurm => Some(Awaited::new(&args.nodes.slurm)?),
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
            slurm,
            metric,
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

    /// Mean seconds of a block by itself: on a node, without the wait for it.
    fn block_s(&self) -> f64 {
        self.spent.values().sum::<f64>() / self.blocks.len().max(1) as f64
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
        // On a node, all of them are one task.
        let each = match self.slurm {
            Some(_) => next.blocks,
            None => 1,
        };
        for _ in (0..next.blocks).step_by(each.max(1) as usize) {
            // Less than a pilot says nothing.
            if self.is_over() && search.blocks() >= PILOT {
                break;
            }
            let began = Instant::now();
            let measured = self.blocks(next.commit, each)?;
            let block_s = began.elapsed().as_secs_f64() / f64::from(each);
            for Figures {
                good,
                values,
                seconds,
            } in measured.blocks
            {
                search.add(next.commit, good.ln(), values.map(f64::ln));
                let commit = next.commit;
                self.blocks.push(Block {
                    commit,
                    good,
                    values,
                });
                self.times.0.push(block_s);
                *self.spent.entry(commit).or_default() += seconds;
            }
            match measured.fault {
                None => {}
                Some(Fault::Commit(why)) => {
                    return self.leave_out(next.commit, &Error::failed(why), search);
                }
                Some(fault) => return Err(fault.error(self.interrupt, self.blocks.len())),
            }
        }
        Ok(())
    }

    /// Runs blocks of a commit, here or on a node.
    fn blocks(&mut self, commit: usize, count: u32) -> Result<Measured, Error> {
        let first = self.blocks.len() as u32;
        let Some(subject) = self.subjects.get_mut(&commit) else {
            return Err(Error::failed("a commit is measured before it is built"));
        };
        match &self.slurm {
            None => Ok(subject.runner.measure(first, count)),
            Some(slurm) => {
                let pair = subject.runner.pair();
                node::measure(slurm, pair, (first, count), self.interrupt, self.voice)
            }
        }
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
        let all = (MOMENT_S / self.block_s()).ceil() as u32;
        let turns = match self.slurm {
            Some(_) => all.min(TURNS),
            None => all,
        };
        for _ in 0..turns {
            for commit in commits {
                let (commit, blocks) = (*commit, all.div_ceil(turns));
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
        let pair = Pair {
            name: revision.short().to_owned(),
            folders: [self.good.folder.clone(), built.folder.clone()],
            command: command_line(&self.args.command),
            prepare: self.args.prepare.clone(),
            printed: self.args.metric.clone(),
            timeout_s: self.args.timeout,
            ignore_failure: self.args.ignore_failure,
            seed: self.seed,
        };
        Ok(Subject {
            runner: Runner::new(pair, self.interrupt)?,
            _built: built,
        })
    }

    /// Returns the functions behind the change in a commit, and the name of the commit before it
    /// that was measured last. `None` if they cannot be counted, or not within [`WHY_S`].
    pub(super) fn why(&self, commit: usize) -> Option<(String, Attribution)> {
        let run_s = self.block_s() / 3.0;
        if 2.0 * SLOWDOWN * run_s > WHY_S {
            return None;
        }
        let limit = Duration::from_secs_f64(WHY_S);
        let after = &self.subjects.get(&commit)?.runner;
        let before = self.subjects.range(..commit).next_back();
        let (base, name) = match before {
            Some((_, subject)) => (subject.runner.costs(false, limit)?, subject.runner.name()),
            None => (after.costs(true, limit)?, FIRST),
        };
        let found = attribution([&base, &after.costs(false, limit)?]).greatest(FUNCTIONS_MAX);
        Some((name.to_owned(), found))
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
