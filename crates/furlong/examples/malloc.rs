//! A program with this global allocator, which prints its statistics at the end.
//!
//! ```text
//! cargo run -p furlong --features std --example malloc
//! ```
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::collections::BTreeMap;
use std::thread;

use furlong::malloc::{
    Batched, Checked, Config, Global, Inlined, Linux, ObjectCache, Profile, thread_heap,
};

/// The configuration: pages from Linux, cheap checks, entry functions inlined in their callers.
struct Program;

impl Config for Program {
    type Source = Linux;
    type Current = Thread;
    type Hardening = Checked;
    type Gate = Inlined;
    type Tier = Batched;
}

thread_heap!(Thread, static MALLOC: Malloc<Program> = Linux);
#[global_allocator]
static GLOBAL: Global<Program> = Global::new(&MALLOC);

/// The numbers below a limit, by their number of divisors.
fn divisors(limit: u64) -> BTreeMap<usize, Vec<u64>> {
    let mut by_count: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
    for number in 1..limit {
        let divisors: Vec<u64> = (1..=number).filter(|by| number % by == 0).collect();
        by_count.entry(divisors.len()).or_default().push(number);
    }
    by_count
}

fn main() {
    // From here on, less memory for slightly more work.
    MALLOC.follow(&Profile::CONSERVATIVE);

    // Each thread has a heap of its own. Blocks that other threads allocated are freed here.
    let workers: Vec<_> = (1..4)
        .map(|part| thread::spawn(move || divisors(part * 500)))
        .collect();
    for worker in workers {
        let found = worker.join().expect("a worker ends well");
        let (count, numbers) = found.last_key_value().expect("there is a number");
        println!("{count} divisors: {numbers:?}");
    }

    // Objects of one type, in memory that is freed with the cache.
    let squares = ObjectCache::new(&MALLOC).expect("there is memory");
    let pairs: Vec<_> = (0..100_u64)
        .flat_map(|n| squares.make((n, n * n)))
        .collect();
    println!("{} squares; {:?}", squares.len(), pairs.last());

    MALLOC.check().expect("every invariant holds");
    let now = MALLOC.statistics();
    println!(
        "in use: {} blocks, {} bytes; {} heaps run, {} have ended",
        now.used_blocks, now.used_bytes, now.heaps_running, now.heaps_ended
    );
    MALLOC.trim();
    println!("kept: {} bytes", MALLOC.statistics().dirty_bytes);
}
