//! When a workload has had enough blocks: the options that `run` and `compare` have in common.
#![forbid(unsafe_code)]

use serde_json::json;

use crate::model::schedule::{Load, MAX_TIME_S};
use crate::options::{percent, seconds};
use furlong_stats::stopping::{STOPPING, Stopping};

/// The most blocks where the verdict may be certain earlier.
const EARLY_BLOCKS: u32 = 30;

/// The most where an interval is to be narrow.
const UNTIL_BLOCKS: u32 = 1000;

/// When a workload has had enough.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Enough {
    /// Stop as soon as the verdict is certain, with intervals that pay for the looks
    #[arg(long, conflicts_with = "until")]
    pub early: bool,
    /// Go on until the 95 % interval is within this many per cent of the effect: a pilot of ten
    /// blocks says how many that takes
    #[arg(long, value_name = "PCT", value_parser = width, allow_hyphen_values = true)]
    pub until: Option<f64>,
    /// Begin no block of a workload when it has taken so long
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_hyphen_values = true)]
    pub max_time: Option<f64>,
}

impl Enough {
    /// Blocks at most, where nobody says how many and these options decide when it ends.
    #[must_use]
    pub fn customary_blocks(&self) -> Option<u32> {
        match self.until {
            Some(_) => Some(UNTIL_BLOCKS),
            None => self.early.then_some(EARLY_BLOCKS),
        }
    }

    /// Notes the rule with a workload, so that a stored run is judged as it was measured.
    pub fn note(&self, load: &mut Load) {
        let stopping = match self.until {
            Some(half_width_pct) => Stopping::Width { half_width_pct },
            None if self.early => Stopping::Early {
                planned: load.blocks,
            },
            None => Stopping::Planned,
        };
        if stopping != Stopping::Planned {
            load.facts.insert(STOPPING.to_owned(), json!(stopping));
        }
        if let Some(max_time_s) = self.max_time {
            load.facts.insert(MAX_TIME_S.to_owned(), json!(max_time_s));
        }
    }
}

/// A width in per cent, which is more than none.
fn width(text: &str) -> Result<f64, String> {
    percent(text)
        .ok()
        .filter(|pct| *pct > 0.0)
        .ok_or_else(|| "give a number of per cent above 0, for example 0.5".to_owned())
}
