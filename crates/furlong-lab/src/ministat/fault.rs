//! Errors in a file of numbers. A message has the file, the line and a remedy.
#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::{fmt, io};

use super::input::VALUES_MIN;
use super::number::NumberError;
use super::scanner::WORD_BYTES_MAX;
use crate::error::cause;

/// Characters of a word that a message shows.
const SHOWN_CHARS: usize = 40;

/// The reason why a file gives no values.
#[derive(Debug)]
pub struct InputError {
    /// The file.
    pub name: OsString,
    /// The error.
    pub fault: Fault,
}

/// An error in a file of numbers.
#[derive(Debug)]
pub enum Fault {
    /// It cannot be opened.
    Open(io::Error),
    /// It is a directory.
    Directory,
    /// Reading failed in the middle.
    Read {
        /// The line that was being read.
        line: u64,
        /// The system's error.
        error: io::Error,
    },
    /// A NUL byte: not a text file.
    Binary {
        /// Its line.
        line: u64,
    },
    /// A word that is not a finite number.
    Word {
        /// Its line.
        line: u64,
        /// The word, shortened.
        word: String,
        /// The reason.
        why: NumberError,
    },
    /// A word of more than 4096 bytes.
    LongWord {
        /// Its line.
        line: u64,
    },
    /// Only blank lines and comments, or nothing at all.
    NoValues {
        /// Lines read.
        lines: u64,
    },
    /// No line has the wanted column.
    NoColumn {
        /// The column.
        column: usize,
        /// Lines read.
        lines: u64,
    },
    /// Another tool's file with an error.
    Foreign(String),
    /// Fewer than [`VALUES_MIN`] values.
    TooFew {
        /// Their number.
        found: usize,
    },
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", shown(self.name.as_encoded_bytes()))?;
        match &self.fault {
            Fault::Open(error) => write!(f, "cannot be opened: {}", cause(error)),
            Fault::Directory => write!(f, "is a directory; name a file of numbers"),
            Fault::Read { line, error } => {
                write!(f, "line {line}: cannot be read: {}", cause(error))
            }
            Fault::Binary { line } => {
                write!(
                    f,
                    "line {line}: holds a NUL byte; name a text file of numbers"
                )
            }
            Fault::Word { line, word, why } => {
                write!(f, "line {line}: `{word}` {why}; ")?;
                f.write_str(match why {
                    NumberError::Malformed => "begin a heading with #, or choose a column with -C",
                    _ => "correct or remove the line",
                })
            }
            Fault::LongWord { line } => write!(
                f,
                "line {line}: a word of more than {WORD_BYTES_MAX} bytes is not a number; set the \
                 separator of columns with -d"
            ),
            Fault::NoValues { lines: 0 } => write!(f, "is empty; write one number a line"),
            Fault::NoValues { lines } => write!(
                f,
                "holds no number in {lines} lines, only comments and blanks; write one a line"
            ),
            Fault::NoColumn { column, lines } => write!(
                f,
                "no line of {lines} has a column {column}; choose another with -C, or set the \
                 separator with -d"
            ),
            Fault::Foreign(what) => f.write_str(what),
            Fault::TooFew { found } => write!(
                f,
                "holds {found} value{}; at least {VALUES_MIN} are needed",
                if *found == 1 { "" } else { "s" }
            ),
        }
    }
}

impl std::error::Error for InputError {}

/// Text from a file or a command line, safe to show on a terminal.
#[must_use]
pub fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.chars()
        .map(|c| {
            if c.is_control() {
                c.escape_default().to_string()
            } else {
                c.to_string()
            }
        })
        .collect()
}

/// The beginning of a word, safe to show on a terminal.
#[must_use]
pub(super) fn shortened(word: &[u8]) -> String {
    let text = shown(word);
    if text.chars().count() <= SHOWN_CHARS {
        return text;
    }
    text.chars().take(SHOWN_CHARS).chain("..".chars()).collect()
}
