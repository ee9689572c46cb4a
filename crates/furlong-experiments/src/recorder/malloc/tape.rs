//! From the events of a log to the lines of a trace: each process for itself, blocks by number.
#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use super::log::{Address, Asked, Event};
use crate::replay::MALLOC_HEADING;

/// What a command has asked, as lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Of each program of each process, in the order in which they began.
    lives: Vec<String>,
    /// Calls that are in them.
    pub calls: u64,
    /// What is missing, a sentence each.
    pub missed: Vec<String>,
}

impl Recorded {
    /// Programs that were run.
    #[must_use]
    pub fn programs(&self) -> usize {
        self.lives.len()
    }

    /// Writes the trace; `about` are lines that say what it is of.
    ///
    /// # Errors
    /// The first one of `out`.
    pub fn write(&self, about: &[String], mut out: impl Write) -> io::Result<()> {
        writeln!(out, "{MALLOC_HEADING}")?;
        for line in about.iter().chain(&self.missed) {
            writeln!(out, "# {line}")?;
        }
        for life in &self.lives {
            write!(out, "{life}")?;
        }
        out.flush()
    }
}

/// One program in one process.
#[derive(Debug, Default)]
struct Life {
    lines: String,
    /// Number of the next block.
    next: u64,
    live: HashMap<Address, u64>,
    /// What each thread is resizing, until it says what came of it.
    resizing: HashMap<u64, u64>,
    threads: HashMap<u64, usize>,
    /// Who asked last.
    thread: Option<usize>,
    calls: u64,
}

/// Events, on their way to lines.
#[derive(Debug, Default)]
pub(super) struct Tape {
    lives: Vec<Life>,
    /// Where the life of a process is.
    of_process: HashMap<u64, usize>,
    unfinished: u64,
    inherited: u64,
}

impl Tape {
    /// The next event; `None` is one that was never finished.
    pub(super) fn take(&mut self, event: Option<Event>) {
        let Some(event) = event else {
            self.unfinished += 1;
            return;
        };
        let begins = matches!(event.asked, Asked::Begun | Asked::Forked { .. });
        if begins || !self.of_process.contains_key(&event.process) {
            self.of_process.insert(event.process, self.lives.len());
            self.lives.push(Life::default());
        }
        let life = self.of_process[&event.process];
        if !begins && !self.lives[life].ask(&event) {
            self.inherited += 1;
        }
    }

    /// The end, after which so many more had no room.
    pub(super) fn end(self, lost: u64) -> Recorded {
        let mut missed = vec![];
        let mut say = |count: u64, what: &str| {
            if count > 0 {
                missed.push(format!("{count} {what}"));
            }
        };
        say(
            lost,
            "calls came after the log was full: --events N gives it more room",
        );
        say(
            self.unfinished,
            "calls were being written when their process was ended",
        );
        say(
            self.inherited,
            "calls about blocks of a parent process are left out",
        );
        let lives = self.lives.iter().filter(|life| life.calls > 0);
        Recorded {
            calls: lives.clone().map(|life| life.calls).sum(),
            lives: lives.map(Life::text).collect(),
            missed,
        }
    }
}

impl Life {
    /// Writes a call down; false if it is about a block that this program does not know.
    fn ask(&mut self, event: &Event) -> bool {
        let size = event.size;
        let line = match event.asked {
            Asked::Allocated {
                zeroed,
                align,
                block,
            } => {
                self.number(block);
                let letter = if zeroed { 'z' } else { 'm' };
                match align {
                    1 => format!("{letter} {size}"),
                    align => format!("{letter} {size} {align}"),
                }
            }
            Asked::Freed { block } => match self.live.remove(&block) {
                Some(number) => format!("f {number}"),
                None => return false,
            },
            Asked::Resizing { block } => {
                // The address may be another thread's block before this one says what came of it.
                let known = self.live.remove(&block);
                let number = known.unwrap_or(u64::MAX);
                self.resizing.insert(event.thread, number);
                return known.is_some();
            }
            Asked::Resized { block, old } => match self.resizing.remove(&event.thread) {
                Some(number) if number != u64::MAX && block == 0 => {
                    self.live.insert(old, number);
                    return true;
                }
                Some(number) if number != u64::MAX => {
                    self.live.insert(block, number);
                    format!("r {number} {size}")
                }
                _ if block == 0 => return true,
                _ => {
                    self.number(block);
                    format!("m {size}")
                }
            },
            Asked::Begun | Asked::Forked { .. } => return true,
        };
        self.turn(event.thread);
        self.calls += 1;
        // A string takes every line.
        let _ = writeln!(self.lines, "{line}");
        true
    }

    fn number(&mut self, block: Address) {
        self.live.insert(block, self.next);
        self.next += 1;
    }

    /// Says which thread asks, where it is another one than before.
    fn turn(&mut self, thread: u64) {
        let count = self.threads.len();
        let number = *self.threads.entry(thread).or_insert(count);
        if self.thread != Some(number) {
            self.thread = Some(number);
            let _ = writeln!(self.lines, "t {number}");
        }
    }

    fn text(&self) -> String {
        format!("p\n{}", self.lines)
    }
}
