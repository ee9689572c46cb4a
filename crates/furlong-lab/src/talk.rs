//! Data on stdout, talk on stderr; neither ever panics because the other end is gone.
#![forbid(unsafe_code)]

use std::io::{self, IsTerminal, Write};

use crate::error::{Error, cause};

/// How much is said besides the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Voice {
    /// Progress, notes, warnings.
    Normal,
    /// Warnings only.
    Quiet,
}

impl Voice {
    /// Says something that is good to know.
    pub fn note(self, text: &str) {
        if self == Voice::Normal {
            say(text);
        }
    }

    /// Says something that the reader should act on; it is said under `-q` too.
    pub fn warn(self, text: &str) {
        say(&format!("warning: {text}"));
    }
}

/// Says why the command ends.
pub fn error(error: &Error) {
    say(&format!("furlong: {error}"));
}

/// A line on stderr, where there is one.
pub fn say(line: &str) {
    // Nobody is left to tell when stderr is closed.
    let _ = writeln!(io::stderr(), "{line}");
}

/// Writes data to stdout. A reader that has gone away (`furlong list | head -1`) is no error.
///
/// # Errors
///
/// Any other failure to write, for example a full disk.
pub fn data(text: &str) -> Result<(), Error> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Error::failed(format!(
            "cannot write to standard output: {}",
            cause(&error)
        ))),
        _ => Ok(()),
    }
}

/// Whether stdout may have colour: it is a terminal and nobody asked for none.
#[must_use]
pub fn colour() -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    io::stdout().is_terminal()
        && !set("NO_COLOR")
        && std::env::var_os("TERM") != Some("dumb".into())
}
