//! Data on stdout, messages on stderr. Neither panics if the other end is closed.

use std::fmt::Write as _;
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
            say(&harmless(text));
        }
    }

    /// Prints a warning that the reader should act on, under `-q` too.
    pub fn warn(self, text: &str) {
        say(&harmless(&format!("warning: {text}")));
    }
}

/// Prints the reason why the command ends.
pub fn error(error: &Error) {
    say(&harmless(&format!("furlong: {error}")));
}

/// The text on one line, with control characters and direction marks made visible.
pub(crate) fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' | '\n' | '\r' => out.push(' '),
            c if c.is_control() || turns(c) => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

/// True if a character changes the direction of the text after it.
fn turns(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A text whose control characters do nothing to a terminal: names come from files.
fn harmless(text: &str) -> String {
    let lines = text.split('\n').map(visible);
    lines.collect::<Vec<_>>().join("\n")
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

#[cfg(test)]
mod tests {
    use super::harmless;

    #[test]
    fn a_message_keeps_its_lines_and_nothing_that_a_terminal_obeys() {
        let text = "furlong: \u{1b}]0;pwned\u{7}\n\tsecond \u{202e}line";
        let shown = "furlong: \\u{1b}]0;pwned\\u{7}\n second \\u{202e}line";
        assert_eq!(harmless(text), shown);
    }
}
