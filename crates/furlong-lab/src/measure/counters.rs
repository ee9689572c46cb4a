//! Which counters were asked for, besides what the arms themselves measure.
#![forbid(unsafe_code)]

use serde::{Deserialize, Serialize};

use super::callgrind::Callgrind;
use super::instructions;
use super::interrupt::Interrupt;
use super::sampler::Pass;
use crate::error::Error;
use crate::experiments::Profile;

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

/// Says what is missing on this machine for the counters that were asked for, before anything is
/// measured.
///
/// # Errors
///
/// What it is, and how to get it.
pub fn check(counters: Counters) -> Result<(), Error> {
    match counters {
        Counters::Auto | Counters::None => Ok(()),
        Counters::Callgrind => Callgrind::new()
            .map(drop)
            .map_err(|error| Error::usage(error.to_string())),
    }
}

/// The passes that were asked for besides the arms' own counters.
///
/// # Errors
///
/// As [`check`].
pub fn passes(
    counters: Counters,
    profile: Profile,
    interrupt: &Interrupt,
) -> Result<Vec<Pass<'static>>, Error> {
    match counters {
        Counters::Auto | Counters::None => Ok(vec![]),
        Counters::Callgrind => Ok(vec![instructions::of_samples(profile, interrupt.clone())?]),
    }
}
