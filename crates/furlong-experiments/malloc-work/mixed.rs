//! Random mixed: a slot is drawn; what is there is freed, and what is not is allocated.
//!
//! The sizes and the draw are those of hakmem's `bench_random_mixed`: one number of 32 bits each
//! time, whose remainder is the slot and whose lowest ten bits, and 16, are the size. All slots are
//! freed at the end of a round, within the time; a tenth of a round from another seed is done
//! before it.
#![forbid(unsafe_code)]

use crate::block::{Block, Source};
use crate::clock::timed;
use crate::crew::crew;
use crate::options::Options;
use crate::random::Random;
use crate::said::Said;

/// What is added to the seed for the part that is not timed.
const WARM_UP: u32 = 0xdead_beef;

/// What a thread does.
#[derive(Clone, Copy)]
struct Shape {
    slots: usize,
    round: u64,
    rounds: u64,
    seed: u32,
}

type Slots<S> = Vec<Option<Block<S>>>;

/// Runs whole rounds, at least as many operations as were asked for; with 0, the warm-up alone.
pub(crate) fn run<S: Source>(options: &Options) -> Said {
    let round = options.take("round").max(1);
    let shape = Shape {
        slots: options.size("slots"),
        round,
        rounds: options.take("operations").div_ceil(round),
        seed: options.take("seed") as u32,
    };
    let threads = options.size("threads");
    options.done();
    let (digest, elapsed) = if threads == 1 {
        let mut slots = warmed::<S>(shape);
        timed(|| rounds(&mut slots, shape))
    } else {
        timed(|| crew(threads, |thread| of_thread::<S>(shape, thread)))
    };
    Said {
        operations: shape.round * shape.rounds * threads as u64,
        elapsed,
        digest,
        more: vec![],
    }
}

/// What one of several threads does, with slots and a seed of its own.
fn of_thread<S: Source>(shape: Shape, thread: usize) -> u64 {
    let seed = shape.seed.wrapping_add(thread as u32);
    let shape = Shape { seed, ..shape };
    rounds(&mut warmed::<S>(shape), shape)
}

fn warmed<S: Source>(shape: Shape) -> Slots<S> {
    let mut slots = Vec::with_capacity(shape.slots);
    slots.resize_with(shape.slots, || None);
    let seed = shape.seed.wrapping_add(WARM_UP);
    operate(&mut slots, seed, shape.round / 10);
    drain(&mut slots);
    slots
}

fn rounds<S: Source>(slots: &mut Slots<S>, shape: Shape) -> u64 {
    (0..shape.rounds).fold(0_u64, |digest, _| {
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
