//! Seam: what watches a command. Each says why it cannot, and what would let it.
#![forbid(unsafe_code)]

use std::fmt;

use clap::ValueEnum;

use super::{Recorded, perf, strace};
use crate::recorder::Program;
use furlong_lab::error::Error;

/// What watches a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Means {
    /// Tracepoints of the kernel: everything, at little cost; needs the right to trace
    Perf,
    /// Stops at system calls: slower, sees no page faults; needs no right
    Strace,
}

/// Why a means cannot be used here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unable {
    /// What is so.
    pub why: String,
    /// What would change it.
    pub remedy: &'static str,
}

/// The system calls that change an address space, by their names in the kernel.
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
    /// Whether it can be used here.
    ///
    /// # Errors
    /// Why not, and what would let it.
    pub fn try_out(self) -> Result<(), Unable> {
        match self {
            Means::Perf => perf::try_out(),
            Means::Strace => strace::try_out(),
        }
    }

    /// What it does not see.
    #[must_use]
    pub fn lacks(self) -> Option<&'static str> {
        match self {
            Means::Perf => None,
            Means::Strace => Some("the trace has no page faults"),
        }
    }

    /// Runs a command to its end, watching it.
    ///
    /// # Errors
    /// It could not be run or watched, or nothing was seen.
    pub fn record(self, program: &Program) -> Result<Recorded, Error> {
        match self {
            Means::Perf => perf::record(program),
            Means::Strace => strace::record(program),
        }
    }
}

/// The best means that can be used here, and why no better one can.
///
/// # Errors
/// None can: why, and what to do about it.
pub fn choose() -> Result<(Means, Option<Unable>), Error> {
    let Err(perf) = Means::Perf.try_out() else {
        return Ok((Means::Perf, None));
    };
    match Means::Strace.try_out() {
        Ok(()) => Ok((Means::Strace, Some(perf))),
        Err(strace) => Err(Error::failed(format!(
            "nothing here can watch a command: perf: {perf}; strace: {strace}"
        ))),
    }
}
