//! Data on stdout, messages on stderr. Neither panics if the other end is closed.

use std::io::{self, IsTerminal, Write};

use crate::error::{Error, cause};

/// Amount of messages besides the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Voice {
    /// Progress, notes, warnings.
    Normal,
    /// Notes and warnings: the commands themselves print to the terminal.
    Steady,
    /// Warnings only.
    Quiet,
}

impl Voice {
    /// Prints a note.
    pub fn note(self, text: &str) {
        if self != Voice::Quiet {
            say(text);
        }
    }

    /// Prints a warning that the reader should act on, under `-q` too.
    pub fn warn(self, text: &str) {
        say(&format!("warning: {text}"));
    }
}

/// Prints the reason why the command ends.
pub fn error(error: &Error) {
    say(&format!("furlong: {error}"));
}

/// Prints a line on stderr, if it is open.
pub fn say(line: &str) {
    // If stderr is closed, nothing can be reported.
    let _ = writeln!(io::stderr(), "{line}");
}

/// Writes data to stdout. A reader that is gone (`furlong list | head -1`) is not an error.
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

/// True if stdout may have colour: it is a terminal, and colour was not turned off.
pub fn colour() -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    io::stdout().is_terminal()
        && !set("NO_COLOR")
        && std::env::var_os("TERM") != Some("dumb".into())
}

/// An argument, quoted for a shell if it needs that.
pub(crate) fn quoted(argument: &str) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+@%".contains(c);
    if !argument.is_empty() && argument.chars().all(safe) {
        return argument.to_owned();
    }
    format!("'{}'", argument.replace('\'', r"'\''"))
}

/// Ascending numbers with each run of neighbours as one text, such as `1-3`.
#[must_use]
pub fn spans(numbers: impl IntoIterator<Item = u32>) -> Vec<String> {
    let mut spans: Vec<(u32, u32)> = vec![];
    for number in numbers {
        match spans.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => spans.push((number, number)),
        }
    }
    let span = |(first, last): &(u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    spans.iter().map(span).collect()
}
