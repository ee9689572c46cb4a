//! Threads that allocate, and free what others allocated, at random: whatever is written into
//! somebody else's block shows.
#![forbid(unsafe_code)]

use core::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use furlong::malloc::{Gate, Hardening, Malloc, Tier};

use super::block::Block;
use super::parts::{Owned, Parts};
use super::stream::{align, size};
use crate::Random;

/// Blocks that a thread has of its own.
const OWN: usize = 200;

/// Places from which every thread takes and to which every thread gives.
const SHARED: usize = 1024;

/// One in so many operations lets the others have the processor.
const YIELD: u64 = 256;

/// After so many operations a thread ends, and another one begins.
const LIFE: u64 = 10_000;

/// What a stress came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stressed {
    /// Allocations, resizes and frees.
    pub operations: u64,
    /// Frees of blocks that another thread had allocated or resized.
    pub remote: u64,
    /// Threads that began and ended.
    pub threads: u64,
}

impl fmt::Display for Stressed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (operations, remote, threads) = (self.operations, self.remote, self.threads);
        write!(
            f,
            "{operations} operations, {remote} remote frees, {threads} threads"
        )
    }
}

/// A block, and whose it was first.
type Held = (Block, u64);

/// What the threads share.
struct Shared<H: Hardening, G: Gate, T: Tier> {
    malloc: &'static Malloc<Parts<H, G, T>>,
    places: Vec<Mutex<Option<Held>>>,
    remote: AtomicU64,
    done: AtomicU64,
}

impl<H: Hardening, G: Gate, T: Tier> Shared<H, G, T> {
    /// Puts a block in a place that all share, and takes what was there.
    fn exchange(&self, random: &mut Random, held: Held) -> Option<Held> {
        let place = &self.places[random.index(SHARED)];
        place
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .replace(held)
    }

    fn free(&self, (block, from): Held, me: u64) {
        if from != me {
            // Relaxed: a number for a report.
            self.remote.fetch_add(1, Ordering::Relaxed);
        }
        let sized = from.is_multiple_of(2);
        assert!(block.free(&self.malloc, sized), "a block was overwritten");
    }

    fn allocate(&self, random: &mut Random, me: u64) -> Held {
        let (zeroed, key) = (random.below(8) == 0, random.next());
        let request = (size(random), align(random));
        let made = Block::allocate(&self.malloc, request, zeroed, key);
        let (block, intact) = made.unwrap_or_else(|| panic!("{request:?} was refused"));
        assert!(intact, "{request:?} is not zero");
        (block, me)
    }

    fn resize(&self, random: &mut Random, (block, _): Held, me: u64) -> Held {
        let made = block.resize(&self.malloc, size(random).max(1));
        let (block, intact) = made.unwrap_or_else(|_| panic!("a resize was refused"));
        assert!(intact, "a resize lost what was there");
        (block, me)
    }

    /// One thread's life.
    fn live(&self, me: u64, operations: u64, seed: u64) {
        let mut random = Random::new(seed.wrapping_mul(1 << 32).wrapping_add(me));
        let mut own: Vec<Held> = Vec::new();
        for _ in 0..operations {
            if random.below(YIELD) == 0 {
                std::thread::yield_now();
            }
            if own.len() < OWN && random.below(2) == 0 {
                own.push(self.allocate(&mut random, me));
                continue;
            }
            if own.is_empty() {
                continue;
            }
            let held = own.swap_remove(random.index(own.len()));
            match random.below(8) {
                0 => own.push(self.resize(&mut random, held, me)),
                1..4 => {
                    if let Some(other) = self.exchange(&mut random, held) {
                        self.free(other, me);
                    }
                }
                _ => self.free(held, me),
            }
        }
        // Half of what is left outlives the thread, in others' hands.
        for held in own {
            if let Some(other) = self.exchange(&mut random, held) {
                self.free(other, me);
            }
        }
        self.done.fetch_add(operations, Ordering::SeqCst);
        self.malloc.end_thread();
    }

    /// Frees what is left, and looks at everything.
    fn finish(&self, seed: u64) {
        for place in &self.places {
            let held = place.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(held) = held {
                self.free(held, u64::MAX);
            }
        }
        let malloc = self.malloc;
        malloc.trim();
        malloc.end_thread();
        malloc
            .check()
            .unwrap_or_else(|broken| panic!("seed {seed}: {broken}"));
        let after = malloc.statistics();
        let left = (after.used_blocks, after.used_bytes, after.heaps_running);
        assert_eq!(left, (0, 0, 0), "seed {seed}: {after:?}");
    }
}

/// `threads` threads at a time do about so many operations together. Each lives for a while, then
/// another one takes its number.
///
/// # Panics
/// If a byte of a block was changed by somebody else, something that should be zero is not, or a
/// block is lost in the end.
#[must_use]
pub fn stress<H: Hardening, G: Gate, T: Tier>(
    threads: u64,
    operations: u64,
    seed: u64,
) -> Stressed {
    let run = move || {
        let owned = Owned::new(usize::MAX);
        let shared = Shared::<H, G, T> {
            malloc: owned.get(),
            places: (0..SHARED).map(|_| Mutex::new(None)).collect(),
            remote: AtomicU64::new(0),
            done: AtomicU64::new(0),
        };
        let lives = operations.div_ceil(threads * LIFE);
        std::thread::scope(|scope| {
            for number in 0..threads {
                let shared = &shared;
                scope.spawn(move || {
                    for life in 0..lives {
                        let me = number + threads * life;
                        let life = move || shared.live(me, LIFE, seed);
                        std::thread::scope(|one| {
                            one.spawn(life).join().expect("a life goes well");
                        });
                    }
                });
            }
        });
        shared.finish(seed);
        Stressed {
            operations: shared.done.into_inner(),
            remote: shared.remote.into_inner(),
            threads: lives * threads,
        }
    };
    // A thread of its own, for the heap that is the caller's is a variable of the thread.
    std::thread::spawn(run).join().expect("no block is lost")
}
