//! Batches freed in allocation order, in reverse order, and late, after MicroQuill's SmartHeap
//! benchmarks. With one thread it is sh6bench. With several it is sh8bench: each thread frees the
//! blocks that its neighbour left in the previous turn.
#![forbid(unsafe_code)]

use std::mem;
use std::sync::{Barrier, Mutex};

use crate::block::Marked;
use crate::clock::timed;
use crate::options::Options;
use crate::random::Random;
use crate::said::Said;
use crate::threads::on_threads;

/// Blocks that a thread allocates in one turn.
const BATCH: usize = 3000;

/// Exclusive upper bound of sizes.
const SIZE_END: usize = 1000;

pub(crate) fn run(options: &Options) -> Said {
    let threads = options.size("threads");
    let share = (BATCH * threads) as u64;
    let turns = options.take("operations").div_ceil(share);
    let seed = options.take("seed");
    options.done();
    let left: Vec<Mutex<Vec<Marked>>> = (0..threads).map(|_| Mutex::default()).collect();
    let barrier = Barrier::new(threads);
    let done = timed(|| {
        let digest = on_threads(threads, |thread| {
            let mut random = Random::of_thread(seed, thread);
            let mut bytes = 0;
            for _ in 0..turns {
                let late = turn(&mut random, &mut bytes);
                let old = mem::replace(&mut *left[thread].lock().expect("nobody panics"), late);
                old.into_iter().for_each(Marked::free);
                barrier.wait();
                // Also frees the latter half of the neighbour's leftovers, last block first.
                let mut theirs = left[(thread + 1) % threads].lock().expect("nobody panics");
                let half = theirs.len() / 2;
                theirs.drain(half..).rev().for_each(Marked::free);
                drop(theirs);
                barrier.wait();
            }
            bytes
        });
        let rest = left
            .into_iter()
            .map(|rest| rest.into_inner().expect("nobody panics"));
        rest.flatten().for_each(Marked::free);
        digest
    });
    Said::new(turns * share, done)
}

/// Allocates a batch, frees two thirds of it and returns the rest.
fn turn(random: &mut Random, bytes: &mut u64) -> Vec<Marked> {
    let mut batch: Vec<Marked> = (0..BATCH).map(|_| Marked::new(size(random))).collect();
    *bytes += batch.iter().map(|block| block.len() as u64).sum::<u64>();
    let late = batch.split_off(2 * BATCH / 3);
    let young = batch.split_off(BATCH / 3);
    batch.into_iter().for_each(Marked::free);
    young.into_iter().rev().for_each(Marked::free);
    late
}

/// A random size; smaller ones are more frequent.
fn size(random: &mut Random) -> usize {
    let end = 1 + random.below(SIZE_END - 8);
    8 + random.below(end)
}
