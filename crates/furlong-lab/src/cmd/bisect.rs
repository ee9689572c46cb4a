//! `furlong bisect`: the commit that changed a figure, by Bayes' rule over all commits between two.

mod answer;
mod bench;
mod node;
mod pair;

use std::path::PathBuf;
use std::process::ExitCode;

use super::ab::repository::Repository;
use crate::error::{Error, Exit};
use crate::fleet::Nodes;
use crate::measure::interrupt::Interrupt;
use crate::options::{Settings, Talk, percent, seconds};
use crate::report::Targets;
use crate::session::new_seed;
use answer::Answer;
use bench::Bench;
use furlong_stats::bisect::{PILOT, Search, State};
use furlong_stats::judge::MARGIN_PCT;
pub(super) use node::work;

/// A range of commits, and the command whose figure changed in it.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Revision before the change
    pub good: String,
    /// Revision after the change
    #[arg(default_value = "HEAD")]
    pub bad: String,
    /// Build each commit by this (sh, in its checkout) [default: cargo build --release]
    #[arg(long, value_name = "COMMAND")]
    pub build: Option<String>,
    /// Command to run in each checkout
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<String>,
    /// Find the figure in the output of the command: a group of this regular expression, or the
    /// whole match; the last match counts [default: the time that the command takes]
    #[arg(long, value_name = "REGEX", allow_hyphen_values = true)]
    pub metric: Option<String>,
    /// Run this (by sh) before every run of the command
    #[arg(short, long, value_name = "COMMAND")]
    pub prepare: Option<String>,
    /// Margin: a change within this many per cent does not matter [default: 1]
    #[arg(long, value_name = "PCT", value_parser = percent, allow_hyphen_values = true)]
    pub margin: Option<f64>,
    /// Begin no further build and no further run after this time, but for the first six blocks
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_hyphen_values = true)]
    #[arg(default_value = "600")]
    pub max_time: f64,
    /// Stop a command that takes longer, as failed [default: no limit]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_hyphen_values = true)]
    pub timeout: Option<f64>,
    /// Count runs that end with an exit code other than 0, or by a signal
    #[arg(short, long)]
    pub ignore_failure: bool,
    /// Seed of the order in every block [default: a random one]
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,
    /// Write the figures as JSON, whose field `schema` names its form; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Amount of messages.
    #[command(flatten)]
    pub talk: Talk,
    /// Place of measurement.
    #[command(flatten)]
    pub nodes: Nodes,
}

const EXAMPLES: &str = "\
Examples:
  furlong bisect v1.2 --margin 5 -- ./target/release/tool big.txt
  furlong bisect v1.2 v1.3 --build 'make -j2' --max-time 60 -- ./tool big.txt
  furlong bisect v1.2 --margin 5 --on slurm -- ./target/release/tool big.txt

The commits are those between GOOD and BAD along first parents, so a merge counts as one. Each that
is measured is built in a checkout in the cache. It runs in blocks with GOOD, in random order. The
next commit is the one from which most is learned in a second, its build counted. A commit that
cannot be built or run is left out, and stays a candidate.

With --on slurm, the blocks run on an exclusive node each time, and the builds here. Every node must
see furlong and its cache (XDG_CACHE_HOME) by the same paths.

It ends when one commit has 95 % of the probability, when no commit can tell the others apart, or
when the time is over. Which commit was it? All that together have 95 % are named.";

/// Searches the commit.
///
/// # Errors
///
/// Unknown revisions, GOOD or BAD that cannot be built or run, a command that fails now and then.
pub fn run(args: &Args) -> Result<ExitCode, Error> {
    let settings = Settings::of_here()?;
    let voice = args.talk.voice(&settings);
    let targets = Targets {
        json: args.json.clone(),
        ..Targets::default()
    };
    targets.check()?;
    args.nodes.check()?;
    let repository = Repository::here()?;
    let range = repository.range(&args.good, &args.bad, voice)?;
    let seed = args.seed.or(settings.seed).map_or_else(new_seed, Ok)?;
    let interrupt = Interrupt::listen()?;
    let mut bench = Bench::new(args, &repository, &range, (seed, voice), &interrupt)?;
    let margin_pct = args.margin.or(settings.margin).unwrap_or(MARGIN_PCT);
    let mut search = Search::new(range.commits.len(), (margin_pct / 100.0).ln_1p());
    let mut ended = Ok(());
    let (belief, state) = loop {
        let (belief, state) = search.state(bench.cost());
        // However long the builds took.
        let goes_on = ended.is_ok() && (search.blocks() < PILOT || !bench.is_over());
        ended = match (state, bench.hasty(&belief, &search)) {
            (State::Open(next), _) if goes_on => bench.measure(next, &mut search),
            (_, Some(commits)) if goes_on => bench.settle(&commits, &mut search),
            _ => break (belief, state),
        }
    };
    // Less than a pilot says nothing.
    if ended.is_err() && search.blocks() < PILOT {
        return ended.map(|()| Exit::Done.into());
    }
    let answer = Answer {
        args,
        margin_pct,
        range: &range,
        belief: &belief,
        state,
        search: &search,
        bench: &bench,
        seed,
    };
    // A search that was interrupted, or that failed, tells what it has measured by then.
    answer.publish(voice)?;
    ended?;
    Ok(Exit::Done.into())
}
