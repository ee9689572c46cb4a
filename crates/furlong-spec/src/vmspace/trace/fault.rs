//! What can be wrong with a trace, and how it is said: the file, the line, what to do.
#![forbid(unsafe_code)]

use std::{fmt, io};

/// Why the rest of a file gives no events.
#[derive(Debug)]
pub struct TraceError {
    /// The file.
    pub name: String,
    /// The line, counted from one, where there is one.
    pub line: Option<u32>,
    /// What is wrong with it.
    pub fault: Fault,
}

/// What is wrong with a file.
#[derive(Debug)]
pub enum Fault {
    /// It cannot be opened or read.
    Open(io::Error),
    /// It is a directory.
    Directory,
    /// It is packed, and the rest cannot be unpacked.
    Unpack(io::Error),
    /// More lines than are read.
    Large {
        /// So many are.
        lines: u32,
    },
    /// The first line is not that of a trace.
    Heading {
        /// The first line, shortened.
        found: String,
    },
    /// It has no event.
    Empty,
    /// It is no text.
    NotText,
    /// The last line has no end: the file was cut off.
    CutOff,
    /// An operation that does not exist.
    Unknown {
        /// The word, shortened.
        word: String,
    },
    /// A field that should be there.
    Missing {
        /// Which one.
        field: &'static str,
    },
    /// Words behind the last field.
    More {
        /// The first one, shortened.
        word: String,
    },
    /// A word that is not what the field is.
    Field {
        /// Which one.
        field: &'static str,
        /// The word, shortened.
        word: String,
    },
    /// Earlier than the line before.
    Order {
        /// Its time.
        at_us: u64,
        /// That of the line before.
        before_us: u64,
    },
}

impl TraceError {
    pub(super) fn at(line: u32, fault: Fault) -> Self {
        Self {
            name: String::new(),
            line: Some(line),
            fault,
        }
    }

    pub(super) fn whole(fault: Fault) -> Self {
        Self {
            name: String::new(),
            line: None,
            fault,
        }
    }

    pub(super) fn named(self, name: &str) -> Self {
        Self {
            name: name.chars().filter(|c| !c.is_control()).collect(),
            ..self
        }
    }
}

impl fmt::Display for TraceError {
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

impl std::error::Error for TraceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.fault {
            Fault::Open(error) | Fault::Unpack(error) => Some(error),
            _ => None,
        }
    }
}

/// The beginning of a word, safe to show on a terminal.
pub(super) fn shown(word: &str) -> String {
    let safe = word.chars().filter(|c| !c.is_control());
    safe.take(40).collect()
}
