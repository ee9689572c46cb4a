//! Recordings of address spaces, as arbitrary text.

use std::fmt::Write as _;

use furlong::vmspace::{Custom, Linux, Maple, Rbtree, Space};

use super::{Held, one_line};
use crate::vmspace::trace::{Event, HEADING, Script, Trace, Unwatched, parse, replay};

/// Reads a recording. Any bytes give the events before the first wrong line, and a message of one
/// line about that line. The events read the same after they are written out. Their replay gives
/// the same result on both indices.
///
/// # Errors
/// The promise that is broken.
pub fn vmtrace(bytes: &[u8]) -> Held {
    let Trace { events, error } = parse("trace", bytes);
    if let Some(error) = error {
        one_line("trace", &error)?;
    }
    if events.is_empty() {
        return Ok(());
    }
    reads_as_written(&events)?;
    let script = Script::new(&events);
    let tree = replay::<Space<u32, Custom<Rbtree, Linux>>>(&script, &mut Unwatched);
    let maple = replay::<Space<u32, Custom<Maple, Linux>>>(&script, &mut Unwatched);
    match tree == maple {
        true => Ok(()),
        false => Err(format!("rbtree: {tree:?}\nmaple: {maple:?}")),
    }
}

fn reads_as_written(events: &[Event]) -> Held {
    let mut text = format!("{HEADING}\n");
    for event in events {
        writeln!(text, "{event}").map_err(|error| error.to_string())?;
    }
    let again = parse("copy", text.as_bytes());
    let same = |(one, other): (&Event, &Event)| {
        (one.at_us, one.pid, &one.what) == (other.at_us, other.pid, &other.what)
    };
    let is_same = again.error.is_none()
        && again.events.len() == events.len()
        && events.iter().zip(&again.events).all(same);
    match is_same {
        true => Ok(()),
        false => Err(format!("{text} reads as {again:?}")),
    }
}
