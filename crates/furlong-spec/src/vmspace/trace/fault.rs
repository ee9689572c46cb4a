//! Faults of traces, and their messages.

use std::{fmt, io};

use crate::fault::Located;

/// The reason that the rest of a file has no events.
pub type TraceError = Located<Fault>;

/// A fault of a file.
#[derive(Debug)]
pub enum Fault {
    /// The file cannot be opened or read.
    Open(io::Error),
    /// The file is a directory.
    Directory,
    /// The file is compressed, and the rest cannot be decompressed.
    Unpack(io::Error),
    /// The file has too many lines.
    Large {
        /// The maximum number of lines.
        lines: u32,
    },
    /// The first line is not that of a trace.
    Heading {
        /// Beginning of the first line.
        found: String,
    },
    /// The file has no events.
    Empty,
    /// The file is not text.
    NotText,
    /// The last line has no end, because the file was cut off.
    CutOff,
    /// An operation is unknown.
    Unknown {
        /// Beginning of the word.
        word: String,
    },
    /// A field is missing.
    Missing {
        /// Name of the field.
        field: &'static str,
    },
    /// A line continues after its last field.
    More {
        /// Beginning of the first extra word.
        word: String,
    },
    /// A word is not valid in its field.
    Field {
        /// Name of the field.
        field: &'static str,
        /// Beginning of the word.
        word: String,
    },
    /// An event is earlier than the one before it.
    Order {
        /// Its time.
        at_us: u64,
        /// Time of the event before it.
        before_us: u64,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open(error) => write!(f, "cannot be read: {error}"),
            Self::Directory => f.write_str("is a directory; name a trace"),
            Self::Unpack(error) => write!(f, "cannot be unpacked any further: {error}"),
            Self::Large { lines } => write!(f, "there are more than {lines} lines; cut the trace"),
            Self::Heading { found } => {
                write!(f, "`{found}`: a trace begins with `# vmtrace 1`")
            }
            Self::Empty => f.write_str("holds no event"),
            Self::NotText => f.write_str("is no text; a trace is text, or text packed with zstd"),
            Self::CutOff => f.write_str("the line has no end; the file was cut off here"),
            Self::Unknown { word } => {
                write!(f, "`{word}` is no operation; they are x i m u p b r f c e")
            }
            Self::Missing { field } => write!(f, "the {field} is missing"),
            Self::More { word } => write!(f, "`{word}` is behind the last field"),
            Self::Field { field, word } => write!(f, "`{word}` is no {field}"),
            Self::Order { at_us, before_us } => write!(
                f,
                "{at_us} us is earlier than {before_us} us in the line before; keep the order of \
                 time"
            ),
        }
    }
}
