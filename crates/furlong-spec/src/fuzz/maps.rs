//! Memory maps and recordings of plugs, as arbitrary text.

use furlong::check::Check;

use super::{Held, one_line};
use crate::phys_map::{Form, MapError, MemoryMap, Recording, parse, parse_as};
use crate::{Bytes, Choices};

/// The name of the text in error messages.
const NAME: &str = "text";

/// Reads text. The first byte selects the reader: a map of a detected form, a map of a given form,
/// or a recording. A text that is accepted keeps its invariants, and reads the same after it is
/// written out; a text that is rejected gives a message of one line.
///
/// # Errors
/// The promise that is broken.
pub fn maps(bytes: &[u8]) -> Held {
    let mut choices = Bytes::new(bytes);
    let way = choices.index(Form::ALL.len() + 2);
    let text = choices.rest();
    match way {
        0 => sound(parse(NAME, text)),
        1 => recorded(text),
        _ => sound(parse_as(Form::ALL[way - 2], NAME, text)),
    }
}

fn sound(read: Result<MemoryMap, MapError>) -> Held {
    let map = match read {
        Ok(map) => map,
        Err(error) => return one_line(NAME, &error),
    };
    map.check().map_err(|broken| format!("{map}: {broken}"))?;
    let again = parse(NAME, map.to_string().as_bytes());
    match again {
        Ok(again) if again == map => {}
        other => return Err(format!("{map} reads as {other:?}")),
    }
    let segments = map.segments(12);
    match segments.iter().find(|one| !one.kind.is_allocatable()) {
        Some(segment) => Err(format!("{segment:?} is no memory to allocate")),
        None => Ok(()),
    }
}

fn recorded(text: &[u8]) -> Held {
    let (sound, error) = Recording::parse_sound_part(NAME, text);
    let again = Recording::parse(NAME, sound.to_string().as_bytes());
    match again {
        Ok(again) if again == sound => {}
        other => return Err(format!("{sound} reads as {other:?}")),
    }
    error.map_or(Ok(()), |error| one_line(NAME, &error))
}
