//! How the command ends: the exit codes, and the one kind of error, whose text says what to do.
#![forbid(unsafe_code)]

use std::fmt;
use std::io;
use std::process::ExitCode;

/// What the exit code says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Everything asked for was done (also when only the store failed: that is a warning).
    Done,
    /// A subject gave a wrong answer, or a run failed.
    Failed,
    /// Bad usage or bad input: nothing was done.
    Usage,
    /// A condition of `--fail-on` holds.
    Condition,
    /// A signal ended the run; what was finished is kept.
    Signal(u8),
}

impl Exit {
    /// The number that the shell sees.
    #[must_use]
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

/// Why a verb could not do its work, in one line for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What the shell is told.
    pub exit: Exit,
    /// What is wrong and what to do about it.
    pub message: String,
}

impl Error {
    /// Bad usage or bad input.
    #[must_use]
    pub fn usage(message: impl Into<String>) -> Error {
        Error {
            exit: Exit::Usage,
            message: message.into(),
        }
    }

    /// The work was begun and failed.
    #[must_use]
    pub fn failed(message: impl Into<String>) -> Error {
        Error {
            exit: Exit::Failed,
            message: message.into(),
        }
    }
}

/// What the system says, without its number.
#[must_use]
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
