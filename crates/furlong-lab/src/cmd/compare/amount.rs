//! Options for the number of runs.

use serde_json::json;

use crate::cmd::enough::Enough;
use crate::error::Error;
use crate::model::schedule::{ENOUGH_RUNS, EnoughRuns, MIN_BLOCKS, ScheduledWorkload};
use crate::options::{RESUME, Settings};
use furlong_stats::stopping::Stopping;

/// Default number of blocks on a fleet, and least number of runs of a single command.
const BLOCKS: u32 = 10;

/// Default seconds of a comparison.
const ANSWER_S: f64 = 30.0;

/// Most blocks of a comparison without a number of them.
const ANSWER_BLOCKS: u32 = 5000;

/// Most runs of a single command without a number of them.
const ALONE_BLOCKS: u32 = 1000;

/// Seconds that the runs of a single command take together at least.
const ALONE_S: f64 = 3.0;

/// Maximum number of runs.
const RUNS_MAX: u32 = 1_000_000;

/// Number of runs of each command.
#[derive(Debug, clap::Args)]
pub struct Amount {
    /// Runs of each command, or their maximum; a verdict needs 6 [default: until the verdict is
    /// certain, or 30 s have passed and each has had 6; with --early at most 30, with --until at
    /// most 1000; a single command 10 times or more, for at least 3 s]
    #[arg(short = 'r', long, visible_alias = "runs", value_name = "N", value_parser = runs)]
    #[arg(conflicts_with_all = ["min_runs", "max_runs", RESUME])]
    pub blocks: Option<u32>,
    /// Do not end before this many runs of each command
    #[arg(short, long, value_name = "N", value_parser = runs_or_regex, conflicts_with = RESUME)]
    #[arg(allow_hyphen_values = true)]
    pub min_runs: Option<u32>,
    /// Do at most this many runs of each command
    #[arg(short = 'M', long, value_name = "N", value_parser = runs, conflicts_with = RESUME)]
    pub max_runs: Option<u32>,
    /// Run each command this many times before the first run that counts
    #[arg(short, long, value_name = "N", default_value_t = 0, conflicts_with = RESUME)]
    pub warmup: u32,
}

/// The end of a comparison without a number of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Usual {
    /// When the verdict is certain, or the time is over.
    Answer,
    /// After a fixed number of blocks, which nodes share.
    Fleet,
    /// After enough runs of a single command.
    Alone,
}

impl Amount {
    /// Returns the number of blocks, or their maximum, and the rule that ends a workload.
    pub(super) fn rule(
        &self,
        settings: &Settings,
        enough: &Enough,
        usual: Usual,
    ) -> Result<(u32, Stopping), Error> {
        let (min, max) = (self.min_runs.unwrap_or(1), self.max_runs);
        if let Some(max) = max.filter(|max| min > *max) {
            return Err(Error::usage(format!(
                "--min-runs {min} is more than --max-runs {max}: lower it or raise --max-runs"
            )));
        }
        let by_rule = enough.customary_blocks();
        if usual == Usual::Alone && by_rule.is_some() {
            return Err(Error::usage(
                "--early and --until wait for a verdict: give a second command",
            ));
        }
        let exact = max.filter(|max| min == *max);
        if let Some(blocks) = self.blocks.or(exact) {
            return Ok((blocks, enough.rule(blocks)));
        }
        let within = |most: u32| most.min(max.unwrap_or(u32::MAX)).max(min);
        if let Some(most) = by_rule {
            let most = max.or(settings.blocks).unwrap_or(most).max(min);
            return Ok((most, enough.rule(most)));
        }
        if let Some(blocks) = settings.blocks {
            return Ok((within(blocks), Stopping::Planned));
        }
        Ok(match usual {
            Usual::Fleet => (within(BLOCKS), Stopping::Planned),
            Usual::Alone => (within(ALONE_BLOCKS), Stopping::Planned),
            Usual::Answer => {
                let limit_s = enough.max_time.unwrap_or(ANSWER_S);
                (within(ANSWER_BLOCKS), Stopping::Answer { limit_s })
            }
        })
    }

    /// Stores what else decides the end of a workload.
    pub(super) fn note(
        &self,
        scheduled: &mut ScheduledWorkload,
        settings: &Settings,
        usual: Usual,
    ) {
        let mut note = |name: &str, fact| scheduled.facts.insert(name.to_owned(), fact);
        if let Some(min) = self.min_runs {
            note(MIN_BLOCKS, json!(min));
        }
        if usual == Usual::Alone && self.blocks.or(settings.blocks).is_none() {
            let rule = EnoughRuns {
                runs: BLOCKS,
                seconds: ALONE_S,
            };
            note(ENOUGH_RUNS, json!(rule));
        }
    }
}

/// Parses a number of runs.
fn runs(text: &str) -> Result<u32, String> {
    let runs = text.parse().ok();
    let fits = runs.filter(|runs| (1..=RUNS_MAX).contains(runs));
    fits.ok_or_else(|| format!("give a number of runs from 1 to {RUNS_MAX}"))
}

/// Parses the number of `-m`, which used to take an expression.
fn runs_or_regex(text: &str) -> Result<u32, String> {
    runs(text).map_err(|why| format!("{why}; --metric finds a figure in the output"))
}
