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
//! | 16..24 | bytes |
//!
//! Threads carry out their own steps concurrently. A step on a block waits for the previous step on
//! the same slot. This cannot deadlock: the earliest step that is not done is always ready.
#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread;

use crate::block::{Block, input};
use crate::clock::timed;
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
}

#[derive(Clone, Copy)]
struct Step {
    thread: usize,
    slot: usize,
    before: u32,
    kind: Kind,
    align: usize,
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
            len: word(16) as usize | (word(20) as usize) << 32,
        }
    }

    /// The word at the start of the block after this step.
    fn word(self) -> u64 {
        (self.slot as u64) << 32 | u64::from(self.before)
    }
}

/// A slot for a block, and the number of steps done on it.
#[derive(Default)]
struct Slot {
    seen: AtomicU32,
    live: Mutex<Option<(Block, u64)>>,
}

impl Slot {
    fn take(&self) -> (Block, u64) {
        let live = self.live.lock().expect("nobody panics").take();
        live.unwrap_or_else(|| die("a step names no block: furlong prepares this input"))
    }

    fn put(&self, block: Block, word: u64) {
        *self.live.lock().expect("nobody panics") = Some((block, word));
    }
}

pub(crate) fn run(options: &Options) -> Said {
    let (threads, slots) = (options.size("threads"), options.size("slots"));
    options.done();
    let (steps, rest) = input().as_chunks::<STEP_BYTES>();
    if steps.is_empty() || !rest.is_empty() {
        die("standard input is truncated: furlong prepares this input");
    }
    let table: Vec<Slot> = (0..slots).map(|_| Slot::default()).collect();
    let barrier = Barrier::new(threads);
    let done = timed(|| {
        on_threads(threads, |thread| {
            let own = |step: &Step| step.thread == thread || step.kind == Kind::End;
            let own = steps.iter().map(Step::read).filter(own);
            own.map(|step| carry_out(step, thread, &table, &barrier))
                .fold(0, u64::wrapping_add)
        })
    });
    Said::new(steps.len() as u64, done)
}

/// Does one step. Returns the bytes that it allocated.
fn carry_out(step: Step, thread: usize, table: &[Slot], barrier: &Barrier) -> u64 {
    if step.kind == Kind::End {
        barrier.wait();
        if thread == 0 {
            end(table);
        }
        barrier.wait();
        return 0;
    }
    let slot = &table[step.slot];
    // Acquire: pairs with the release below, by the previous step on this slot.
    while slot.seen.load(Ordering::Acquire) != step.before {
        thread::yield_now();
    }
    let word = step.word();
    let made = match step.kind {
        Kind::Allocate if step.align > 1 => Some(Block::aligned(step.len, step.align, word)),
        Kind::Allocate => Some(Block::new(step.len, word)),
        Kind::Zeroed => Some(Block::zeroed(step.len, word)),
        Kind::Resize => {
            let (block, old) = slot.take();
            Some(block.resized(step.len, old, word))
        }
        Kind::Free | Kind::End => {
            let (block, old) = slot.take();
            block.free(old);
            None
        }
    };
    let bytes = made.as_ref().map_or(0, |_| step.len as u64);
    if let Some(mut block) = made {
        block.touch();
        slot.put(block, word);
    }
    // Release: pairs with the acquire above, of the next step on this slot.
    slot.seen.store(step.before + 1, Ordering::Release);
    bytes
}

/// Frees live blocks and resets all slots.
fn end(table: &[Slot]) {
    for slot in table {
        if let Some((block, word)) = slot.live.lock().expect("nobody panics").take() {
            block.free(word);
        }
        // Relaxed: the barrier orders this store.
        slot.seen.store(0, Ordering::Relaxed);
    }
}
