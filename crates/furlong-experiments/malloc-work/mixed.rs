//! Random mixed: a slot is drawn; its block is freed if it has one, otherwise one is allocated.
//!
//! The sizes and the draw are those of hakmem's `bench_random_mixed`. Each operation draws one
//! 32-bit number: its remainder is the slot, and its lowest ten bits plus 16 are the size. All
//! slots are freed at the end of a batch, within the timed part. A tenth of a batch with another
//! seed runs first, untimed.
#![forbid(unsafe_code)]

use crate::block::{Block, Source};
use crate::clock::timed;
use crate::options::Options;
use crate::random::Random;
use crate::said::Said;
use crate::threads::on_threads;

/// Added to the seed for the untimed part.
const WARM_UP: u32 = 0xdead_beef;

/// Work of one thread.
#[derive(Clone, Copy)]
struct Shape {
    slots: usize,
    round: u64,
    batches: u64,
    seed: u32,
}

type Slots<S> = Vec<Option<Block<S>>>;

/// Runs whole batches, at least the requested number of operations. With 0, only the warm-up runs.
pub(crate) fn run<S: Source>(options: &Options) -> Said {
    let round = options.take("round").max(1);
    let shape = Shape {
        slots: options.size("slots"),
        round,
        batches: options.take("operations").div_ceil(round),
        seed: options.take("seed") as u32,
    };
    let threads = options.size("threads");
    options.done();
    let done = if threads == 1 {
        let mut slots = warmed::<S>(shape);
        timed(|| batches(&mut slots, shape))
    } else {
        timed(|| on_threads(threads, |thread| of_thread::<S>(shape, thread)))
    };
    Said::new(shape.round * shape.batches * threads as u64, done)
}

/// Runs one of several threads, with slots and a seed of its own.
fn of_thread<S: Source>(shape: Shape, thread: usize) -> u64 {
    let seed = shape.seed.wrapping_add(thread as u32);
    let shape = Shape { seed, ..shape };
    batches(&mut warmed::<S>(shape), shape)
}

fn warmed<S: Source>(shape: Shape) -> Slots<S> {
    let mut slots = Vec::with_capacity(shape.slots);
    slots.resize_with(shape.slots, || None);
    let seed = shape.seed.wrapping_add(WARM_UP);
    operate(&mut slots, seed, shape.round / 10);
    drain(&mut slots);
    slots
}

fn batches<S: Source>(slots: &mut Slots<S>, shape: Shape) -> u64 {
    (0..shape.batches).fold(0_u64, |digest, _| {
        let answer = operate(slots, shape.seed, shape.round);
        drain(slots);
        digest.rotate_left(1).wrapping_add(answer)
    })
}

#[inline(never)]
fn operate<S: Source>(slots: &mut [Option<Block<S>>], seed: u32, operations: u64) -> u64 {
    let mut random = Random::new(seed);
    let mut digest = 0_u64;
    for _ in 0..operations {
        let drawn = random.next();
        let place = drawn as usize % slots.len();
        let slot = &mut slots[place];
        match slot.take() {
            Some(block) => {
                digest = digest.rotate_left(7) ^ block.len() as u64;
                block.free(place as u64);
            }
            None => *slot = Some(Block::new(16 + (drawn as usize & 0x3ff), place as u64)),
        }
    }
    digest
}

fn drain<S: Source>(slots: &mut [Option<Block<S>>]) {
    for (place, slot) in slots.iter_mut().enumerate() {
        if let Some(block) = slot.take() {
            block.free(place as u64);
        }
    }
}
