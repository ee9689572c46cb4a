//! The debug log of SeaBIOS, the firmware of QEMU's PCs: lines `N: START - END = TYPE NAME`, with
//! an exclusive end. The reader skips all other lines.
#![forbid(unsafe_code)]

use super::fault::{Fault, MapError, shortened};
use super::kind::Kind;
use super::map::{Entry, MemoryMap};
use super::number::{half_open, hexadecimal, number};
use super::text::lines;

const HEADING: &str = "e820 map has ";

/// True if the line begins such a listing or is part of one.
pub(super) fn is_one(line: &str) -> bool {
    line.contains(HEADING) || row(line).is_some_and(|entry| entry.is_ok())
}

/// Reads all listings. The last one is the final map and is the result.
pub(super) fn read(text: &str) -> Result<MemoryMap, MapError> {
    let mut entries = Vec::new();
    for (line, text) in lines(text) {
        if text.contains(HEADING) {
            entries.clear();
        } else if let Some(entry) = row(text) {
            entries.push(entry.map_err(|fault| MapError::at(line, fault))?);
        }
    }
    if entries.is_empty() {
        let wanted = "line of the form `0: START - END = 1 RAM`";
        return Err(MapError::whole(Fault::NoEntry { wanted }));
    }
    MemoryMap::new(entries).map_err(MapError::whole)
}

/// Parses a line that begins with a number, a colon and a hexadecimal word.
fn row(line: &str) -> Option<Result<Entry, Fault>> {
    let (index, said) = line.trim().split_once(": ")?;
    let is_index = !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit());
    let (start, _) = said.split_once(' ')?;
    (is_index && hexadecimal(start).is_ok()).then(|| entry(said))
}

fn entry(said: &str) -> Result<Entry, Fault> {
    let syntax = || Fault::Syntax {
        found: shortened(said),
        wanted: "START - END = TYPE NAME",
    };
    let (range, kind) = said.split_once(" = ").ok_or_else(syntax)?;
    let (start, end) = range.split_once(" - ").ok_or_else(syntax)?;
    let extent = half_open(hexadecimal(start.trim())?, hexadecimal(end.trim())?)?;
    let word = kind.split_whitespace().next().ok_or_else(syntax)?;
    let kind = Kind::from_e820_number(number(word, u64::BITS)?);
    let node = None;
    Ok(Entry { extent, kind, node })
}

#[cfg(test)]
mod tests {
    use super::{Fault, Kind, read};

    const LOG: &str = "SeaBIOS (version rel-1.16.2)\nRamSize: 0x08000000 [cmos]\n\
                       e820 map has 1 items:\n  0: 0000000000000000 - 0000000000100000 = 1 RAM\n\
                       e820 map has 3 items:\n  0: 0000000000000000 - 000000000009fc00 = 1 RAM\n  \
                       1: 000000000009fc00 - 00000000000a0000 = 2 RESERVED\n  \
                       2: 0000000000100000 - 0000000007fe0000 = 1 RAM\nenter handle_19:\n";

    #[test]
    fn the_last_listing_is_the_map() {
        let map = read(LOG).unwrap();
        assert_eq!(map.entries().len(), 3);
        assert_eq!(map.bytes_of(Kind::Usable), 0x9_fc00 + 0x7ee_0000);
    }

    #[test]
    fn malformed_lines_are_named() {
        let of = |from: &str, to: &str| {
            let error = read(&LOG.replace(from, to)).unwrap_err();
            (error.line, error.fault)
        };
        assert!(matches!(of("= 2", ":"), (Some(7), Fault::Syntax { .. })));
        assert!(matches!(of("= 2", "= x"), (Some(7), Fault::Number { .. })));
        let end = "00000000000a0000 =";
        assert!(matches!(of(end, "0 ="), (Some(7), Fault::Reversed { .. })));
        assert!(matches!(
            of(end, "9fc00 ="),
            (Some(7), Fault::Hollow { .. })
        ));
        let error = read("SeaBIOS\n").unwrap_err();
        assert!(matches!(error.fault, Fault::NoEntry { .. }));
    }
}
