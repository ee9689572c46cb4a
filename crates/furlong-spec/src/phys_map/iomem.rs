//! `/proc/iomem`: lines `START-LAST : NAME` in hexadecimal, indented by two blanks a level.
//!
//! Every range nested within memory is memory: the kernel lists its own image and its reservations
//! there, and has page descriptors for them. Memory nested within a device, or within memory of
//! another kind, was added by a driver. A bridge with a closed window is listed at `0-0`.

use furlong::addr::{Address, Extent, PhysAddr};

use super::fault::{Fault, MapError};
use super::kind::Kind;
use super::map::{Entry, MemoryMap};
use super::number::{hexadecimal, inclusive};
use super::text::lines;
use crate::fault::shortened;

/// The expected form of a line, for error messages.
const WANTED: &str = "START-LAST : NAME";

/// A line.
struct Resource<'a> {
    line: usize,
    indent: usize,
    start: u64,
    last: u64,
    name: &'a str,
}

/// A range whose end has not been reached.
struct Open {
    line: usize,
    indent: usize,
    extent: Extent<PhysAddr>,
    kind: Kind,
}

/// The state of reading. `entries` covers everything below `from`.
#[derive(Default)]
struct Reader {
    open: Vec<Open>,
    /// Line of the range closed last, at any depth.
    closed: usize,
    from: u64,
    entries: Vec<Entry>,
}

/// True if the line is one of `/proc/iomem`.
pub(super) fn is_one(line: &str) -> bool {
    resource(0, line).is_ok()
}

/// Reads all lines.
pub(super) fn read(text: &str) -> Result<MemoryMap, MapError> {
    let mut resources = Vec::new();
    for (line, text) in lines(text) {
        resources.push(resource(line, text).map_err(|fault| MapError::at(line, fault))?);
    }
    let Some(first) = resources.first() else {
        return Err(MapError::whole(Fault::Empty));
    };
    if resources.iter().all(Resource::is_closed_window) {
        return Err(MapError::at(first.line, Fault::Zeros));
    }
    let mut reader = Reader::default();
    for one in resources.iter().filter(|one| !one.is_closed_window()) {
        reader
            .take(one)
            .map_err(|fault| MapError::at(one.line, fault))?;
    }
    reader.close(0);
    MemoryMap::new(reader.entries).map_err(MapError::whole)
}

fn resource(line: usize, text: &str) -> Result<Resource<'_>, Fault> {
    let syntax = || Fault::Syntax {
        found: shortened(text),
        wanted: WANTED,
    };
    let rest = text.trim_start();
    let (range, name) = rest.split_once(" : ").ok_or_else(syntax)?;
    let (start, last) = range.split_once('-').ok_or_else(syntax)?;
    let (start, last) = (hexadecimal(start.trim())?, hexadecimal(last.trim())?);
    Ok(Resource {
        line,
        indent: text.len() - rest.len(),
        start,
        last,
        name: name.trim(),
    })
}

impl Resource<'_> {
    /// True for `0-0`: a window without addresses, or any range if the reader is not root.
    fn is_closed_window(&self) -> bool {
        (self.start, self.last) == (0, 0)
    }
}

impl Reader {
    fn take(&mut self, one: &Resource<'_>) -> Result<(), Fault> {
        let extent = inclusive(one.start, one.last)?;
        self.close(one.indent);
        let own = Kind::from_resource(one.name);
        let (outer, kind) = match self.open.last() {
            None => (None, own.unwrap_or(Kind::Device)),
            Some(outer) if outer.extent.intersection(&extent) != Some(extent) => {
                return Err(Fault::Outside { outer: outer.line });
            }
            Some(outer) => (Some(outer.kind), nested(outer.kind, own)),
        };
        if extent.start().raw() < self.from {
            return Err(Fault::Overlap { other: self.closed });
        }
        if let Some(outer) = outer {
            self.emit_to(extent.start().raw(), outer);
        }
        self.from = extent.start().raw();
        self.open.push(Open {
            line: one.line,
            indent: one.indent,
            extent,
            kind,
        });
        Ok(())
    }

    /// Closes all open ranges with this indentation or more.
    fn close(&mut self, indent: usize) {
        while let Some(open) = self.open.pop_if(|open| open.indent >= indent) {
            // No overflow: addresses are narrower than 64 bits.
            self.emit_to(open.extent.last().raw() + 1, open.kind);
            self.closed = open.line;
        }
    }

    /// Adds an entry of `kind` from the last border to `end`.
    fn emit_to(&mut self, end: u64, kind: Kind) {
        let extent = Extent::from_end(PhysAddr::new(self.from), PhysAddr::new(end));
        let node = None;
        self.entries
            .extend(extent.map(|extent| Entry { extent, kind, node }));
        self.from = end;
    }
}

