//! Errors in a file of numbers. A message has the file, the line and a remedy.

use std::ffi::OsStr;
use std::fmt;

use crate::error::Error;

/// Characters of a word that a message shows.
const SHOWN_CHARS: usize = 40;

/// The reason why a file gives no values.
pub(crate) fn unusable(name: &OsStr, why: impl fmt::Display) -> Error {
    Error::usage(format!("{}: {why}", shown(name.as_encoded_bytes())))
}

/// Text from a file or a command line, safe to show on a terminal.
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
pub(super) fn shortened(word: &[u8]) -> String {
    let text = shown(word);
    if text.chars().count() <= SHOWN_CHARS {
        return text;
    }
    text.chars().take(SHOWN_CHARS).chain("..".chars()).collect()
}
