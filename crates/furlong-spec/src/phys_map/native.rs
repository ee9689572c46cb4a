//! The project's own form of maps: a heading, then an entry on each line, half-open and ascending.
//!
//! ```text
//! furlong.map/1
//! 0x0 0x9f000 usable 0
//! 0x9f000 0xa0000 reserved unknown
//! ```

use std::fmt;

use furlong::addr::Address;

use super::fault::{Fault, MapError};
use super::kind::Kind;
use super::map::{Entry, MemoryMap};
use super::number::{half_open, hexadecimal, number};
use super::text::lines;
use crate::fault::shortened;

/// The first line.
pub(super) const HEADING: &str = "furlong.map/1";

/// The word for a node that the source does not name.
pub(super) const UNKNOWN_NODE: &str = "unknown";

/// True if the line is the heading.
pub(super) fn is_one(line: &str) -> bool {
    line.starts_with("furlong.map/")
}

/// Reads a map.
pub(super) fn read(text: &str) -> Result<MemoryMap, MapError> {
    let mut lines = lines(text);
    let (line, heading) = lines.next().ok_or(MapError::whole(Fault::Empty))?;
    if heading != HEADING {
        let found = shortened(heading);
        let wanted = HEADING;
        return Err(MapError::at(line, Fault::Syntax { found, wanted }));
    }
    let mut entries: Vec<Entry> = Vec::new();
    let mut before = line;
    for (line, text) in lines {
        let entry = entry(text).map_err(|fault| MapError::at(line, fault))?;
        let last = entries.last().map(|last| last.extent.last());
        if last.is_some_and(|last| entry.extent.start() <= last) {
            return Err(MapError::at(line, Fault::Overlap { other: before }));
        }
        entries.push(entry);
        before = line;
    }
    MemoryMap::new(entries).map_err(MapError::whole)
}

fn entry(text: &str) -> Result<Entry, Fault> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [start, end, kind, node] = words[..] else {
        return Err(Fault::Syntax {
            found: shortened(text),
            wanted: "START END KIND NODE",
        });
    };
    let extent = half_open(hexadecimal(start)?, hexadecimal(end)?)?;
    let kind = Kind::from_name(kind).ok_or_else(|| Fault::UnknownKind {
        word: shortened(kind),
    })?;
    let node = node_from(node)?;
    Ok(Entry { extent, kind, node })
}

/// Parses a node's number, or `unknown`.
pub(super) fn node_from(word: &str) -> Result<Option<u32>, Fault> {
    if word == UNKNOWN_NODE {
        return Ok(None);
    }
    let value = number(word, u32::BITS)?;
    Ok(Some(u32::try_from(value).expect("it has 32 bits at most")))
}

/// Formats a node for [`node_from`].
pub(super) fn node_name(node: Option<u32>) -> String {
    node.map_or(UNKNOWN_NODE.to_string(), |node| node.to_string())
}

impl fmt::Display for MemoryMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEADING}")?;
        for entry in self.entries() {
            let start = entry.extent.start();
            // No overflow: addresses are narrower than 64 bits.
            let end = entry.extent.last().raw() + 1;
            let node = node_name(entry.node);
            writeln!(f, "{start} {end:#x} {} {node}", entry.kind)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{MemoryMap, read};
    use crate::phys_map::fault::refuses;

    #[test]
    fn what_is_written_is_what_is_read() {
        let text = "furlong.map/1\n0x0 0x9f000 usable 0\n0x9f000 0xa0000 reserved unknown\n\
                    0xffffffffff000 0x10000000000000 plugged 4294967295\n";
        assert_eq!(read(text).unwrap().to_string(), text);
        assert_eq!(read("furlong.map/1\n").unwrap(), MemoryMap::default());
    }

    #[test]
    fn malformed_lines_are_named() {
        refuses(
            read,
            &[("# a\nfurlong.map/2\n", "2 Syntax"), ("", "0 Empty")],
        );
        let lines = [
            ("8 10 usable", "4 Syntax"),
            ("8 10 usable 0 0", "4 Syntax"),
            ("8 10 useable 0", "4 UnknownKind"),
            ("8 10 usable none", "4 Number"),
            ("8 8 usable 0", "4 Hollow"),
            ("8 0 usable 0", "4 Reversed"),
            ("7 10 usable 0", "4 Overlap { other: 3 }"),
            ("8 20000000000000 usable 0", "4 BeyondWidth"),
        ];
        let of = |line: &str| read(&format!("furlong.map/1\n\n0 8 usable 0\n{line}\n"));
        refuses(of, &lines);
    }
}
