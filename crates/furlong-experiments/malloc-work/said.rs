//! What the program has to say.
#![forbid(unsafe_code)]

use std::fmt;
use std::process;
use std::time::Duration;

/// What was done, how long it took, and what came out.
pub(crate) struct Said {
    /// What was counted as an operation.
    pub(crate) operations: u64,
    /// How long they took.
    pub(crate) elapsed: Duration,
    /// Of the answers.
    pub(crate) digest: u64,
    /// Further figures, by name.
    pub(crate) more: Vec<(&'static str, u64)>,
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanoseconds = self.elapsed.as_nanos();
        write!(f, "operations={} elapsed_ns={nanoseconds}", self.operations)?;
        write!(f, " digest={}", self.digest)?;
        self.more
            .iter()
            .try_for_each(|(name, value)| write!(f, " {name}={value}"))
    }
}

/// Ends the program with one line.
#[cold]
pub(crate) fn die(why: &str) -> ! {
    eprintln!("{why}");
    process::exit(1)
}
