//! Output of the program.
#![forbid(unsafe_code)]

use std::fmt;
use std::process;
use std::time::Duration;

/// Result of a work.
pub(crate) struct Said {
    /// Number of operations.
    pub(crate) operations: u64,
    /// Duration of the operations.
    pub(crate) elapsed: Duration,
    /// Digest of the answers.
    pub(crate) digest: u64,
    /// Further figures, by name.
    pub(crate) more: Vec<(&'static str, u64)>,
    /// Lines before that of the figures.
    pub(crate) lines: Vec<String>,
}

impl Said {
    /// Returns the figures of timed work: its digest and its duration.
    pub(crate) fn new(operations: u64, (digest, elapsed): (u64, Duration)) -> Self {
        Self {
            operations,
            elapsed,
            digest,
            more: vec![],
            lines: vec![],
        }
    }
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

/// Ends the program with one line on standard error.
#[cold]
pub(crate) fn die(why: &str) -> ! {
    eprintln!("{why}");
    process::exit(1)
}
