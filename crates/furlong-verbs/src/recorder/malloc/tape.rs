//! Conversion of a log's events to the lines of a trace: by process, with blocks by number.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::io::{self, Write};

use super::log::{Address, Event, RecordedCall};
use crate::recorder::missed;
use crate::replay::MALLOC_HEADING;

/// Bytes of a page, as in `malloc-record/arena.rs`.
const PAGE: u64 = 4096;

/// Bytes of the largest block whose pages are not recorded, as in `malloc-record/arena.rs`.
const SMALL_MAX: u64 = 16 << 10;

/// The recorded calls of a command, as lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Lines of each program of each process, in starting order.
    lives: Vec<String>,
    /// Device and number of the file whose allocator each of them uses by itself.
    pub(crate) allocators: Vec<Option<[u64; 2]>>,
    /// Number of calls in them.
    pub calls: u64,
    /// Missing parts, a sentence each.
    pub missed: Vec<String>,
}

impl Recorded {
    /// Programs that were run.
    #[must_use]
    pub fn programs(&self) -> usize {
        self.lives.len()
    }

    /// Writes the trace; `about` are lines that describe it.
    ///
    /// # Errors
    /// The first error of `out`.
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
    /// Touched pages of blocks, by the place in the lines behind the call that they belong to.
    touched: BTreeMap<usize, Vec<(u64, u64)>>,
    /// Number of the next block.
    next: u64,
    /// Place behind the last call about each block in use, and its pages.
    places: HashMap<u64, (usize, u64)>,
    /// Time of the first sample.
    began_ns: Option<u64>,
    allocator: Option<[u64; 2]>,
    live: HashMap<Address, u64>,
    /// Block that each thread is resizing, until the result is known.
    resizing: HashMap<u64, u64>,
    threads: HashMap<u64, usize>,
    /// Thread of the last call.
    thread: Option<usize>,
    calls: u64,
}

/// Converter from events to lines.
#[derive(Debug, Default)]
pub(super) struct Tape {
    lives: Vec<Life>,
    /// Index of each process's current life.
    of_process: HashMap<u64, usize>,
    unfinished: u64,
    inherited: u64,
}

impl Tape {
    /// Processes the next event; `None` is an unfinished one.
    pub(super) fn take(&mut self, event: Option<Event>) {
        let Some(event) = event else {
            self.unfinished += 1;
            return;
        };
        let begins = matches!(
            event.call,
            RecordedCall::Begun | RecordedCall::Forked { .. }
        );
        if begins || !self.of_process.contains_key(&event.process) {
            let allocator = match event.call {
                RecordedCall::Forked { parent } => self.of_process.get(&parent),
                _ => None,
            };
            let allocator = allocator.and_then(|parent| self.lives[*parent].allocator);
            self.of_process.insert(event.process, self.lives.len());
            self.lives.push(Life {
                allocator,
                ..Life::default()
            });
        }
        let life = self.of_process[&event.process];
        if !begins && !self.lives[life].ask(&event) {
            self.inherited += 1;
        }
    }

    /// Ends the tape; `lost` is the number of calls after the log was full.
    pub(super) fn end(self, lost: u64) -> Recorded {
        let missed = missed([
            (
                lost,
                "calls came after the log was full: enlarge the log with --events N",
            ),
            (
                self.unfinished,
                "calls were incomplete when their process ended",
            ),
            (
                self.inherited,
                "calls about blocks of a parent process are left out",
            ),
        ]);
        let lives = self.lives.iter().filter(|life| life.calls > 0);
        Recorded {
            calls: lives.clone().map(|life| life.calls).sum(),
            allocators: lives.clone().map(|life| life.allocator).collect(),
            lives: lives.map(Life::text).collect(),
            missed,
        }
    }
}

