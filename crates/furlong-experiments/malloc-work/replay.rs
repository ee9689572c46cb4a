//! Replays the recorded calls of a program. Standard input holds the steps that the lab prepared:
//! 24 bytes each, little-endian, in recorded order.
//!
//! | bytes | meaning |
//! |---|---|
//! | 0..4 | thread that carries it out |
//! | 4..8 | slot of the block |
//! | 8..12 | number of earlier steps on this slot |
//! | 12 | kind, see [`Kind`] |
//! | 13 | power of two of the alignment |
//! | 14 | 1 if steps that follow touch the block, 0 if all its pages are touched |
//! | 16..24 | bytes; of pages the first one, and from bit 32 their number; a sample's nanosecond |
//!
//! Threads carry out their own steps concurrently. A step on a block waits for the previous step on
//! the same slot. This cannot deadlock: the earliest step that is not done is always ready.
//!
//! With `samples=1` all threads wait at each sample while one reads the memory of the process. The
//! output then begins with a line for each, the first one of the start: nanoseconds, resident KiB,
//! and the largest resident KiB since the sample before. All memory but the blocks is resident from
//! the start on. With `paced=1` a sample waits for its time, so that an allocator that returns
//! memory after a delay does so as in the recorded program.
#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::Duration;

use crate::block::{Block, input, mapped};
use crate::clock::timed;
use crate::gauge::Gauge;
use crate::options::Options;
use crate::said::{Said, die};
use crate::threads::on_threads;

/// Bytes of a step.
const STEP_BYTES: usize = 24;

/// Kinds of steps.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Allocate,
    Zeroed,
    Free,
    Resize,
    /// The process ends: all threads wait for each other, and live blocks are freed.
    End,
    /// Pages of a block are touched.
    Touch,
    /// The memory of the process is read.
    Sample,
    /// A block is allocated to learn the bytes that it can hold.
    Probe,
}

#[derive(Clone, Copy)]
struct Step {
    thread: usize,
    slot: usize,
    before: u32,
    kind: Kind,
    align: usize,
    is_touched: bool,
    len: usize,
}

impl Step {
    fn read(bytes: &[u8; STEP_BYTES]) -> Self {
        let word = |from: usize| {
            let bytes = bytes[from..from + 4].try_into().expect("four bytes");
            u32::from_le_bytes(bytes)
        };
        let kinds = [
            Kind::Allocate,
            Kind::Zeroed,
            Kind::Free,
            Kind::Resize,
            Kind::End,
            Kind::Touch,
            Kind::Sample,
            Kind::Probe,
        ];
        let Some(kind) = kinds.get(usize::from(bytes[12])) else {
            die("a step has an unknown kind: furlong prepares this input");
        };
        Self {
            thread: word(0) as usize,
            slot: word(4) as usize,
            before: word(8),
            kind: *kind,
            align: 1 << bytes[13].min(40),
            is_touched: bytes[14] != 0,
            len: word(16) as usize | (word(20) as usize) << 32,
        }
    }

    /// The word at the start of the block after this step.
    fn word(self) -> u64 {
        (self.slot as u64) << 32 | u64::from(self.before)
    }
}

/// A block, and the word at its start; no word in a block of which only some pages are touched.
type Live = (Block, Option<u64>);

/// A slot for a block, and the number of steps done on it.
#[derive(Default)]
struct Slot {
    seen: AtomicU32,
    live: Mutex<Option<Live>>,
}

impl Slot {
    fn take(&self) -> Live {
        let live = self.live.lock().expect("nobody panics").take();
        live.unwrap_or_else(|| die("a step names no block: furlong prepares this input"))
    }

    fn put(&self, live: Live) {
        *self.live.lock().expect("nobody panics") = Some(live);
    }
}

/// Everything that the threads share.
struct Shared<'a> {
    table: &'a [Slot],
    barrier: Barrier,
    /// Without it nothing is sampled.
    gauge: Option<Gauge>,
    is_paced: bool,
}

