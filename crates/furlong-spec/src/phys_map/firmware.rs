//! The firmware's map: the directories `/sys/firmware/memmap/N` with the files `start`, `end` (the
//! last address) and `type`, or a text of the same content.
//!
//! Two texts are supported: the output of `grep -r . /sys/firmware/memmap` in any order, and lines
//! of the form `START LAST TYPE`.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::fault::{Fault, MapError, shortened};
use super::kind::Kind;
use super::map::{Entry, MemoryMap};
use super::number::{hexadecimal, inclusive};
use super::text::{bytes_of, lines, text_of};

/// The expected form of a line, for error messages.
const WANTED: &str = "N/start:0x.., N/end:0x.., N/type:.., or START LAST TYPE";

/// The parts of an entry read so far.
#[derive(Default)]
struct Parts {
    /// The line that first names the entry.
    line: usize,
    start: Option<u64>,
    last: Option<u64>,
    kind: Option<Kind>,
}

/// True if the line is one of a text of such a map.
pub(super) fn is_one(line: &str) -> bool {
    field(line).is_some() || columns(line).is_some_and(|(start, ..)| start.starts_with("0x"))
}

/// Reads a text.
pub(super) fn read(text: &str) -> Result<MemoryMap, MapError> {
    let mut parts: BTreeMap<u32, Parts> = BTreeMap::new();
    let mut entries = Vec::new();
    for (line, text) in lines(text) {
        let at = |fault| MapError::at(line, fault);
        if let Some((number, name, value)) = field(text) {
            let entry = parts.entry(number).or_default();
            entry.line = if entry.line == 0 { line } else { entry.line };
            entry.set(number, name, value).map_err(at)?;
        } else {
            entries.push(row(text).map_err(at)?);
        }
    }
    for (number, entry) in parts {
        let line = entry.line;
        let whole = entry.whole(&number.to_string());
        entries.push(whole.map_err(|fault| MapError::at(line, fault))?);
    }
    if entries.is_empty() {
        return Err(MapError::whole(Fault::Empty));
    }
    MemoryMap::new(entries).map_err(MapError::whole)
}

/// True if the directory is a firmware's map.
pub(super) fn is_directory(path: &Path) -> bool {
    path.is_dir() && path.join("0").join("start").is_file()
}

/// Reads the directories.
pub(super) fn read_directory(path: &Path) -> Result<MemoryMap, MapError> {
    let open = |error| MapError::whole(Fault::Open(error)).named(&path.display().to_string());
    let mut entries = Vec::new();
    for inner in fs::read_dir(path).map_err(open)? {
        let folder = inner.map_err(open)?.path();
        let mut parts = Parts::default();
        for name in ["start", "end", "type"] {
            let file = folder.join(name);
            let name_error = |error: MapError| error.named(&file.display().to_string());
            let bytes = bytes_of(&file).map_err(|fault| name_error(MapError::whole(fault)))?;
            let text = text_of(&bytes).map_err(name_error)?;
            let set = parts.set(0, name, text.trim());
            set.map_err(|fault| name_error(MapError::at(1, fault)))?;
        }
        let name = folder.display().to_string();
        let whole = parts.whole(&name);
        entries.push(whole.map_err(|fault| MapError::whole(fault).named(&name))?);
    }
    MemoryMap::new(entries).map_err(MapError::whole)
}

/// The number of an entry, the name of a part, and its value.
fn field(line: &str) -> Option<(u32, &str, &str)> {
    let (path, value) = line.trim_start().split_once(':')?;
    let (folder, name) = path.rsplit_once('/')?;
    let number = folder.rsplit_once('/').map_or(folder, |(_, number)| number);
    let known = ["start", "end", "type"].contains(&name);
    let number = number.parse().ok().filter(|_| known)?;
    Some((number, name, value.trim()))
}

/// The three words of a line. The last one may contain blanks.
fn columns(line: &str) -> Option<(&str, &str, &str)> {
    let (start, rest) = line.trim_start().split_once(char::is_whitespace)?;
    let (last, name) = rest.trim_start().split_once(char::is_whitespace)?;
    Some((start, last, name.trim()))
}

