//! Which counters were asked for, besides what the arms themselves measure.
#![forbid(unsafe_code)]

use serde::{Deserialize, Serialize};

use super::sampler::Pass;
use crate::error::Error;

/// `--counters`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Counters {
    /// What costs nothing: the arms' own counters.
    #[default]
    Auto,
    /// No counting pass at all: only what is sampled.
    None,
    /// Instructions under callgrind, in a pass of their own.
    Callgrind,
}

/// The passes that were asked for besides the arms' own counters.
///
/// # Errors
///
/// What is missing on this machine, and how to get it.
pub fn passes(counters: Counters) -> Result<Vec<Pass<'static>>, Error> {
    match counters {
        Counters::Auto | Counters::None => Ok(vec![]),
        Counters::Callgrind => Err(Error::usage(
            "this furlong was built without callgrind: leave --counters callgrind out",
        )),
    }
}
