//! What can be wrong with a map or a recording, and how it is said: the file, the line, what to do.
#![forbid(unsafe_code)]

use std::{fmt, io};

use super::PHYS_BITS;

/// So much of a line is shown in a message.
const SHOWN_CHARS: usize = 48;

/// Why a file gives no map or no recording.
#[derive(Debug)]
pub struct MapError {
    /// The file.
    pub name: String,
    /// The line, counted from one, where there is one.
    pub line: Option<usize>,
    /// What is wrong with it.
    pub fault: Fault,
}

/// What is wrong with a file.
#[derive(Debug)]
pub enum Fault {
    /// It cannot be opened or read.
    Open(io::Error),
    /// It is a directory, but not of a firmware map.
    Directory,
    /// More bytes than a map can have.
    Large {
        /// So many would be read.
        limit: u64,
    },
    /// A NUL byte: no text.
    Binary,
    /// A devicetree in its binary form.
    CompiledTree,
    /// Nothing but blanks and comments, or nothing at all.
    Empty,
    /// None of the known forms.
    UnknownForm,
    /// The form is known, but no entry of it is there.
    NoEntry {
        /// What there should be.
        wanted: &'static str,
    },
    /// All addresses are 0.
    Zeros,
    /// A line of another form.
    Syntax {
        /// The line, shortened.
        found: String,
        /// What should be there.
        wanted: &'static str,
    },
    /// A number with other characters in it.
    Number {
        /// The word, shortened.
        word: String,
    },
    /// A number of more than 64 bits, or of more than its place holds.
    LargeNumber {
        /// The word, shortened.
        word: String,
        /// So many bits fit.
        bits: u32,
    },
    /// The last address is below the first.
    Reversed {
        /// The first.
        start: u64,
        /// The last.
        last: u64,
    },
    /// A range that begins where it ends.
    Hollow {
        /// There.
        start: u64,
    },
    /// Beyond what a physical address can be.
    BeyondWidth {
        /// The address, which may need 65 bits.
        address: u128,
    },
    /// A type that nobody has heard of.
    UnknownKind {
        /// The word, shortened.
        word: String,
    },
    /// A range that begins before another one has ended.
    Overlap {
        /// The line of the other.
        other: usize,
    },
    /// A range that leaves the one under which it is indented.
    Outside {
        /// The line of the outer one.
        outer: usize,
    },
    /// The same memory belongs to two nodes.
    TwoNodes {
        /// The line with the other node.
        other: usize,
    },
    /// An entry that lacks a part, or has it twice.
    Part {
        /// Which entry.
        entry: String,
        /// What about it.
        what: &'static str,
    },
    /// Cells of a devicetree that do not come in whole entries.
    Cells {
        /// How many there are.
        found: usize,
        /// Of one address.
        address: usize,
        /// Of one size.
        size: usize,
    },
}

/// Line and fault of a file that is refused, for the tests of the readers.
#[cfg(test)]
pub(super) fn refused<T: fmt::Debug>(outcome: Result<T, MapError>) -> (Option<usize>, Fault) {
    let error = outcome.expect_err("it is refused");
    (error.line, error.fault)
}

impl MapError {
    /// `fault` in a line of a file that [`MapError::named`] has still to name.
    pub(super) fn at(line: usize, fault: Fault) -> MapError {
        MapError {
            name: String::new(),
            line: Some(line),
            fault,
        }
    }

    /// `fault` in a file as a whole, likewise.
    pub(super) fn whole(fault: Fault) -> MapError {
        MapError {
            name: String::new(),
            line: None,
            fault,
        }
    }

    /// The same in the file `name`.
    pub(super) fn named(mut self, name: &str) -> MapError {
        if self.name.is_empty() {
            self.name = shown(name, usize::MAX);
        }
        self
    }
}

impl fmt::Display for MapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.name)?;
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        write!(f, "{}", self.fault)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Open(error) => write!(f, "cannot be read: {error}"),
            Fault::Directory => {
                f.write_str("is a directory; name a file, or /sys/firmware/memmap itself")
            }
            Fault::Large { limit } => write!(f, "has more than {limit} bytes; none has so many"),
            Fault::Binary => f.write_str("holds a NUL byte; name a text file"),
            Fault::CompiledTree => {
                f.write_str("is a compiled devicetree; print it with `dtc -I dtb -O dts` first")
            }
            Fault::Empty => f.write_str("is empty, but for blanks and comments"),
            Fault::UnknownForm => f.write_str(
                "is no memory map that is known here: /proc/iomem, /sys/firmware/memmap, a kernel \
                 log, a SeaBIOS log, a devicetree, furlong.map/1",
            ),
            Fault::NoEntry { wanted } => write!(f, "has no {wanted}"),
            Fault::Zeros => f.write_str(
                "every address is 0, as the kernel shows them to all but root; read it as root",
            ),
            Fault::Syntax { found, wanted } => write!(f, "`{found}`: expected {wanted}"),
            Fault::Number { word } => write!(f, "`{word}` is not a number"),
            Fault::LargeNumber { word, bits } => write!(f, "`{word}` does not fit in {bits} bits"),
            Fault::Reversed { start, last } => {
                write!(
                    f,
                    "the range ends at {last:#x}, before its start {start:#x}"
                )
            }
            Fault::Hollow { start } => write!(f, "the range at {start:#x} is empty"),
            Fault::BeyondWidth { address } => write!(
                f,
                "{address:#x} is beyond the {PHYS_BITS} bits of a physical address"
            ),
            Fault::UnknownKind { word } => write!(f, "`{word}` is not a known type of memory"),
            Fault::Overlap { other } => write!(
                f,
                "the range begins before that of line {other} has ended; keep the order and the \
                 indentation of the source"
            ),
            Fault::Outside { outer } => write!(
                f,
                "the range leaves that of line {outer}, under which it is indented"
            ),
            Fault::TwoNodes { other } => {
                write!(f, "gives memory to another node than line {other} does")
            }
            Fault::Part { entry, what } => write!(f, "entry {entry} {what}"),
            Fault::Cells {
                found,
                address,
                size,
            } => write!(
                f,
                "{found} cells are no whole number of entries with {address} for the address and \
                 {size} for the size; #address-cells and #size-cells of the node above say how many"
            ),
        }
    }
}

impl std::error::Error for MapError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.fault {
            Fault::Open(error) => Some(error),
            _ => None,
        }
    }
}

/// The beginning of a text, safe to show on a terminal.
pub(super) fn shortened(text: &str) -> String {
    shown(text.trim(), SHOWN_CHARS)
}

fn shown(text: &str, chars_max: usize) -> String {
    let mut safe = String::new();
    for (at, c) in text.chars().enumerate() {
        if at == chars_max {
            safe.push_str("..");
            break;
        }
        if c.is_control() {
            safe.extend(c.escape_default());
        } else {
            safe.push(c);
        }
    }
    safe
}
