//! The contents of `/proc/PID/maps`, and the contents that the specification expects.
#![forbid(unsafe_code)]

use std::fmt;
use std::fs::File;

use furlong::addr::Address;
use furlong::vmspace::{Flags, Prot};
use furlong_spec::vmspace::Seen;

use super::process::read_again;

/// The object number of the heap.
pub(crate) const HEAP: u32 = 0;
/// The object number of private anonymous memory.
pub(crate) const ANONYMOUS: u32 = 8;

/// A line of the kernel's listing.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Area {
    /// First address.
    pub(crate) start: u64,
    /// The address after its last one.
    pub(crate) end: u64,
    /// Readable, writable, executable, shared.
    pub(crate) kind: [bool; 4],
    /// Offset in its file and the inode number; `None` for private anonymous memory.
    pub(crate) file: Option<(u64, u64)>,
}

impl Area {
    /// Addresses without further properties.
    #[must_use]
    pub(crate) fn free(start: u64, end: u64) -> Self {
        Self {
            start,
            end,
            kind: [false; 4],
            file: None,
        }
    }

    /// True if the area overlaps these addresses.
    #[must_use]
    pub(crate) fn overlaps(&self, start: u64, end: u64) -> bool {
        self.start < end && start < self.end
    }

    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        let (start, end) = words.next()?.split_once('-')?;
        let kind: Vec<char> = words.next()?.chars().collect();
        let offset = u64::from_str_radix(words.next()?, 16).ok()?;
        let inode: u64 = words.nth(1)?.parse().ok()?;
        Some(Self {
            start: u64::from_str_radix(start, 16).ok()?,
            end: u64::from_str_radix(end, 16).ok()?,
            kind: [(0, 'r'), (1, 'w'), (2, 'x'), (3, 's')]
                .map(|(at, yes)| kind.get(at) == Some(&yes)),
            file: (inode != 0).then_some((offset, inode)),
        })
    }
}

impl fmt::Debug for Area {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = |at: usize, yes| if self.kind[at] { yes } else { '-' };
        let kind: String = [(0, 'r'), (1, 'w'), (2, 'x'), (3, 's')]
            .map(|(at, yes)| mark(at, yes))
            .iter()
            .collect();
        write!(f, "{:x}-{:x} {kind} {:x?}", self.start, self.end, self.file)
    }
}

/// Parses all lines.
///
/// # Errors
/// If the listing cannot be read.
pub(crate) fn all(maps: &mut File) -> Result<Vec<Area>, String> {
    let text = read_again(maps)?;
    let parse = |line: &str| Area::parse(line).ok_or_else(|| format!("no area: {line}"));
    text.lines().map(parse).collect()
}

/// The parts of the areas within these addresses.
#[must_use]
pub(crate) fn within(areas: &[Area], start: u64, end: u64) -> Vec<Area> {
    let inside = areas.iter().filter(|area| area.overlaps(start, end));
    let cut = inside.map(|area| Area {
        start: area.start.max(start),
        end: area.end.min(end),
        ..area.clone()
    });
    cut.collect()
}

/// The lines that the kernel should have for these areas of the specification.
///
/// The memory is never touched. So the kernel counts the offsets of private anonymous memory from
/// address 0 even after a move, and merges neighbours with the same flags. The specification keeps
/// the offset of moved memory, as the kernel does for touched memory. Such neighbours are therefore
/// joined here; areas of files are compared unchanged.
#[must_use]
pub(crate) fn expected(areas: &[Seen], inode: impl Fn(u32) -> u64) -> Vec<Area> {
    let mut found: Vec<(Area, &Seen)> = Vec::new();
    for seen in areas {
        let is_of_object = seen.flags.contains(Flags::OBJECT);
        let (start, end) = (seen.extent.start().raw(), seen.extent.last().raw() + 1);
        if let Some((last, before)) = found.last_mut() {
            let is_alike = (before.prot, before.flags) == (seen.prot, seen.flags);
            let is_same = (before.object == HEAP) == (seen.object == HEAP);
            if !is_of_object && is_alike && is_same && last.end == start {
                last.end = end;
                continue;
            }
        }
        let has = |prot: Prot| seen.prot.contains(prot);
        let area = Area {
            start,
            end,
            kind: [
                has(Prot::READ),
                has(Prot::WRITE),
                has(Prot::EXEC),
                seen.flags.contains(Flags::SHARED),
            ],
            file: is_of_object.then(|| (seen.offset, inode(seen.object))),
        };
        found.push((area, seen));
    }
    found.into_iter().map(|(area, _)| area).collect()
}
