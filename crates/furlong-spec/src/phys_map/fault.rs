//! Faults of maps and recordings, and their messages.

use std::{fmt, io};

use super::PHYS_BITS;
use crate::fault::Located;

/// The reason that a file cannot be read as a map or a recording.
pub type MapError = Located<Fault>;

/// A fault of a file.
#[derive(Debug)]
pub enum Fault {
    /// The file cannot be opened or read.
    Open(io::Error),
    /// The file is a directory.
    Directory,
    /// The file is larger than any map.
    Large {
        /// The maximum size in bytes.
        limit: u64,
    },
    /// The file contains a NUL byte, so it is not text.
    Binary,
    /// The file has nothing but blanks and comments.
    Empty,
    /// The file has none of the known forms.
    UnknownForm,
    /// All addresses are 0.
    Zeros,
    /// A line is not of the expected form.
    Syntax {
        /// Beginning of the line.
        found: String,
        /// The expected form.
        wanted: &'static str,
    },
    /// A number contains other characters.
    Number {
        /// Beginning of the word.
        word: String,
    },
    /// A number exceeds 64 bits, or the width of its field.
    LargeNumber {
        /// Beginning of the word.
        word: String,
        /// Width of the field in bits.
        bits: u32,
    },
    /// The last address is below the first.
    Reversed {
        /// The first address.
        start: u64,
        /// The last address.
        last: u64,
    },
    /// A range is empty.
    Hollow {
        /// Start and end of the range.
        start: u64,
    },
    /// An address exceeds the width of physical addresses.
    BeyondWidth {
        /// The address, which may need 65 bits.
        address: u128,
    },
    /// A type is unknown.
    UnknownKind {
        /// Beginning of the word.
        word: String,
    },
    /// A range begins before another one ends.
    Overlap {
        /// Line of the other range.
        other: usize,
    },
    /// A range leaves the range under which it is indented.
    Outside {
        /// Line of the outer range.
        outer: usize,
    },
}

/// Checks that each text is refused with this line, 0 for none, and a fault that begins so, for the
/// readers' tests.
#[cfg(test)]
pub(super) fn refuses<T: fmt::Debug>(
    read: impl Fn(&str) -> Result<T, MapError>,
    texts: &[(&str, &str)],
) {
    for (text, expected) in texts {
        let error = read(text).expect_err(text);
        let found = format!("{} {:?}", error.line.unwrap_or(0), error.fault);
        assert!(found.starts_with(expected), "{text:?}: {found}");
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Open(error) => write!(f, "cannot be read: {error}"),
            Fault::Directory => f.write_str("is a directory; name a file"),
            Fault::Large { limit } => write!(f, "has more than {limit} bytes; none has so many"),
            Fault::Binary => f.write_str("holds a NUL byte; name a text file"),
            Fault::Empty => f.write_str("is empty, but for blanks and comments"),
            Fault::UnknownForm => {
                f.write_str("is no memory map that is known here: /proc/iomem, or furlong.map/1")
            }
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
        }
    }
}
