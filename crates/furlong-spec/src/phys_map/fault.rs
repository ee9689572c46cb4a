//! Faults of maps and recordings, and their messages.

use super::PHYS_BITS;
use crate::fault::{Located, faults};

/// The reason that a file cannot be read as a map or a recording.
pub type MapError = Located<Fault>;

faults! {
    /// A fault of a file.
    #[derive(Debug)]
    pub enum Fault {
        /// The file contains a NUL byte, so it is not text.
        Binary => "holds a NUL byte; name a text file";
        /// The file has nothing but blanks and comments.
        Empty => "is empty, but for blanks and comments";
        /// The file has none of the known forms.
        UnknownForm => "is no memory map that is known here: /proc/iomem, or furlong.map/1";
        /// All addresses are 0.
        Zeros => "every address is 0, as the kernel shows them to all but root; read it as root";
        /// A line is not of the expected form.
        Syntax {
            /// Beginning of the line.
            found: String,
            /// The expected form.
            wanted: &'static str,
        } => "`{found}`: expected {wanted}";
        /// A number contains other characters.
        Number {
            /// Beginning of the word.
            word: String,
        } => "`{word}` is not a number";
        /// A number exceeds 64 bits, or the width of its field.
        LargeNumber {
            /// Beginning of the word.
            word: String,
            /// Width of the field in bits.
            bits: u32,
        } => "`{word}` does not fit in {bits} bits";
        /// The last address is below the first.
        Reversed {
            /// The first address.
            start: u64,
            /// The last address.
            last: u64,
        } => "the range ends at {last:#x}, before its start {start:#x}";
        /// A range is empty.
        Hollow {
            /// Start and end of the range.
            start: u64,
        } => "the range at {start:#x} is empty";
        /// An address exceeds the width of physical addresses.
        BeyondWidth {
            /// The address, which may need 65 bits.
            address: u128,
        } => "{address:#x} is beyond the {PHYS_BITS} bits of a physical address";
        /// A type is unknown.
        UnknownKind {
            /// Beginning of the word.
            word: String,
        } => "`{word}` is not a known type of memory";
        /// A range begins before another one ends.
        Overlap {
            /// Line of the other range.
            other: usize,
        } => "the range begins before that of line {other} has ended; keep the order and the \
            indentation of the source";
        /// A range leaves the range under which it is indented.
        Outside {
            /// Line of the outer range.
            outer: usize,
        } => "the range leaves that of line {outer}, under which it is indented";
    }
}

/// Checks that each text is refused with this line, 0 for none, and a fault that begins so, for the
/// readers' tests.
#[cfg(test)]
pub(super) fn refuses<T: std::fmt::Debug>(
    read: impl Fn(&str) -> Result<T, MapError>,
    texts: &[(&str, &str)],
) {
    for (text, expected) in texts {
        let error = read(text).expect_err(text);
        let found = format!("{} {:?}", error.line.unwrap_or(0), error.fault);
        assert!(found.starts_with(expected), "{text:?}: {found}");
    }
}
