//! Trace files, compressed with zstd or not.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::Path;

use ruzstd::decoding::StreamingDecoder;

use super::Event;
use super::fault::{Fault, TraceError};
use super::line::event;
use crate::fault::shortened;

/// The first line of a trace.
pub const HEADING: &str = "# vmtrace 1";

/// The first four bytes of a zstd file.
const PACKED: [u8; 4] = 0xfd2f_b528_u32.to_le_bytes();

/// Maximum length of a line in bytes; real lines are much shorter.
const LINE_BYTES_MAX: u64 = 1 << 16;

/// Maximum number of lines. It is needed because a compressed file may expand greatly.
const LINES_MAX: u32 = 1 << 28;

/// The contents of a file: the events up to its end, or up to the first faulty line.
///
/// If a compressed file is cut off, the text in the compressor's window before the cut is lost.
/// That is up to 8 MiB, unless a smaller window was used.
#[derive(Debug)]
pub struct Trace {
    /// The events, in order of time.
    pub events: Vec<Event>,
    /// The reason that there are no further events.
    pub error: Option<TraceError>,
}

/// Reads the trace in a file.
#[must_use]
pub fn read(path: &Path) -> Trace {
    let name = path.display().to_string();
    let file = File::open(path).and_then(|file| Ok((file.metadata()?.is_dir(), file)));
    match file {
        Ok((false, file)) => parse(&name, file),
        Ok((true, _)) => Trace::none(TraceError::whole(Fault::Directory).named(&name)),
        Err(error) => Trace::none(TraceError::whole(Fault::Open(error)).named(&name)),
    }
}

/// Reads a trace from `source`. `name` is the file's name in errors.
pub fn parse(name: &str, source: impl Read) -> Trace {
    let mut source = BufReader::new(source);
    let is_packed = source
        .fill_buf()
        .is_ok_and(|bytes| bytes.starts_with(&PACKED));
    let mut trace = if is_packed {
        match StreamingDecoder::new(source) {
            Ok(unpacked) => lines(BufReader::new(unpacked), true),
            Err(error) => {
                let error = std::io::Error::other(error.to_string());
                Trace::none(TraceError::whole(Fault::Unpack(error)))
            }
        }
    } else {
        lines(source, false)
    };
    trace.error = trace.error.map(|error| error.named(name));
    trace
}

impl Trace {
    fn none(error: TraceError) -> Self {
        Self {
            events: Vec::new(),
            error: Some(error),
        }
    }
}

fn lines(mut source: impl BufRead, is_packed: bool) -> Trace {
    let mut events = Vec::new();
    let mut number = 0;
    let mut bytes = Vec::new();
    let error = loop {
        let before_us = events.last().map_or(0, |event: &Event| event.at_us);
        match next_line(&mut source, &mut bytes, is_packed) {
            Ok(None) if events.is_empty() => break Some(TraceError::whole(Fault::Empty)),
            Ok(None) => break None,
            Ok(Some(_)) if number == LINES_MAX => {
                break Some(TraceError::at(
                    number as usize,
                    Fault::Large { lines: LINES_MAX },
                ));
            }
            Ok(Some(line)) => {
                number += 1;
                match one(number, line, before_us) {
                    Ok(event) => events.extend(event),
                    Err(fault) => break Some(TraceError::at(number as usize, fault)),
                }
            }
            Err(fault) => break Some(TraceError::at(number as usize + 1, fault)),
        }
    };
    Trace { events, error }
}

/// The next line without its end; `None` after the last one.
fn next_line<'a>(
    source: &mut impl BufRead,
    bytes: &'a mut Vec<u8>,
    is_packed: bool,
) -> Result<Option<&'a str>, Fault> {
    bytes.clear();
    let read = source.take(LINE_BYTES_MAX).read_until(b'\n', bytes);
    read.map_err(|error| match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::NotFound => Fault::Open(error),
        _ if is_packed => Fault::Unpack(error),
        _ => Fault::Open(error),
    })?;
    if bytes.is_empty() {
        return Ok(None);
    }
    let Some(line) = bytes.strip_suffix(b"\n") else {
        return Err(Fault::CutOff);
    };
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let line = std::str::from_utf8(line).map_err(|_| Fault::NotText)?;
    Ok(Some(line))
}

/// The event in a line, if it has one.
fn one(number: u32, line: &str, before_us: u64) -> Result<Option<Event>, Fault> {
    if number == 1 && line.trim_end() != HEADING {
        let found = shortened(line);
        return Err(Fault::Heading { found });
    }
    if line.starts_with('#') || line.is_empty() {
        return Ok(None);
    }
    let event = event(number, line)?;
    if event.at_us < before_us {
        let at_us = event.at_us;
        return Err(Fault::Order { at_us, before_us });
    }
    Ok(Some(event))
}
