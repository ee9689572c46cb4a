//! Format of a trace: lines, a call each.
//!
//! | line | meaning |
//! |---|---|
//! | `# ..` | a remark; the first line is [`HEADING`] |
//! | `p` | a program begins: threads and blocks are counted from 0, and live blocks vanish |
//! | `t T` | the following calls are made by thread T |
//! | `m SIZE`, `m SIZE ALIGN` | the next block, of SIZE bytes, at a multiple of ALIGN |
//! | `z SIZE` | the same, filled with zeros |
//! | `f B` | block B is freed |
//! | `r B SIZE` | block B gets another size |
//! | `w FIRST COUNT` | of the block of the line before, only such pages are touched |
//! | `o BYTES NS BUSY` | BYTES outside the heap, NS after the first `o`, BUSY on processors |

use std::collections::HashMap;
use std::io::{self, Cursor, Read};
use std::mem;
use std::ops::Range;

use ruzstd::decoding::StreamingDecoder;

use crate::replay::input::BYTES_MAX;

/// The first line of every trace.
pub(crate) const HEADING: &str = "# malloctrace 1";

/// Maximum block size; larger ones are refused.
const SIZE_MAX: u64 = 1 << 40;

/// Maximum alignment; larger ones are refused.
const ALIGN_MAX: u64 = 1 << 30;

/// Maximum number of threads that replay a trace; further recorded threads share them.
const THREADS_MAX: u32 = 16;

/// Bytes of a step; `malloc-work/replay.rs` documents its fields.
const STEP_BYTES: usize = 24;

/// Calls by kind, and peak memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) programs: u64,
    pub(super) allocations: u64,
    pub(super) frees: u64,
    pub(super) resizes: u64,
    /// Peak of live bytes in one program.
    pub(super) live_bytes_max: u64,
}

/// A trace, ready to run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Script {
    /// Steps in the format of `malloc-work/replay.rs`.
    pub(crate) steps: Vec<u8>,
    pub(super) threads: u32,
    pub(super) slots: u32,
    pub(super) totals: Totals,
    /// Its programs, in order.
    pub(crate) lives: Vec<Life>,
}

/// One program of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Life {
    /// Its steps, in bytes of the script.
    pub(crate) steps: Range<usize>,
    /// Number of its threads.
    pub(crate) threads: u32,
    /// Number of its slots.
    pub(crate) slots: u32,
    /// Its samples: bytes outside the heap, nanoseconds, and those on processors.
    pub(crate) samples: Vec<[u64; 3]>,
    /// Its largest memory: bytes outside the heap, and touched bytes of live blocks.
    pub(crate) peak_bytes: u64,
    /// End of the step that reached it, in bytes of the script.
    pub(crate) peak_at: usize,
    /// Number of its calls.
    pub(crate) calls: u64,
}

/// A live block.
#[derive(Clone, Copy, Debug)]
struct Live {
    slot: u32,
    bytes: u64,
    touched: u64,
}

/// Reader of a trace's lines.
#[derive(Debug, Default)]
struct Reader {
    script: Script,
    thread: u32,
    /// Live blocks of this program, by number.
    blocks: HashMap<u64, Live>,
    next: u64,
    /// Number of steps on each slot.
    seen: Vec<u32>,
    free_slots: Vec<u32>,
    live_bytes: u64,
    life: Life,
    /// Bytes outside the heap, and touched bytes of live blocks.
    own_bytes: u64,
    touched_bytes: u64,
    /// Block and step of the line before, which may be followed by touched pages.
    made: Option<(u64, usize)>,
}

/// Kinds of steps, as in `malloc-work/replay.rs`.
const ALLOCATE: u8 = 0;
const ZEROED: u8 = 1;
const FREE: u8 = 2;
const RESIZE: u8 = 3;
const END: u8 = 4;
const TOUCH: u8 = 5;
const SAMPLE: u8 = 6;
pub(crate) const PROBE: u8 = 7;

/// Bytes of a page, as recorded.
const PAGE: u64 = 4096;

/// Bytes that are touched of a block whose touched pages are unknown.
const TOUCHED_MAX: u64 = 64 << 20;

