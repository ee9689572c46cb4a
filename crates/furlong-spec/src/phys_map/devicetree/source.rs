//! The source of a tree: nodes in braces, and properties that end with a semicolon. The reader
//! skips everything that does not concern memory, so it reads any printed tree.
//!
//! It also reads a part of a tree. The cell counts may then be outside of all nodes.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;

use super::super::fault::{Fault, MapError, shortened};
use super::super::kind::Kind;
use super::super::map::{Entry, MemoryMap};
use super::super::number::{number, sized};
use super::memory::{Memory, Widths, is_memory_name, map_of};
use statement::{Statement, statements};

mod statement;

/// A node that is open. The outermost one is the file.
#[derive(Default)]
struct Node<'a> {
    name: &'a str,
    /// The properties by name, each with its line and its value.
    properties: BTreeMap<&'a str, (usize, &'a str)>,
}

/// True if the line is one of a tree's source.
pub(in super::super) fn is_one(line: &str) -> bool {
    line.contains("/dts-v1/") || line.ends_with('{')
}

/// Reads a tree.
pub(in super::super) fn read(text: &str) -> Result<MemoryMap, MapError> {
    let plain = statement::without_comments(text);
    let mut file = Node::default();
    let mut open: Vec<Node<'_>> = Vec::new();
    let mut nodes = Vec::new();
    let mut reserved = Vec::new();
    let mut last_line = 1;
    for (line, statement) in statements(&plain) {
        last_line = line;
        let at = |fault| MapError::at(line, fault);
        match statement {
            Statement::Open(name) => open.push(Node::named(name)),
            Statement::Close => {
                let node = open.pop().ok_or_else(|| at(unbalanced("}")))?;
                nodes.extend(node.memory(open.last().unwrap_or(&file))?);
            }
            Statement::Property(said) if open.is_empty() => {
                reserved.extend(memreserve(said).map_err(at)?);
                file.set(line, said);
            }
            Statement::Property(said) => {
                let node = open.last_mut().expect("the case before is that of none");
                node.set(line, said);
            }
            Statement::Unfinished(said) => return Err(at(unbalanced(said))),
        }
    }
    if !open.is_empty() {
        return Err(MapError::at(last_line, unbalanced("end of file")));
    }
    let map = map_of(&nodes)?;
    MemoryMap::new(map.entries().iter().copied().chain(reserved)).map_err(MapError::whole)
}

fn unbalanced(found: &str) -> Fault {
    Fault::Syntax {
        found: shortened(found),
        wanted: "`{` and `}` in pairs, and `;` after each property and node",
    }
}

/// Parses `/memreserve/ START BYTES`; `None` for other statements outside of all nodes.
fn memreserve(said: &str) -> Result<Option<Entry>, Fault> {
    let syntax = |wanted| Fault::Syntax {
        found: shortened(said),
        wanted,
    };
    if said.starts_with("#include") {
        return Err(syntax(
            "a tree without #include; let dtc print the compiled one",
        ));
    }
    let Some(rest) = said.strip_prefix("/memreserve/") else {
        return Ok(None);
    };
    let words: Vec<&str> = rest.split_whitespace().collect();
    let [start, bytes] = words[..] else {
        return Err(syntax("/memreserve/ START BYTES"));
    };
    let extent = sized(number(start, u64::BITS)?, number(bytes, u64::BITS)?)?;
    let (kind, node) = (Kind::Reserved, None);
    Ok(Some(Entry { extent, kind, node }))
}

impl<'a> Node<'a> {
    /// A node with this name, which a label may precede.
    fn named(name: &'a str) -> Node<'a> {
        Node {
            name: name.rsplit(':').next().unwrap_or_default().trim(),
            ..Node::default()
        }
    }

    fn set(&mut self, line: usize, said: &'a str) {
        let (name, value) = said.split_once('=').unwrap_or((said, ""));
        self.properties.insert(name.trim(), (line, value.trim()));
    }

    fn says(&self, name: &str, value: &str) -> bool {
        self.properties
            .get(name)
            .is_some_and(|(_, said)| *said == value)
    }

    /// The line and the cells of a property.
    fn cells(&self, name: &str) -> Result<Option<(usize, Vec<u32>)>, MapError> {
        let Some((line, value)) = self.properties.get(name) else {
            return Ok(None);
        };
        let cells = cells(value).map_err(|fault| MapError::at(*line, fault))?;
        Ok(Some((*line, cells)))
    }

    /// The memory that the node describes, once the node is closed.
    fn memory(&self, above: &Node<'_>) -> Result<Option<Memory>, MapError> {
        let is_memory = is_memory_name(self.name) || self.says("device_type", "\"memory\"");
        let kind = match above.name {
            "reserved-memory" if self.properties.contains_key("reusable") => return Ok(None),
            "reserved-memory" => Kind::Reserved,
            _ if is_memory => Kind::Usable,
            _ => return Ok(None),
        };
        let Some((line, reg)) = self.cells("reg")? else {
            return Ok(None);
        };
        if self.says("status", "\"disabled\"") {
            return Ok(None);
        }
        Ok(Some(Memory {
            line,
            widths: above.widths()?,
            reg,
            kind,
            node: self.numa_node()?,
        }))
    }

    /// The numbers of cells that the node's children use.
    fn widths(&self) -> Result<Widths, MapError> {
        let mut widths = Widths::default();
        for name in ["#address-cells", "#size-cells"] {
            if let Some((line, cells)) = self.cells(name)? {
                let set = widths.set(name, &cells);
                set.map_err(|fault| MapError::at(line, fault))?;
            }
        }
        Ok(widths)
    }

    fn numa_node(&self) -> Result<Option<u32>, MapError> {
        match self.cells("numa-node-id")? {
            None => Ok(None),
            Some((_, cells)) if cells.len() == 1 => Ok(Some(cells[0])),
            Some((line, _)) => {
                let found = "numa-node-id".to_string();
                let wanted = "one cell";
                Err(MapError::at(line, Fault::Syntax { found, wanted }))
            }
        }
    }
}

/// Parses cells such as `<1 0x2>, <3>`.
fn cells(value: &str) -> Result<Vec<u32>, Fault> {
    let mut found = Vec::new();
    for group in value.split(',') {
        let inside = group
            .trim()
            .strip_prefix('<')
            .and_then(|rest| rest.strip_suffix('>'));
        let inside = inside.ok_or_else(|| Fault::Syntax {
            found: shortened(value),
            wanted: "cells in angle brackets, such as <0x0 0x80000000>",
        })?;
        for word in inside.split_whitespace() {
            let cell = number(word, u32::BITS)?;
            found.push(u32::try_from(cell).expect("it has 32 bits at most"));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
