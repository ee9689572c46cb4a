//! Stress, after mimalloc's `mstress`. Threads start and end. Block sizes are powers of two,
//! smaller ones more often. Some blocks live as long as their thread. Others are swapped with
//! another thread's block at a shared place, and so are freed by that thread.
#![forbid(unsafe_code)]

use std::sync::Mutex;

use crate::block::Marked;
use crate::clock::timed;
use crate::options::Options;
use crate::random::Random;
use crate::said::Said;
use crate::threads::on_threads;

/// Places shared by all threads.
const PLACES: usize = 1000;

/// Blocks that a thread allocates in one life.
const LIFE: u64 = 10_000;

type SharedSlots = Vec<Mutex<Option<Marked>>>;

pub(crate) fn run(options: &Options) -> Said {
    let threads = options.size("threads");
    let share = LIFE * threads as u64;
    let lives = options.take("operations").div_ceil(share);
    let seed = options.take("seed");
    options.done();
    let shared: SharedSlots = (0..PLACES).map(|_| Mutex::new(None)).collect();
    let done = timed(|| {
        let digests = (0..lives).map(|life| {
            on_threads(threads, |thread| {
                live(&shared, Random::of_thread(seed + life, thread))
            })
        });
        let digest = digests.fold(0, u64::wrapping_add);
        shared.iter().filter_map(taken).for_each(Marked::free);
        digest
    });
    Said::new(lives * share, done)
}

fn taken(place: &Mutex<Option<Marked>>) -> Option<Marked> {
    place.lock().expect("nobody panics").take()
}

/// Runs one life of a thread.
fn live(shared: &SharedSlots, mut random: Random) -> u64 {
    let (mut kept, mut passing) = (Vec::new(), Vec::new());
    let mut bytes = 0;
    for _ in 0..LIFE {
        let mut block = Marked::new(size(&mut random));
        bytes += block.len() as u64;
        block.touch();
        // All three are drawn each time: blocks from other threads must not change the next draws.
        let [keeps, frees, passes] = [25, 50, 25].map(|percent| random.below(100) < percent);
        let [place, index] = [random.below(PLACES), random.next() as usize];
        if keeps {
            kept.push(block);
        } else {
            passing.push(block);
        }
        if frees && !passing.is_empty() {
            passing.swap_remove(index % passing.len()).free();
        }
        if passes && !passing.is_empty() {
            let block = passing.swap_remove(index / 7 % passing.len());
            let other = shared[place].lock().expect("nobody panics").replace(block);
            passing.extend(other);
        }
    }
    kept.into_iter().chain(passing).for_each(Marked::free);
    bytes
}

/// Eight bytes times a power of two; each power is half as frequent as the one below it. One size
/// in a thousand is some tens of kilobytes.
fn size(random: &mut Random) -> usize {
    if random.below(1000) == 0 {
        return 16_384 + random.below(65_536);
    }
    let power = random.next().trailing_zeros().min(9);
    8 << power
}