impl Life {
    /// Writes a call as a line. Returns false if its block is unknown in this program.
    fn ask(&mut self, event: &Event) -> bool {
        let size = event.size;
        let mut made = None;
        let line = match event.call {
            RecordedCall::Allocated {
                zeroed,
                align,
                block,
            } => {
                made = Some(self.number(block));
                let letter = if zeroed { 'z' } else { 'm' };
                match align {
                    1 => format!("{letter} {size}"),
                    align => format!("{letter} {size} {align}"),
                }
            }
            RecordedCall::Freed { block } => match self.live.remove(&block) {
                Some(number) => {
                    self.places.remove(&number);
                    format!("f {number}")
                }
                None => return false,
            },
            RecordedCall::Resizing { block } => {
                // Another thread may get the address before this one's result is recorded.
                let known = self.live.remove(&block);
                let number = known.unwrap_or(u64::MAX);
                self.resizing.insert(event.thread, number);
                return known.is_some();
            }
            RecordedCall::Resized { block, old } => match self.resizing.remove(&event.thread) {
                Some(number) if number != u64::MAX && block == 0 => {
                    self.live.insert(old, number);
                    return true;
                }
                Some(number) if number != u64::MAX => {
                    self.live.insert(block, number);
                    made = Some(number);
                    format!("r {number} {size}")
                }
                _ if block == 0 => return true,
                _ => {
                    made = Some(self.number(block));
                    format!("m {size}")
                }
            },
            RecordedCall::Begun
            | RecordedCall::Forked { .. }
            | RecordedCall::Touched { .. }
            | RecordedCall::Sampled { .. }
            | RecordedCall::Served { .. } => {
                self.learn(event);
                return true;
            }
        };
        self.turn(event.thread);
        self.calls += 1;
        // Writing to a string cannot fail.
        let _ = writeln!(self.lines, "{line}");
        if let Some(number) = made.filter(|_| size > SMALL_MAX) {
            self.places
                .insert(number, (self.lines.len(), size.div_ceil(PAGE)));
        }
        true
    }

    /// Takes an event that is no call.
    fn learn(&mut self, event: &Event) {
        let size = event.size;
        match event.call {
            RecordedCall::Touched {
                block,
                first,
                pages,
            } => self.touch(block, size == 0, (first, pages)),
            RecordedCall::Sampled { at_ns, busy_ns } => {
                let began = *self.began_ns.get_or_insert(at_ns);
                let at_ns = at_ns.saturating_sub(began);
                // Writing to a string cannot fail.
                let _ = writeln!(self.lines, "o {size} {at_ns} {busy_ns}");
            }
            RecordedCall::Served { allocator } => self.allocator = Some(allocator),
            _ => {}
        }
    }

    fn number(&mut self, block: Address) -> u64 {
        self.live.insert(block, self.next);
        self.next += 1;
        self.next - 1
    }

    /// Notes a run of touched pages of a block; the first one replaces what was known.
    fn touch(&mut self, block: Address, is_first: bool, run: (u64, u64)) {
        let number = self.live.get(&block);
        let Some((place, pages)) = number.and_then(|number| self.places.get(number)) else {
            return;
        };
        let runs = self.touched.entry(*place).or_default();
        if is_first {
            runs.clear();
        }
        // Another thread may have got the address before these pages were looked at.
        let (first, count) = (run.0.min(*pages), run.1);
        runs.push((first, count.min(pages - first)));
    }

    /// Writes a line with the thread if it differs from the last one.
    fn turn(&mut self, thread: u64) {
        let count = self.threads.len();
        let number = *self.threads.entry(thread).or_insert(count);
        if self.thread != Some(number) {
            self.thread = Some(number);
            let _ = writeln!(self.lines, "t {number}");
        }
    }

    fn text(&self) -> String {
        let mut text = "p\n".to_owned();
        let mut from = 0;
        for (place, runs) in &self.touched {
            text.push_str(&self.lines[from..*place]);
            from = *place;
            for (first, pages) in runs {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "w {first} {pages}");
            }
        }
        text.push_str(&self.lines[from..]);
        text
    }
}