/// The kind of a range nested within another.
fn nested(outer: Kind, own: Option<Kind>) -> Kind {
    match own {
        _ if outer.is_allocatable() => outer,
        Some(Kind::Usable) => Kind::Plugged,
        Some(own) => own,
        None => outer,
    }
}

#[cfg(test)]
mod tests {
    use super::{Address, Kind, read};
    use crate::phys_map::fault::refuses;

    fn list(text: &str) -> Vec<(u64, u64, Kind)> {
        let map = read(text).unwrap();
        let one = |e: &super::Entry| (e.extent.start().raw(), e.extent.last().raw(), e.kind);
        map.entries().iter().map(one).collect()
    }

    #[test]
    fn the_kernel_image_and_what_is_kept_within_memory_is_memory() {
        let text = "00200000-f7ffffff : System RAM\n  02080000-0324ffff : Kernel code\n  \
                    3bfff000-3fffefff : reserved\nf8000000-f9ffffff : axi-base\n";
        let device = (0xf800_0000, 0xf9ff_ffff, Kind::Device);
        assert_eq!(list(text), [(0x20_0000, 0xf7ff_ffff, Kind::Usable), device]);
    }

    #[test]
    fn memory_within_a_device_was_plugged() {
        let text = "100-1ff : Persistent Memory\n  100-17f : namespace0.0\n  180-1ff : dax0.0\n    \
                    190-1af : System RAM (kmem)\n200-2ff : virtio0\n  220-23f : System RAM\n  \
                    240-25f : System RAM (virtio_mem)\n    248-24f : reserved\n";
        let expected = [
            (0x100, 0x18f, Kind::Persistent),
            (0x190, 0x1af, Kind::Plugged),
            (0x1b0, 0x1ff, Kind::Persistent),
            (0x200, 0x21f, Kind::Device),
            (0x220, 0x25f, Kind::Plugged),
            (0x260, 0x2ff, Kind::Device),
        ];
        assert_eq!(list(text), expected);
    }

    #[test]
    fn what_a_device_holds_in_reserve_is_reserved() {
        let text = "00-ff : PCI Bus 0000:00\n  10-1f : Reserved\n    18-1f : pnp 00:03\n";
        let expected = [
            (0, 0xf, Kind::Device),
            (0x10, 0x1f, Kind::Reserved),
            (0x20, 0xff, Kind::Device),
        ];
        assert_eq!(list(text), expected);
    }

    #[test]
    fn closed_windows_are_passed_over_and_zeros_alone_are_named() {
        let text = "00000000-00000fff : Reserved\n00000000-00000000 : PCI Bus 0000:00\n\
                    00001000-0009ffff : System RAM\n  00000000-00000000 : PCI Bus 0000:00\n";
        assert_eq!(list(text).len(), 2);
        let zeros = "# taken by nobody\n00000000-00000000 : System RAM\n  00000000-00000000 : a\n";
        refuses(read, &[(zeros, "2 Zeros")]);
    }

    #[test]
    fn a_listing_that_is_indented_as_a_whole_is_read() {
        assert_eq!(
            list("   0-f : System RAM\n     4-7 : Kernel code\n   10-1f : reserved\n").len(),
            2
        );
    }

    #[test]
    fn lost_indentation_and_lost_order_are_named() {
        let texts = [
            (
                "0-ff : System RAM\n10-1f : Kernel code\n",
                "2 Overlap { other: 1 }",
            ),
            ("100-1ff : a\n0-ff : b\n", "2 Overlap { other: 1 }"),
            (
                "0-ff : a\n  10-1f : b\n  18-2f : c\n",
                "3 Overlap { other: 2 }",
            ),
            ("10-ff : a\n  20-100 : b\n", "2 Outside { outer: 1 }"),
            ("10-ff : a\n  8-1f : b\n", "2 Outside { outer: 1 }"),
        ];
        refuses(read, &texts);
    }

    #[test]
    fn malformed_lines_are_named() {
        let texts = [
            ("\n0-ff System RAM\n", "2 Syntax"),
            ("0ff : System RAM\n", "1 Syntax"),
            ("0-fg : a\n", "1 Number"),
            ("f-e : a\n", "1 Reversed"),
            ("0-1ffffffffffffffff : a\n", "1 LargeNumber"),
            ("0-1fffffffffffff : a\n", "1 BeyondWidth"),
            ("# nothing\n", "0 Empty"),
        ];
        refuses(read, &texts);
    }
}
