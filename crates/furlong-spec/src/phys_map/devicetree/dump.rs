//! A dump of properties, one on each line: `PATH/NAME: BYTES`, with the bytes in hexadecimal, with
//! or without blanks between them. The properties are those of memory nodes and of
//! `reserved-memory` (`reg`, `numa-node-id`), and the cell counts of their parents
//! (`#address-cells`, `#size-cells`).
#![forbid(unsafe_code)]

use std::collections::BTreeMap;

use super::super::fault::{Fault, MapError, shortened};
use super::super::kind::Kind;
use super::super::map::MemoryMap;
use super::super::text::lines;
use super::memory::{Memory, Widths, is_memory_name, map_of};

/// The expected form of a line, for error messages.
const WANTED: &str = "PATH/NAME: BYTES in hexadecimal, four bytes a cell";

/// The line of a property and its cells.
type Property = (usize, Vec<u32>);

/// True if the line is one of such a dump.
pub(in super::super) fn is_one(line: &str) -> bool {
    let name = property(line).and_then(|(path, _)| split(path).1.into());
    let known = ["reg", "#address-cells", "#size-cells"];
    name.is_some_and(|name| known.contains(&name)) && cells(line).is_ok()
}

/// Reads all lines.
pub(in super::super) fn read(text: &str) -> Result<MemoryMap, MapError> {
    let mut properties: BTreeMap<&str, Property> = BTreeMap::new();
    for (line, text) in lines(text) {
        let (path, cells) = cells(text).map_err(|fault| MapError::at(line, fault))?;
        if properties.insert(path, (line, cells)).is_some() {
            let entry = shortened(path);
            let what = "is there twice";
            return Err(MapError::at(line, Fault::Part { entry, what }));
        }
    }
    let mut nodes = Vec::new();
    for (path, (line, reg)) in &properties {
        let (node, "reg") = split(path) else {
            continue;
        };
        let (above, name) = split(node);
        let kind = match split(above).1 {
            "reserved-memory" => Kind::Reserved,
            _ if is_memory_name(name) => Kind::Usable,
            _ => continue,
        };
        nodes.push(Memory {
            line: *line,
            widths: widths(&properties, above)?,
            reg: reg.clone(),
            kind,
            node: numa_node(&properties, node)?,
        });
    }
    map_of(&nodes)
}

fn widths(properties: &BTreeMap<&str, Property>, above: &str) -> Result<Widths, MapError> {
    let mut widths = Widths::default();
    for name in ["#address-cells", "#size-cells"] {
        if let Some((line, cells)) = properties.get(joined(above, name).as_str()) {
            let set = widths.set(name, cells);
            set.map_err(|fault| MapError::at(*line, fault))?;
        }
    }
    Ok(widths)
}

fn numa_node(properties: &BTreeMap<&str, Property>, node: &str) -> Result<Option<u32>, MapError> {
    match properties.get(joined(node, "numa-node-id").as_str()) {
        None => Ok(None),
        Some((_, cells)) if cells.len() == 1 => Ok(Some(cells[0])),
        Some((line, _)) => {
            let found = "numa-node-id".to_string();
            let wanted = "one cell";
            Err(MapError::at(*line, Fault::Syntax { found, wanted }))
        }
    }
}

/// The path of a property, and its cells.
fn cells(line: &str) -> Result<(&str, Vec<u32>), Fault> {
    let syntax = || Fault::Syntax {
        found: shortened(line),
        wanted: WANTED,
    };
    let (path, value) = property(line).ok_or_else(syntax)?;
    let digits: Vec<u32> = value
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| c.to_digit(16))
        .collect::<Option<_>>()
        .ok_or_else(syntax)?;
    if digits.is_empty() || !digits.len().is_multiple_of(8) {
        return Err(syntax());
    }
    let cell = |digits: &[u32]| digits.iter().fold(0, |value, digit| (value << 4) | digit);
    Ok((path, digits.chunks_exact(8).map(cell).collect()))
}

/// The path of a property and its value. The value has no colon, though the path may have one.
fn property(line: &str) -> Option<(&str, &str)> {
    let (path, value) = line.rsplit_once(':')?;
    let path = path.trim();
    let path = path.strip_prefix("./").unwrap_or(path);
    Some((path, value))
}

/// The parts of a path before and after the last `/`.
fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// The path of a node's property. The root of a relative dump has no name.
fn joined(node: &str, name: &str) -> String {
    match node {
        "" => name.to_string(),
        _ => format!("{node}/{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Fault, Kind, read};

    const DUMP: &str = "/proc/device-tree/#address-cells: 00000002\n\
                        /proc/device-tree/#size-cells: 00 00 00 02\n\
                        /proc/device-tree/memory@80000000/reg: 0000000080000000 0000000040000000\n\
                        /proc/device-tree/memory@80000000/numa-node-id: 00000001\n\
                        /proc/device-tree/reserved-memory/#size-cells: 00000001\n\
                        /proc/device-tree/reserved-memory/a@9000/reg: 0000000090000000 00001000\n\
                        /proc/device-tree/serial@9000000/reg: 0000000009000000 0000000000001000\n";

    #[test]
    fn memory_less_what_is_reserved_in_it_is_the_map() {
        let map = read(DUMP).unwrap();
        assert_eq!(map.bytes_of(Kind::Usable), 0x4000_0000 - 0x1000);
        assert_eq!(map.bytes_of(Kind::Reserved), 0x1000);
        assert_eq!(map.entries()[0].node, Some(1));
        let relative = DUMP.replace("/proc/device-tree/", "");
        assert_eq!(read(&relative).unwrap(), map);
        assert_eq!(
            read(&DUMP.replace("/proc/device-tree/", "./")).unwrap(),
            map
        );
    }

    #[test]
    fn cells_that_are_not_said_are_two_and_one() {
        let map = read("memory/reg: 00000000 80000000 00001000\n").unwrap();
        assert_eq!(map.bytes_of(Kind::Usable), 0x1000);
    }

    #[test]
    fn malformed_lines_are_named() {
        let of = |from: &str, to: &str| {
            let error = read(&DUMP.replace(from, to)).unwrap_err();
            (error.line, error.fault)
        };
        let cells = "cells: 00000002";
        assert!(matches!(
            of(cells, "cells: 00000003"),
            (Some(1), Fault::Syntax { .. })
        ));
        assert!(matches!(
            of(cells, "cells: 000002"),
            (Some(1), Fault::Syntax { .. })
        ));
        assert!(matches!(
            of(cells, "cells 00000002"),
            (Some(1), Fault::Syntax { .. })
        ));
        assert!(matches!(
            of(cells, "cells: 0000000g"),
            (Some(1), Fault::Syntax { .. })
        ));
        assert!(matches!(
            of(cells, "cells: 00000001"),
            (
                Some(3),
                Fault::Cells {
                    found: 4,
                    address: 1,
                    size: 2
                }
            )
        ));
        let id = "numa-node-id: 00000001";
        assert!(matches!(
            of(id, "numa-node-id: 0000000100000001"),
            (Some(4), Fault::Syntax { .. })
        ));
        assert!(matches!(
            of("numa-node-id", "reg"),
            (Some(4), Fault::Part { .. })
        ));
        let wide = "0000000080000000 0000000040000000";
        let far = "0010000000000000 0000000000001000";
        assert!(matches!(
            of(wide, far),
            (Some(3), Fault::BeyondWidth { .. })
        ));
        let empty = "0000000080000000 0000000000000000";
        assert!(matches!(of(wide, empty), (None, Fault::NoEntry { .. })));
    }
}
