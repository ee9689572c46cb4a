//! The lines of a kernel's boot log about memory. These are `BIOS-e820:` in its three historical
//! forms, the SRAT's ranges of nodes, and the early ranges of nodes. The reader skips all other
//! lines. Among those are the kernel's own reservations (`e820: update`), because the result is the
//! firmware's map.
//!
//! Without `BIOS-e820`, as on arm64, the early ranges of nodes are the map.
#![forbid(unsafe_code)]

use furlong::addr::{Extent, PhysAddr};

use super::PHYS_BITS;
use super::fault::{Fault, MapError, shortened};
use super::kind::Kind;
use super::map::{Entry, MemoryMap, NodeRange};
use super::number::{dashed, half_open, hexadecimal, number, sized};
use super::text::lines;

const E820: &str = "BIOS-e820:";
const SRAT: &str = "SRAT: Node ";

/// The range of a node, and the line that contains it.
type Said = (usize, NodeRange);

/// True if the line concerns memory.
pub(super) fn is_one(line: &str) -> bool {
    line.contains(E820) || line.contains(SRAT) || early(line).is_some()
}

/// Reads the lines that concern memory.
pub(super) fn read(text: &str) -> Result<MemoryMap, MapError> {
    let mut entries = Vec::new();
    let mut srat = Vec::new();
    let mut ranges = Vec::new();
    for (line, text) in lines(text) {
        let at = |fault| MapError::at(line, fault);
        if let Some((_, said)) = text.split_once(E820) {
            entries.extend(e820(said.trim()).map_err(at)?);
        } else if let Some((_, said)) = text.split_once(SRAT) {
            srat.extend(affinity(said).map_err(at)?.map(|range| (line, range)));
        } else if let Some((node, said)) = early(text) {
            let extent = bracketed(said).map_err(at)?.0;
            let node = node_number(node).map_err(at)?;
            ranges.push((line, NodeRange { extent, node }));
        }
    }
    let srat = disjoint(srat)?;
    let ranges = disjoint(ranges)?;
    if entries.is_empty() {
        let kind = Kind::Usable;
        entries.extend(ranges.iter().map(|range| Entry {
            extent: range.extent,
            kind,
            node: Some(range.node),
        }));
    }
    if entries.is_empty() {
        let wanted = "line with BIOS-e820 or with a range of a node (`node 0: [mem ..]`)";
        return Err(MapError::whole(Fault::NoEntry { wanted }));
    }
    let nodes = if srat.is_empty() {
        of_the_only_node(&ranges).unwrap_or(ranges)
    } else {
        srat
    };
    let map = MemoryMap::new(entries).map_err(MapError::whole)?;
    Ok(map.with_nodes(&nodes))
}

/// Parses `[mem 0xSTART-0xLAST] TYPE`, `START - END (TYPE)` or `BYTES @ START (TYPE)`; `None` for a
/// gap.
fn e820(said: &str) -> Result<Option<Entry>, Fault> {
    if said.starts_with("[gap ") {
        return Ok(None);
    }
    let (extent, name) = if said.starts_with('[') {
        bracketed(said)?
    } else {
        parenthesised(said)?
    };
    let kind = Kind::from_log(name).ok_or_else(|| Fault::UnknownKind {
        word: shortened(name),
    })?;
    let node = None;
    Ok(Some(Entry { extent, kind, node }))
}

/// Parses `[mem 0xSTART-0xLAST] REST`.
fn bracketed(said: &str) -> Result<(Extent<PhysAddr>, &str), Fault> {
    let inside = said
        .strip_prefix("[mem ")
        .and_then(|rest| rest.split_once(']'));
    let (range, rest) = inside.ok_or_else(|| Fault::Syntax {
        found: shortened(said),
        wanted: "[mem 0xSTART-0xLAST]",
    })?;
    Ok((dashed(range)?, rest.trim()))
}

