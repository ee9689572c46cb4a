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

use std::collections::HashMap;
use std::io::{self, Cursor, Read};

use ruzstd::decoding::StreamingDecoder;

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
pub(super) struct Script {
    /// Steps in the format of `malloc-work/replay.rs`.
    pub(super) steps: Vec<u8>,
    pub(super) threads: u32,
    pub(super) slots: u32,
    pub(super) totals: Totals,
}

/// A live block.
#[derive(Clone, Copy, Debug)]
struct Live {
    slot: u32,
    bytes: u64,
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
}

/// Kinds of steps, as in `malloc-work/replay.rs`.
const ALLOCATE: u8 = 0;
const ZEROED: u8 = 1;
const FREE: u8 = 2;
const RESIZE: u8 = 3;
const END: u8 = 4;

/// Decompresses the input if necessary. Returns the text, and the error that truncates it, if any.
pub(super) fn unpacked(bytes: &[u8], packed: bool) -> (Vec<u8>, Option<io::Error>) {
    if !packed {
        return (bytes.to_vec(), None);
    }
    let mut text = vec![];
    let error = match StreamingDecoder::new(Cursor::new(bytes)) {
        Ok(mut decoder) => decoder.read_to_end(&mut text).err(),
        Err(error) => Some(io::Error::other(error)),
    };
    (text, error)
}

/// Parses a trace. Returns the lines before the first wrong one, and the fault, if any.
pub(super) fn parse(text: &[u8]) -> (Script, Option<String>) {
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
        match (word, numbers.as_slice()) {
            ("p", []) => {
                self.end_program();
                self.script.totals.programs += 1;
            }
            ("t", &[thread]) => {
                self.thread = (thread % u64::from(THREADS_MAX)) as u32;
                self.script.threads = self.script.threads.max(self.thread + 1);
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
                self.script.totals.frees += 1;
            }
            ("r", &[block, size]) => {
                let live = self.block(block)?;
                self.step(RESIZE, live.slot, 0, sized(size)?);
                let bytes = size;
                self.blocks.insert(block, Live { bytes, ..live });
                self.live(live.bytes, size);
                self.script.totals.resizes += 1;
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
        self.blocks.insert(self.next, Live { slot, bytes: size });
        self.next += 1;
        self.live(0, size);
        self.script.totals.allocations += 1;
        Ok(())
    }

    fn block(&self, number: u64) -> Result<Live, String> {
        let live = self.blocks.get(&number).copied();
        live.ok_or_else(|| format!("block {number} is not live here"))
    }

    fn live(&mut self, before: u64, after: u64) {
        self.live_bytes = self.live_bytes - before + after;
        let most = &mut self.script.totals.live_bytes_max;
        *most = self.live_bytes.max(*most);
    }

    fn step(&mut self, kind: u8, slot: u32, align: u8, size: u64) {
        let seen = &mut self.seen[slot as usize];
        let before = std::mem::replace(seen, *seen + 1);
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
        self.script.slots = self.script.slots.max(self.seen.len() as u32);
        if !self.seen.is_empty() {
            self.put(0, 0, 0, END, 0, 0);
        }
        self.blocks.clear();
        self.seen.clear();
        self.free_slots.clear();
        (self.next, self.live_bytes, self.thread) = (0, 0, 0);
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