/// Decompresses the input if necessary. Returns the text, and the error that truncates it, if any.
pub(super) fn unpacked(bytes: &[u8], packed: bool) -> (Vec<u8>, Option<io::Error>) {
    if !packed {
        return (bytes.to_vec(), None);
    }
    unpacked_to(bytes, BYTES_MAX)
}

/// Decompresses up to `most` bytes, and one more if there are any.
pub(super) fn unpacked_to(bytes: &[u8], most: u64) -> (Vec<u8>, Option<io::Error>) {
    let mut text = vec![];
    let read = match StreamingDecoder::new(Cursor::new(bytes)) {
        Ok(decoder) => decoder.take(most + 1).read_to_end(&mut text),
        Err(error) => Err(io::Error::other(error)),
    };
    let is_long = text.len() as u64 > most;
    let long = || io::Error::other(format!("it unpacks to more than {} MiB", most >> 20));
    (text, read.err().or_else(|| is_long.then(long)))
}

/// Parses a trace. Returns the lines before the first wrong one, and the fault, if any.
pub(crate) fn parse(text: &[u8]) -> (Script, Option<String>) {
    let mut reader = Reader::default();
    let lines = text.split(|byte| *byte == b'\n').enumerate();
    for (number, line) in lines {
        let line = std::str::from_utf8(line).map_err(|_| "is not text".to_owned());
        if let Err(why) = line.and_then(|line| reader.line(line.trim())) {
            let fault = format!("line {}: {why}", number + 1);
            return (reader.end(), Some(fault));
        }
    }
    (reader.end(), None)
}

impl Reader {
    fn line(&mut self, line: &str) -> Result<(), String> {
        let mut words = line.split_ascii_whitespace();
        let Some(word) = words.next().filter(|word| !word.starts_with('#')) else {
            return Ok(());
        };
        let numbers: Option<Vec<u64>> = words.map(|word| word.parse().ok()).collect();
        let numbers = numbers.ok_or_else(|| format!("`{line}`: a number must follow"))?;
        if word != "w" {
            self.settle();
        }
        match (word, numbers.as_slice()) {
            ("p", []) => {
                self.end_program();
                self.script.totals.programs += 1;
            }
            ("t", &[thread]) => {
                self.thread = (thread % u64::from(THREADS_MAX)) as u32;
                self.life.threads = self.life.threads.max(self.thread + 1);
            }
            ("m", &[size]) => self.allocate(ALLOCATE, size, 1)?,
            ("m", &[size, align]) => self.allocate(ALLOCATE, size, align)?,
            ("z", &[size]) => self.allocate(ZEROED, size, 1)?,
            ("f", &[block]) => {
                let live = self.block(block)?;
                self.blocks.remove(&block);
                self.step(FREE, live.slot, 0, 0);
                self.free_slots.push(live.slot);
                self.live_bytes -= live.bytes;
                self.touched_bytes -= live.touched;
                self.script.totals.frees += 1;
            }
            ("r", &[block, size]) => {
                let live = self.block(block)?;
                self.step(RESIZE, live.slot, 0, sized(size)?);
                self.live(block, live, size);
                self.script.totals.resizes += 1;
            }
            ("w", &[first, count]) => self.touch(first, count)?,
            ("o", &[bytes, at_ns, busy_ns]) => {
                self.own_bytes = bytes;
                self.life.samples.push([bytes, at_ns, busy_ns]);
                self.put(0, 0, 0, SAMPLE, 0, at_ns);
                self.settle();
            }
            _ => return Err(format!("`{line}` is not a known call")),
        }
        Ok(())
    }

    fn allocate(&mut self, kind: u8, size: u64, align: u64) -> Result<(), String> {
        let size = sized(size)?;
        if !align.is_power_of_two() || align > ALIGN_MAX {
            return Err(format!(
                "{align} is not an alignment: use a power of two up to 2^30"
            ));
        }
        let slot = self.free_slots.pop().unwrap_or_else(|| {
            self.seen.push(0);
            self.seen.len() as u32 - 1
        });
        self.step(kind, slot, align.trailing_zeros() as u8, size);
        let none = Live {
            slot,
            bytes: 0,
            touched: 0,
        };
        self.live(self.next, none, size);
        self.next += 1;
        self.script.totals.allocations += 1;
        Ok(())
    }

