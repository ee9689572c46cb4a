//! Options for the end of a workload, shared by `run` and `compare`.

use serde_json::json;

use crate::model::schedule::{MAX_TIME_S, ScheduledWorkload};
use crate::options::{RESUME, percent, seconds};
use furlong_stats::stopping::{LOOKS, STOPPING, Stopping};

/// Maximum number of blocks with `--early`.
const EARLY_BLOCKS: u32 = 30;

/// Maximum number of blocks with `--until`.
const UNTIL_BLOCKS: u32 = 1000;

/// Conditions under which a workload ends.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Enough {
    /// Stop as soon as the verdict is certain; intervals are widened to allow for repeated looks
    #[arg(long, conflicts_with = "until", conflicts_with = RESUME)]
    pub early: bool,
    /// Go on until the 95 % interval is within this many per cent of the effect; a pilot of ten
    /// blocks estimates the number of blocks
    #[arg(long, value_name = "PCT", value_parser = width, allow_hyphen_values = true)]
    #[arg(conflicts_with = RESUME)]
    pub until: Option<f64>,
    /// Begin no further block of a workload after this time
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_hyphen_values = true)]
    #[arg(conflicts_with = RESUME)]
    pub max_time: Option<f64>,
}

impl Enough {
    /// Returns the default maximum of blocks, if these options decide the end.
    pub fn customary_blocks(&self) -> Option<u32> {
        match self.until {
            Some(_) => Some(UNTIL_BLOCKS),
            None => self.early.then_some(EARLY_BLOCKS),
        }
    }

    /// Returns the rule of these options for a number of blocks.
    pub fn rule(&self, blocks: u32) -> Stopping {
        match self.until {
            Some(half_width_pct) => Stopping::Width { half_width_pct },
            None if self.early => Stopping::Early {
                planned: blocks,
                looks: LOOKS,
            },
            None => Stopping::Planned,
        }
    }

    /// Stores the rule with a workload, so that a stored run is judged by the rule it was measured
    /// with.
    pub fn note(&self, scheduled: &mut ScheduledWorkload, rule: Stopping) {
        let facts = &mut scheduled.facts;
        if rule != Stopping::Planned {
            facts.insert(STOPPING.to_owned(), json!(rule));
        }
        if let Some(max_time_s) = self.max_time {
            facts.insert(MAX_TIME_S.to_owned(), json!(max_time_s));
        }
    }
}

/// Parses a width in per cent, greater than 0.
fn width(text: &str) -> Result<f64, String> {
    percent(text)
        .ok()
        .filter(|pct| *pct > 0.0)
        .ok_or_else(|| "give a percentage above 0, for example 0.5".to_owned())
}
