//! A server, after Larson and Krishnan (ISMM 1998). Each thread has an array of blocks. It replaces
//! a randomly drawn block with one of another size, again and again. After a while the thread ends
//! and leaves its array to a new thread, so most blocks are freed by a thread that did not allocate
//! them.
#![forbid(unsafe_code)]

use std::thread;

use crate::block::Marked;
use crate::clock::timed;
use crate::options::Options;
use crate::random::Random;
use crate::said::Said;
use crate::threads::on_threads;

/// Work of one thread.
#[derive(Clone, Copy)]
struct Shape {
    slots: usize,
    least: usize,
    most: usize,
    /// Replacements by one thread before the next takes over.
    replacements: u64,
}

pub(crate) fn run(options: &Options) -> Said {
    let threads = options.size("threads");
    let generations = options.take("generations").max(1);
    let shares = generations * threads as u64;
    let shape = Shape {
        slots: options.size("slots"),
        least: options.size("least"),
        most: options.size("most"),
        replacements: options.take("operations").div_ceil(shares),
    };
    let seed = options.take("seed");
    options.done();
    let done = timed(|| {
        on_threads(threads, |thread| {
            lineage(shape, generations, Random::of_thread(seed, thread))
        })
    });
    Said::new(shape.replacements * shares, done)
}

/// Runs successive threads on one array.
fn lineage(shape: Shape, generations: u64, mut random: Random) -> u64 {
    let mut blocks: Vec<Marked> = (0..shape.slots)
        .map(|_| block(shape, &mut random))
        .collect();
    for _ in 0..generations {
        let server = thread::spawn(move || serve(shape, blocks, random));
        (blocks, random) = server.join().expect("it ends");
    }
    let digest = blocks.iter().map(|block| block.len() as u64).sum();
    blocks.into_iter().for_each(Marked::free);
    digest
}

fn serve(shape: Shape, mut blocks: Vec<Marked>, mut random: Random) -> (Vec<Marked>, Random) {
    for _ in 0..shape.replacements {
        let place = random.below(blocks.len());
        let new = block(shape, &mut random);
        std::mem::replace(&mut blocks[place], new).free();
    }
    (blocks, random)
}

fn block(shape: Shape, random: &mut Random) -> Marked {
    Marked::new(shape.least + random.below(shape.most - shape.least + 1))
}
