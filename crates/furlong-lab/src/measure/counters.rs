//! The requested counters, besides the metrics that the arms measure themselves.

use super::instructions;
use super::interrupt::Interrupt;
use super::launch::callgrind::Callgrind;
use super::launch::pmu::{EVENTS, Event};
use super::sampler::Pass;
use crate::error::Error;
use crate::model::{Counters, Profile};

/// Checks that the requested counters are available on this machine, before anything is measured.
///
/// # Errors
///
/// The missing tool, with a remedy.
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

/// Returns the available events of those that were requested, and notes about the others.
///
/// # Errors
///
/// None of the requested events is available.
pub fn events(counters: Counters) -> Result<(Vec<&'static Event>, Vec<String>), Error> {
    let (mut there, mut notes) = (vec![], vec![]);
    if counters != Counters::Hw {
        return Ok((there, notes));
    }
    for event in &EVENTS {
        match event.missing() {
            None => there.push(event),
            Some(why) => notes.push(format!("{} is not counted: {why}", event.metric)),
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

/// Returns the passes that were requested besides the arms' own counters.
///
/// # Errors
///
/// Those of [`check`].
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