pub(crate) fn run(options: &Options) -> Said {
    let (threads, slots) = (options.size("threads"), options.size("slots"));
    let is_sampled = options.take("samples") > 0;
    let is_paced = options.take("paced") > 0;
    options.done();
    let (steps, rest) = input(is_sampled).as_chunks::<STEP_BYTES>();
    if steps.is_empty() || !rest.is_empty() {
        die("standard input is truncated: furlong prepares this input");
    }
    let steps = || steps.iter().map(Step::read);
    let samples = steps().filter(|step| step.kind == Kind::Sample).count();
    let shared = Shared {
        table: mapped(slots, Slot::default),
        barrier: Barrier::new(threads),
        gauge: is_sampled.then(|| Gauge::new(samples + 1)),
        is_paced,
    };
    let done = timed(|| {
        on_threads(threads, |thread| {
            shared.sample(thread, 0);
            let all = |step: &Step| matches!(step.kind, Kind::End | Kind::Sample);
            let own = |step: &Step| step.thread == thread || all(step);
            let own = steps().filter(own);
            own.map(|step| shared.carry_out(step, thread))
                .fold(0, u64::wrapping_add)
        })
    });
    let mut said = Said::new(steps().count() as u64, done);
    let probes = steps().filter(|step| step.kind == Kind::Probe);
    let usable = |step: Step| format!("usable {} {}", step.len, Block::new(step.len, 0).usable());
    if let Some(gauge) = &shared.gauge {
        said.more.push(("sampling_ns", gauge.spent_ns()));
        said.lines = gauge.lines();
    }
    said.lines.extend(probes.map(usable));
    said
}

impl Shared<'_> {
    /// Lets all threads wait while the first one does something.
    fn together(&self, thread: usize, first: impl FnOnce()) {
        self.barrier.wait();
        if thread == 0 {
            first();
        }
        self.barrier.wait();
    }

    fn sample(&self, thread: usize, at_ns: usize) {
        if let Some(gauge) = &self.gauge {
            let at_ns = if self.is_paced { at_ns } else { 0 };
            self.together(thread, || gauge.read(Duration::from_nanos(at_ns as u64)));
        }
    }

    /// Does one step. Returns the bytes that it allocated.
    fn carry_out(&self, step: Step, thread: usize) -> u64 {
        match step.kind {
            Kind::End => self.together(thread, || end(self.table)),
            Kind::Sample => self.sample(thread, step.len),
            Kind::Probe => {}
            _ => return on_block(step, &self.table[step.slot]),
        }
        0
    }
}

/// Does one step on a block. Returns the bytes that it allocated.
fn on_block(step: Step, slot: &Slot) -> u64 {
    // Acquire: pairs with the release below, by the previous step on this slot.
    while slot.seen.load(Ordering::Acquire) != step.before {
        thread::yield_now();
    }
    let bytes = match step.kind {
        Kind::Free => {
            free(slot.take());
            0
        }
        Kind::Touch => {
            let (mut block, word) = slot.take();
            block.touch_pages(step.len & 0xffff_ffff, step.len >> 32);
            slot.put((block, word));
            0
        }
        _ if step.is_touched => {
            slot.put((unmarked(step, slot), None));
            step.len as u64
        }
        _ => {
            let mut block = marked(step, slot);
            block.touch();
            block.touch_end();
            slot.put((block, Some(step.word())));
            step.len as u64
        }
    };
    // Release: pairs with the acquire above, of the next step on this slot.
    slot.seen.store(step.before + 1, Ordering::Release);
    bytes
}

/// Makes a block with its word at the start.
fn marked(step: Step, slot: &Slot) -> Block {
    let word = step.word();
    match step.kind {
        Kind::Resize => match slot.take() {
            (block, Some(old)) => block.resized(step.len, old, word),
            (block, None) => {
                let mut block = block.resized_unmarked(step.len);
                block.mark(word);
                block
            }
        },
        Kind::Zeroed => Block::zeroed(step.len, word),
        _ if step.align > 1 => Block::aligned(step.len, step.align, word),
        _ => Block::new(step.len, word),
    }
}

/// Makes a block that steps behind this one touch.
fn unmarked(step: Step, slot: &Slot) -> Block {
    match step.kind {
        Kind::Resize => slot.take().0.resized_unmarked(step.len),
        Kind::Zeroed => Block::unmarked_zeroed(step.len),
        _ => Block::unmarked(step.len, step.align),
    }
}

fn free((block, word): Live) {
    match word {
        Some(word) => block.free(word),
        None => block.free_unmarked(),
    }
}

/// Frees live blocks and resets all slots.
fn end(table: &[Slot]) {
    for slot in table {
        let live = slot.live.lock().expect("nobody panics").take();
        live.map(free);
        // Relaxed: the barrier orders this store.
        slot.seen.store(0, Ordering::Relaxed);
    }
}
