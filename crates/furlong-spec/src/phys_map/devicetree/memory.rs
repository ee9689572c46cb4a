//! Conversion of cells to ranges.
#![forbid(unsafe_code)]

use super::super::fault::{Fault, MapError};
use super::super::kind::Kind;
use super::super::map::{Entry, MemoryMap};
use super::super::number::sized;

/// The number of cells in an address and in a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Widths {
    pub(super) address: usize,
    pub(super) size: usize,
}

impl Default for Widths {
    fn default() -> Widths {
        Widths {
            address: 2,
            size: 1,
        }
    }
}

impl Widths {
    /// Sets a width from the value of `#address-cells` or `#size-cells`.
    pub(super) fn set(&mut self, name: &str, cells: &[u32]) -> Result<(), Fault> {
        let wanted = "one cell of value 1 or 2";
        let [value @ 1..=2] = *cells else {
            return Err(Fault::Syntax {
                found: name.to_string(),
                wanted,
            });
        };
        let value = value as usize;
        match name {
            "#address-cells" => self.address = value,
            _ => self.size = value,
        }
        Ok(())
    }
}

/// A node with a `reg` property.
pub(super) struct Memory {
    /// Line of the `reg`.
    pub(super) line: usize,
    pub(super) widths: Widths,
    pub(super) reg: Vec<u32>,
    pub(super) kind: Kind,
    /// Value of `numa-node-id`.
    pub(super) node: Option<u32>,
}

impl Memory {
    /// The node's ranges. Skips empty ranges, which only the firmware fills in.
    pub(super) fn entries(&self) -> Result<Vec<Entry>, MapError> {
        let Widths { address, size } = self.widths;
        let one = address + size;
        if !self.reg.len().is_multiple_of(one) {
            let found = self.reg.len();
            let fault = Fault::Cells {
                found,
                address,
                size,
            };
            return Err(MapError::at(self.line, fault));
        }
        let filled = self.reg.chunks_exact(one).map(|cells| {
            let (start, bytes) = cells.split_at(address);
            (joined(start), joined(bytes))
        });
        filled
            .filter(|(_, bytes)| *bytes != 0)
            .map(|(start, bytes)| {
                let extent = sized(start, bytes).map_err(|fault| MapError::at(self.line, fault))?;
                Ok(Entry {
                    extent,
                    kind: self.kind,
                    node: self.node,
                })
            })
            .collect()
    }
}

/// The map of all nodes.
pub(super) fn map_of(nodes: &[Memory]) -> Result<MemoryMap, MapError> {
    let mut entries = Vec::new();
    for node in nodes {
        entries.extend(node.entries()?);
    }
    if !entries.iter().any(|entry| entry.kind.is_memory()) {
        let wanted = "node `memory` whose `reg` has bytes; dump the tree of the running machine";
        return Err(MapError::whole(Fault::NoEntry { wanted }));
    }
    MemoryMap::new(entries).map_err(MapError::whole)
}

/// True if a node of this name describes memory.
pub(super) fn is_memory_name(name: &str) -> bool {
    name == "memory" || name.starts_with("memory@")
}

/// The number in one or two cells, the more significant one first.
fn joined(cells: &[u32]) -> u64 {
    cells
        .iter()
        .fold(0, |value, cell| (value << 32) | u64::from(*cell))
}