fn row(text: &str) -> Result<Entry, Fault> {
    let (start, last, name) = columns(text).ok_or_else(|| Fault::Syntax {
        found: shortened(text),
        wanted: WANTED,
    })?;
    let extent = inclusive(hexadecimal(start)?, hexadecimal(last)?)?;
    let kind = kind_of(name)?;
    let node = None;
    Ok(Entry { extent, kind, node })
}

fn kind_of(name: &str) -> Result<Kind, Fault> {
    Kind::from_resource(name).ok_or_else(|| Fault::UnknownKind {
        word: shortened(name),
    })
}

impl Parts {
    fn set(&mut self, number: u32, name: &str, value: &str) -> Result<(), Fault> {
        let twice = match name {
            "start" => self.start.replace(hexadecimal(value)?).is_some(),
            "end" => self.last.replace(hexadecimal(value)?).is_some(),
            _ => self.kind.replace(kind_of(value)?).is_some(),
        };
        if twice {
            let entry = number.to_string();
            let what = "has a part twice";
            return Err(Fault::Part { entry, what });
        }
        Ok(())
    }

    fn whole(self, name: &str) -> Result<Entry, Fault> {
        let lacks = |what| Fault::Part {
            entry: name.to_string(),
            what,
        };
        let start = self.start.ok_or_else(|| lacks("has no `start`"))?;
        let last = self.last.ok_or_else(|| lacks("has no `end`"))?;
        let kind = self.kind.ok_or_else(|| lacks("has no `type`"))?;
        let extent = inclusive(start, last)?;
        let node = None;
        Ok(Entry { extent, kind, node })
    }
}

#[cfg(test)]
mod tests {
    use super::{Fault, Kind, read};
    use crate::phys_map::fault::refused;

    #[test]
    fn both_texts_give_the_same_map() {
        let found = "/sys/firmware/memmap/1/end:0x1fff\n/sys/firmware/memmap/1/type:Reserved\n\
                     0/type:System RAM\n./0/start:0x0\nmemmap/0/end: 0xfff\n1/start:0x800\n";
        let rows = "0x800 0x1fff Reserved\r\n 0x0\t0xfff  System RAM\n";
        let map = read(found).unwrap();
        assert_eq!(map, read(rows).unwrap());
        assert_eq!(map.bytes_of(Kind::Usable), 0x800);
        assert_eq!(map.bytes_of(Kind::Reserved), 0x1800);
    }

    #[test]
    fn entries_that_lack_a_part_or_have_it_twice_are_named() {
        let text = "0/start:0x0\n7/type:Reserved\n0/type:Reserved\n0/end:0x1\n7/end:0x1\n";
        assert!(matches!(
            refused(read(text)),
            (
                Some(2),
                Fault::Part {
                    what: "has no `start`",
                    ..
                }
            )
        ));
        assert!(matches!(
            refused(read("0/start:1\n0/start:2\n")),
            (Some(2), Fault::Part { .. })
        ));
    }

    #[test]
    fn malformed_lines_are_named() {
        assert!(matches!(
            refused(read("0/end:0x1\n0/stop:0x1\n")),
            (Some(2), Fault::Syntax { .. })
        ));
        assert!(matches!(
            refused(read("0x0 0x1 System Ram\n")),
            (Some(1), Fault::UnknownKind { .. })
        ));
        assert!(matches!(
            refused(read("0x0 x System RAM\n")),
            (Some(1), Fault::Number { .. })
        ));
        assert!(matches!(
            refused(read("0x2 0x1 Reserved\n")),
            (Some(1), Fault::Reversed { .. })
        ));
        assert!(matches!(
            refused(read("0x0 0x10000000000000 Reserved\n")),
            (Some(1), Fault::BeyondWidth { .. })
        ));
        assert!(matches!(refused(read("")), (None, Fault::Empty)));
    }
}
