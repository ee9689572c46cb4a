//! Which counters were asked for, besides what the arms themselves measure.
#![forbid(unsafe_code)]

use serde::{Deserialize, Serialize};

use super::callgrind::Callgrind;
use super::instructions;
use super::interrupt::Interrupt;
use super::pmu::{EVENTS, Event};
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
    /// The processor's own counters, system calls and migrations, of whole commands.
    Hw,
    /// Instructions under callgrind, in a pass of their own.
    Callgrind,
    /// The same, with the misses of simulated caches, of whole commands.
    Cachesim,
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
        Counters::Hw | Counters::Cachesim => Err(Error::usage(
            "--counters hw and cachesim count whole commands: use them with `furlong compare`, or \
             --counters callgrind here",
        )),
    }
}

/// The counters of processor and kernel that were asked for and are there, and what is to be said
/// of the others.
///
/// # Errors
///
/// None of those that were asked for is there.
pub fn events(counters: Counters) -> Result<(Vec<&'static Event>, Vec<String>), Error> {
    let (mut there, mut notes) = (vec![], vec![]);
    if counters != Counters::Hw {
        return Ok((there, notes));
    }
    for event in &EVENTS {
        match event.missing() {
            None => there.push(event),
            Some(why) => notes.push(format!("no {}: {why}", event.metric)),
        }
    }
    if there.is_empty() {
        let why = notes.first().map_or("", String::as_str);
        return Err(Error::usage(format!(
            "--counters hw: nothing can be counted here: {why}"
        )));
    }
    Ok((there, notes))
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
        Counters::Auto | Counters::None | Counters::Hw | Counters::Cachesim => Ok(vec![]),
        Counters::Callgrind => Ok(vec![instructions::of_samples(profile, interrupt.clone())?]),
    }
}