    fn block(&self, number: u64) -> Result<Live, String> {
        let live = self.blocks.get(&number).copied();
        live.ok_or_else(|| format!("block {number} is not live here"))
    }

    /// Gives a block a size; it counts as touched until the next line says otherwise.
    fn live(&mut self, block: u64, before: Live, bytes: u64) {
        let touched = bytes.min(TOUCHED_MAX);
        self.live_bytes = self.live_bytes - before.bytes + bytes;
        self.touched_bytes = self.touched_bytes - before.touched + touched;
        let most = &mut self.script.totals.live_bytes_max;
        *most = self.live_bytes.max(*most);
        let after = Live {
            bytes,
            touched,
            ..before
        };
        self.blocks.insert(block, after);
        self.made = Some((block, self.script.steps.len() - STEP_BYTES));
    }

    /// Touches pages of the block of the line before.
    fn touch(&mut self, first: u64, count: u64) -> Result<(), String> {
        let (block, step) = self
            .made
            .ok_or("touched pages must follow the call that made their block")?;
        let mut live = self.block(block)?;
        let end = first.saturating_add(count);
        if end > live.bytes.div_ceil(PAGE) {
            return Err(format!("block {block} has fewer than {end} pages"));
        }
        let is_touched = &mut self.script.steps[step + 14];
        if *is_touched == 0 {
            *is_touched = 1;
            self.touched_bytes -= live.touched;
            live.touched = 0;
        }
        let bytes = (count * PAGE).min(live.bytes);
        live.touched += bytes;
        self.touched_bytes += bytes;
        self.blocks.insert(block, live);
        if count > 0 {
            self.step(TOUCH, live.slot, 0, first | count << 32);
        }
        Ok(())
    }

    /// Ends what the line before began.
    fn settle(&mut self) {
        self.made = None;
        let bytes = self.own_bytes.saturating_add(self.touched_bytes);
        if bytes > self.life.peak_bytes {
            self.life.peak_bytes = bytes;
            self.life.peak_at = self.script.steps.len();
        }
    }

    fn step(&mut self, kind: u8, slot: u32, align: u8, size: u64) {
        let seen = &mut self.seen[slot as usize];
        let before = mem::replace(seen, *seen + 1);
        self.put(self.thread, slot, before, kind, align, size);
    }

    fn put(&mut self, thread: u32, slot: u32, before: u32, kind: u8, align: u8, size: u64) {
        let mut step = [0; STEP_BYTES];
        step[0..4].copy_from_slice(&thread.to_le_bytes());
        step[4..8].copy_from_slice(&slot.to_le_bytes());
        step[8..12].copy_from_slice(&before.to_le_bytes());
        [step[12], step[13]] = [kind, align];
        step[16..24].copy_from_slice(&size.to_le_bytes());
        self.script.steps.extend(step);
    }

    /// Frees all live blocks and restarts counting.
    fn end_program(&mut self) {
        self.settle();
        let mut life = mem::take(&mut self.life);
        life.slots = self.seen.len() as u32;
        life.threads = life.threads.max(1);
        self.script.slots = self.script.slots.max(life.slots);
        self.script.threads = self.script.threads.max(life.threads);
        let begin = self.script.lives.last().map_or(0, |life| life.steps.end);
        if !self.seen.is_empty() {
            self.put(0, 0, 0, END, 0, 0);
            let totals = &self.script.totals;
            let before: u64 = self.script.lives.iter().map(|life| life.calls).sum();
            life.calls = totals.allocations + totals.resizes + totals.frees - before;
            life.steps = begin..self.script.steps.len();
            self.script.lives.push(life);
        }
        self.blocks.clear();
        self.seen.clear();
        self.free_slots.clear();
        (self.next, self.live_bytes, self.thread) = (0, 0, 0);
        (self.own_bytes, self.touched_bytes) = (0, 0);
    }

    fn end(mut self) -> Script {
        self.end_program();
        self.script.threads = self.script.threads.max(1);
        self.script
    }
}

fn sized(size: u64) -> Result<u64, String> {
    match size {
        0..=SIZE_MAX => Ok(size),
        _ => Err(format!("{size} bytes exceed the largest block")),
    }
}
