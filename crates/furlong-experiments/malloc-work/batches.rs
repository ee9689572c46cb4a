//! Threads that only allocate and threads that only free, after Lever and Boreham's `malloc-test`
//! (USENIX 2000). Blocks pass from one thread to the other in batches. The emptied lists are sent
//! back and reused, so the timed part allocates nothing but blocks.
#![forbid(unsafe_code)]

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use crate::block::Marked;
use crate::clock::timed;
use crate::options::Options;
use crate::random::Random;
use crate::said::Said;

/// Batches in flight between a pair of threads.
const UNDER_WAY: usize = 16;

type Batch = Vec<Marked>;

/// Work of one pair of threads.
#[derive(Clone, Copy)]
struct Shape {
    batches: u64,
    batch: usize,
    least: usize,
    most: usize,
}

pub(crate) fn run(options: &Options) -> Said {
    let (pairs, batch) = (options.size("pairs"), options.size("batch"));
    let share = (batch * pairs) as u64;
    let shape = Shape {
        batches: options.take("operations").div_ceil(share),
        batch,
        least: options.size("least"),
        most: options.size("most"),
    };
    let seed = options.take("seed");
    options.done();
    let done = timed(|| {
        thread::scope(|scope| {
            let pair = |pair: usize| {
                let (full, to_free) = sync_channel(UNDER_WAY);
                let (empty, to_fill) = sync_channel(UNDER_WAY);
                for _ in 0..UNDER_WAY {
                    empty
                        .send(Batch::with_capacity(batch))
                        .expect("there is room");
                }
                let random = Random::of_thread(seed, pair);
                scope.spawn(move || allocate(shape, random, &to_fill, &full));
                scope.spawn(move || free(&to_free, &empty))
            };
            let freeing: Vec<_> = (0..pairs).map(pair).collect();
            let freed = freeing.into_iter().map(|one| one.join().expect("it ends"));
            freed.fold(0, u64::wrapping_add)
        })
    });
    Said::new(shape.batches * share, done)
}

fn allocate(shape: Shape, mut random: Random, to_fill: &Receiver<Batch>, full: &SyncSender<Batch>) {
    for _ in 0..shape.batches {
        let mut batch = to_fill.recv().expect("it comes back");
        let block = |_| {
            let len = shape.least + random.below(shape.most - shape.least + 1);
            Marked::new(len)
        };
        batch.extend((0..shape.batch).map(block));
        full.send(batch).expect("somebody frees them");
    }
}

fn free(to_free: &Receiver<Batch>, empty: &SyncSender<Batch>) -> u64 {
    let mut bytes = 0;
    while let Ok(mut batch) = to_free.recv() {
        for block in batch.drain(..) {
            bytes += block.len() as u64;
            block.free();
        }
        // Fails at the end of the run, when the other thread has stopped.
        let _ = empty.send(batch);
    }
    bytes
}
