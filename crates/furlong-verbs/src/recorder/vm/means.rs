//! Seam: the tools that watch a command. An unusable one reports the reason and a remedy.

use std::fmt;
use std::path::Path;
use std::process::{Command, Stdio};

use clap::ValueEnum;

use super::{Recorded, perf, strace};
use crate::recorder::Program;
use crate::recorder::program::found;
use furlong_lab::error::{Error, cause};

/// A tool that watches a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Means {
    /// Tracepoints of the kernel: everything, at little cost; needs permission to trace
    Perf,
    /// Stops at system calls: slower, sees no page faults; needs no permission
    Strace,
}

/// Reason why a means cannot be used here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unable {
    /// The obstacle.
    pub why: String,
    /// A way to remove it.
    pub remedy: &'static str,
}

/// System calls that change an address space, by the kernel's names.
pub(super) const CALLS: [&str; 6] = [
    "mmap",
    "munmap",
    "mprotect",
    "pkey_mprotect",
    "mremap",
    "brk",
];

impl fmt::Display for Means {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Means::Perf => "perf",
            Means::Strace => "strace",
        })
    }
}

impl fmt::Display for Unable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.why, self.remedy)
    }
}

impl Means {
    /// Tests whether it can be used here.
    ///
    /// # Errors
    /// The reason, and a remedy.
    pub fn try_out(self) -> Result<(), Unable> {
        match self {
            Means::Perf => perf::try_out(),
            Means::Strace => strace::try_out(),
        }
    }

    /// Events that it does not see, as a note.
    #[must_use]
    pub fn lacks(self) -> Option<&'static str> {
        match self {
            Means::Perf => None,
            Means::Strace => Some("the trace has no page faults"),
        }
    }

    /// Runs a command to its end and watches it.
    ///
    /// # Errors
    /// The command could not be run or watched, or no event was seen.
    pub fn record(self, program: &Program) -> Result<Recorded, Error> {
        match self {
            Means::Perf => perf::record(program),
            Means::Strace => strace::record(program),
        }
    }
}

/// Returns the best usable means, and the reason why a better one is not usable.
///
/// # Errors
/// No means is usable: the reasons and remedies.
pub fn choose() -> Result<(Means, Option<Unable>), Error> {
    let Err(perf) = Means::Perf.try_out() else {
        return Ok((Means::Perf, None));
    };
    match Means::Strace.try_out() {
        Ok(()) => Ok((Means::Strace, Some(perf))),
        Err(strace) => Err(Error::failed(format!(
            "no tool can trace a command here: perf: {perf}; strace: {strace}"
        ))),
    }
}

/// Tests whether a tool is installed.
pub(super) fn installed(tool: &str, remedy: &'static str) -> Result<(), Unable> {
    let absent = || Unable {
        why: format!("{tool} is not installed"),
        remedy,
    };
    found(Path::new(tool)).map(drop).ok_or_else(absent)
}

/// Tests whether a tool may watch a program here: one that does nothing.
pub(super) fn tried(mut tool: Command, remedy: &'static str) -> Result<(), Unable> {
    let unable = |why: String| Unable { why, remedy };
    let output = tool.arg("true").stdin(Stdio::null()).output();
    let output = output.map_err(|error| unable(cause(&error)))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    // In perf's output the line with the reason follows a heading, if it exists at all.
    let reason = lines
        .clone()
        .find(|line| line.contains("ermi") || line.contains("denied"));
    let why = reason
        .or_else(|| lines.next())
        .unwrap_or("it is not allowed to trace");
    Err(unable(why.to_owned()))
}
