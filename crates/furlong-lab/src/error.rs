//! The end of the command: exit codes, and the only kind of error, whose text contains a remedy.

use std::fmt;
use std::io;
use std::process::ExitCode;

/// Meaning of the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Everything was done (even if the store failed, which is a warning).
    Done,
    /// A subject gave a wrong answer, or a run failed.
    Failed,
    /// Bad usage or bad input; nothing was done.
    Usage,
    /// A condition of `--fail-on` holds.
    Condition,
    /// A signal ended the run; finished blocks are kept.
    Signal(u8),
}

impl Exit {
    /// Returns the exit code of the process.
    pub fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Condition => 3,
            Exit::Signal(number) => 128_u8.saturating_add(number),
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

/// Reason why a verb failed, in one line for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Exit code.
    pub exit: Exit,
    /// The problem and a remedy.
    pub message: String,
}

impl Error {
    /// Returns an error of bad usage or bad input.
    pub fn usage(message: impl Into<String>) -> Error {
        Error {
            exit: Exit::Usage,
            message: message.into(),
        }
    }

    /// Returns an error of work that was begun and failed.
    pub fn failed(message: impl Into<String>) -> Error {
        Error {
            exit: Exit::Failed,
            message: message.into(),
        }
    }
}

/// Returns the system's error message without its number.
pub fn cause(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
/// Said where something needs the feature that this build lacks.
#[cfg(not(feature = "team"))]
pub(crate) const NO_TEAM: &str = "this furlong was built without the feature `team`; build it \
     with `cargo build --release --features team`, or install it with `cargo install furlong-cli \
     --features team`";
