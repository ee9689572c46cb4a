//! A map: ranges in ascending order, without overlaps.

use std::collections::BTreeMap;

use furlong::addr::{Address, Extent, PhysAddr};
use furlong::check::Check;

use super::fault::Fault;
use super::kind::Kind;
use super::number::within_width;
use super::segment::{Segment, frames_inside};
use crate::fault::faults;

/// A range of addresses with one kind and one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// The range.
    pub extent: Extent<PhysAddr>,
    /// Its kind.
    pub kind: Kind,
    /// The NUMA node that owns it; `None` if the source does not name one.
    pub node: Option<u32>,
}

/// The memory of a machine.
///
/// # Example
/// ```
/// use furlong_spec::phys_map::{Kind, parse};
///
/// let listing = "00000000-0009fbff : System RAM\n0009fc00-000fffff : Reserved\n";
/// let map = parse("iomem", listing.as_bytes()).unwrap();
/// assert_eq!(map.entries()[0].kind, Kind::Usable);
/// assert_eq!(map.segments(12)[0].frames.len(), Some(0x9f));
/// assert_eq!(parse("copy", map.to_string().as_bytes()).unwrap(), map);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryMap {
    /// Ascending, disjoint and within the width of physical addresses. Adjacent entries differ in
    /// kind or node.
    entries: Vec<Entry>,
}

impl MemoryMap {
    /// Makes a map of `entries` in any order. If some overlap, the most restrictive kind applies,
    /// and among entries of that kind the highest node.
    ///
    /// # Errors
    /// An entry beyond the width of physical addresses.
    ///
    /// # Cost
    /// O(n log n).
    pub fn new(entries: impl IntoIterator<Item = Entry>) -> Result<MemoryMap, Fault> {
        let mut borders: Vec<(u64, bool, Entry)> = Vec::new();
        for entry in entries {
            within_width(&entry.extent)?;
            let (start, last) = (entry.extent.start().raw(), entry.extent.last().raw());
            borders.push((start, true, entry));
            // No overflow: addresses are narrower than 64 bits.
            borders.push((last + 1, false, entry));
        }
        // No entry is empty, so each one is opened before it is closed.
        borders.sort_unstable_by_key(|(at, ..)| *at);
        let mut map = MemoryMap::default();
        let mut open: BTreeMap<(Kind, Option<u32>), usize> = BTreeMap::new();
        let mut from = 0;
        for (at, opens, entry) in borders {
            if let Some((&(kind, node), _)) = open.last_key_value() {
                map.append(from, at, kind, node);
            }
            from = at;
            let key = (entry.kind, entry.node);
            let count = open.entry(key).or_default();
            *count = if opens { *count + 1 } else { *count - 1 };
            if *count == 0 {
                open.remove(&key);
            }
        }
        Ok(map)
    }

    /// Appends `start..end`, unless it is empty.
    fn append(&mut self, start: u64, end: u64, kind: Kind, node: Option<u32>) {
        let Some(extent) = Extent::from_end(PhysAddr::new(start), PhysAddr::new(end)) else {
            return;
        };
        let entry = Entry { extent, kind, node };
        if let Some(last) = self
            .entries
            .last_mut()
            .filter(|last| last.continues(&entry))
        {
            last.extent = joined(&last.extent, &entry.extent);
        } else {
            self.entries.push(entry);
        }
    }

    /// All entries in ascending order.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The segments for a table: the whole frames of all allocatable entries, in ascending order,
    /// with pages of `1 << page_shift` bytes.
    #[must_use]
    pub fn segments(&self, page_shift: u32) -> Vec<Segment> {
        let allocatable = self.entries.iter().filter(|e| e.kind.is_allocatable());
        allocatable
            .filter_map(|entry| {
                Some(Segment {
                    frames: frames_inside(&entry.extent, page_shift)?,
                    kind: entry.kind,
                    node: entry.node,
                })
            })
            .collect()
    }
}

impl Entry {
    /// True if `next` begins at the end of this entry and has the same kind and node.
    fn continues(&self, next: &Entry) -> bool {
        let alike = (self.kind, self.node) == (next.kind, next.node);
        alike && self.extent.end() == Some(next.extent.start())
    }
}

/// The union of two adjacent extents.
fn joined(low: &Extent<PhysAddr>, high: &Extent<PhysAddr>) -> Extent<PhysAddr> {
    Extent::from_last(low.start(), high.last()).expect("the second is above the first")
}

faults! {
    /// A broken invariant of a map.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Broken {
        /// An entry begins before its predecessor ends.
        Order {
            /// Start of the later entry.
            start: PhysAddr,
        } => "the entry at {start} begins too early";
        /// Two adjacent entries have the same kind and node.
        Split {
            /// The address between them.
            start: PhysAddr,
        } => "the entry at {start} continues the one before";
        /// An entry exceeds the width of physical addresses.
        Width {
            /// Start of the entry.
            start: PhysAddr,
        } => "the entry at {start} ends beyond the width";
    }
}

impl Check for MemoryMap {
    type Broken = Broken;

    fn check(&self) -> Result<(), Broken> {
        for entry in &self.entries {
            let start = entry.extent.start();
            within_width(&entry.extent).map_err(|_| Broken::Width { start })?;
        }
        for pair in self.entries.windows(2) {
            let start = pair[1].extent.start();
            if start <= pair[0].extent.last() {
                return Err(Broken::Order { start });
            }
            if pair[0].continues(&pair[1]) {
                return Err(Broken::Split { start });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
