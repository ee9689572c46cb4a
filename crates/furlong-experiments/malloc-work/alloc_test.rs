//! Blocks with long-tailed sizes and slots, after OLogN's `alloc-test`. Most blocks are small and
//! short-lived. Every byte of each is written and read.
#![forbid(unsafe_code)]

use crate::block::Bytes;
use crate::clock::timed;
use crate::options::Options;
use crate::random::Random;
use crate::said::Said;
use crate::threads::on_threads;

pub(crate) fn run(options: &Options) -> Said {
    let (threads, slots) = (options.size("threads"), options.size("slots"));
    let powers = options.size("powers") as u32;
    let each = options.take("operations").div_ceil(threads as u64);
    let seed = options.take("seed");
    options.done();
    let done = timed(|| {
        on_threads(threads, |thread| {
            let mut kept = Vec::with_capacity(slots);
            kept.resize_with(slots, || None);
            churn(&mut kept, each, powers, Random::of_thread(seed, thread))
        })
    });
    Said::new(each * threads as u64, done)
}

fn churn(slots: &mut [Option<Bytes>], operations: u64, powers: u32, mut random: Random) -> u64 {
    let mut digest = 0_u64;
    for turn in 0..operations {
        // The product of two uniform numbers in [0, 1) favours the first slots.
        let far = (u64::from(random.next()) * u64::from(random.next())) >> 32;
        let place = ((far * slots.len() as u64) >> 32) as usize;
        match slots[place].take() {
            Some(block) => digest = digest.wrapping_add(read(block)),
            None => {
                let power = random.next().trailing_zeros().min(powers);
                let len = 1 + random.below(16 << power);
                slots[place] = Some(Bytes::new(len, turn as u8));
            }
        }
    }
    let rest = slots.iter_mut().filter_map(Option::take).map(read);
    rest.fold(digest, u64::wrapping_add)
}

/// Reads every byte of a block, then frees it.
fn read(block: Bytes) -> u64 {
    let sum = block.iter().map(|byte| u64::from(*byte)).sum();
    block.free();
    sum
}
