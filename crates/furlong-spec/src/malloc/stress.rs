//! Threads that allocate, and free each other's blocks, at random. A write into another thread's
//! block is detected.
#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use furlong::malloc::{Gate, Hardening, Malloc, Tier};

use super::block::Block;
use super::pages::Pages;
use super::parts::{Owned, Parts};
use super::stream::{align, size};
use crate::Random;
use crate::counts::counts;

/// The maximum number of blocks that a thread keeps to itself.
const OWN: usize = 200;

/// The number of places shared by all threads.
const SHARED: usize = 1024;

/// On average, a thread yields the processor once in this number of operations.
const YIELD: u64 = 256;

/// The number of operations after which a thread ends and another one begins.
const LIFE: u64 = 10_000;

counts! {
    /// The counts of a stress run.
    pub struct Stressed {
        /// Allocations, resizes and frees.
        operations: "operations",
        /// Frees of blocks that another thread had allocated or resized last.
        remote: "remote frees",
        /// Threads that began and ended.
        threads: "threads",
    }
}

/// A block, and the thread that allocated or resized it last.
type Held = (Block, u64);

/// State shared by the threads.
struct Shared<H: Hardening, G: Gate, T: Tier> {
    malloc: &'static Malloc<Parts<H, G, T>>,
    places: Vec<Mutex<Option<Held>>>,
    remote: AtomicU64,
    done: AtomicU64,
}

impl<H: Hardening, G: Gate, T: Tier> Shared<H, G, T> {
    /// Puts a block in a random shared place, and takes the block that was there.
    fn exchange(&self, random: &mut Random, held: Held) -> Option<Held> {
        let place = &self.places[random.index(SHARED)];
        place
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .replace(held)
    }

    fn free(&self, (block, from): Held, me: u64) {
        if from != me {
            // Relaxed: it pairs with nothing; the number is only reported.
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

    /// The life of one thread.
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
        // The remaining blocks outlive the thread in the shared places, or replace blocks freed
        // here.
        for held in own {
            if let Some(other) = self.exchange(&mut random, held) {
                self.free(other, me);
            }
        }
        self.done.fetch_add(operations, Ordering::SeqCst);
        self.malloc.end_thread();
    }

    /// Frees the remaining blocks, and checks the allocator.
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

/// Runs about `operations` operations on `threads` threads at a time. Each thread ends after a
/// while, and another one continues with its number.
///
/// # Panics
/// If a byte of a block was changed by another thread, a zeroed block is not zero, or a block is
/// lost at the end.
#[must_use]
pub fn stress<H: Hardening, G: Gate, T: Tier>(
    threads: u64,
    operations: u64,
    seed: u64,
) -> Stressed {
    let run = move || {
        let owned = Owned::new(Pages::new(usize::MAX));
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
    // A separate thread, because the current heap is a thread-local variable.
    std::thread::spawn(run).join().expect("no block is lost")
}