fn parenthesised(said: &str) -> Result<(Extent<PhysAddr>, &str), Fault> {
    let syntax = || Fault::Syntax {
        found: shortened(said),
        wanted: "[mem 0xSTART-0xLAST] TYPE, START - END (TYPE) or BYTES @ START (TYPE)",
    };
    let (range, rest) = said.split_once('(').ok_or_else(syntax)?;
    let name = rest.strip_suffix(')').ok_or_else(syntax)?;
    let extent = if let Some((start, end)) = range.split_once('-') {
        half_open(hexadecimal(start.trim())?, hexadecimal(end.trim())?)?
    } else {
        let (bytes, start) = range.split_once('@').ok_or_else(syntax)?;
        sized(hexadecimal(start.trim())?, hexadecimal(bytes.trim())?)?
    };
    Ok((extent, name))
}

/// Parses `N PXM M [mem 0xSTART-0xLAST]`. A range for hot-plugged memory may exceed the width of
/// addresses; the part beyond is cut off.
fn affinity(said: &str) -> Result<Option<NodeRange>, Fault> {
    let syntax = || Fault::Syntax {
        found: shortened(said),
        wanted: "SRAT: Node N PXM M [mem 0xSTART-0xLAST]",
    };
    let (node, rest) = said.split_once(' ').ok_or_else(syntax)?;
    let (_, range) = rest.split_once("[mem ").ok_or_else(syntax)?;
    let (range, _) = range.split_once(']').ok_or_else(syntax)?;
    let (start, last) = range.split_once('-').ok_or_else(syntax)?;
    let (start, last) = (hexadecimal(start)?, hexadecimal(last)?);
    let node = node_number(node)?;
    if last < start {
        return Err(Fault::Reversed { start, last });
    }
    let last = last.min((1 << PHYS_BITS) - 1);
    let extent = Extent::from_last(PhysAddr::new(start), PhysAddr::new(last));
    Ok(extent.map(|extent| NodeRange { extent, node }))
}

/// The number and the range in `node N: [mem ..]`. Ignores `node N [mem ..]`, which spans gaps.
fn early(line: &str) -> Option<(&str, &str)> {
    let (before, range) = line.split_once(": [mem ")?;
    let word = before.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = &before[word.len()..];
    let is_early = word.trim_end().ends_with("  node") || word.trim() == "node";
    let range = &line[line.len() - range.len() - "[mem ".len()..];
    (is_early && !number.is_empty()).then_some((number, range))
}

fn node_number(word: &str) -> Result<u32, Fault> {
    let value = number(word.trim(), u32::BITS)?;
    Ok(u32::try_from(value).expect("it has 32 bits at most"))
}

/// The whole address space, if all ranges are of one node. That includes the memory that the kernel
/// took for itself before it listed the ranges.
fn of_the_only_node(ranges: &[NodeRange]) -> Option<Vec<NodeRange>> {
    let node = ranges.first()?.node;
    let all = Extent::from_len(PhysAddr::new(0), 1 << PHYS_BITS)?;
    let is_only = ranges.iter().all(|range| range.node == node);
    is_only.then(|| vec![NodeRange { extent: all, node }])
}

/// The ranges in ascending order. Two nodes that claim the same memory are an error.
fn disjoint(mut said: Vec<Said>) -> Result<Vec<NodeRange>, MapError> {
    said.sort_unstable_by_key(|(line, range)| (range.extent.start(), *line));
    let mut found: Vec<Said> = Vec::new();
    for (line, range) in said {
        match found.last_mut() {
            Some((other, last)) if last.extent.overlaps(&range.extent) => {
                if last.node != range.node {
                    let (first, second) = ((*other).min(line), (*other).max(line));
                    return Err(MapError::at(second, Fault::TwoNodes { other: first }));
                }
                let end = last.extent.last().max(range.extent.last());
                last.extent = Extent::from_last(last.extent.start(), end)
                    .expect("it ends no earlier than it did");
            }
            _ => found.push((line, range)),
        }
    }
    Ok(found.into_iter().map(|(_, range)| range).collect())
}

#[cfg(test)]
mod tests;
