//! Blocks that overlap, lose their contents or are never freed: a model of every live block, over
//! random streams in one thread and in several that free each other's blocks.

mod allocators;

use std::sync::{Mutex, mpsc};
use std::thread;

use furlong::malloc::{
    Batched, Checked, Config, Inlined, Malloc, NoHardening, Outlined, PerCall, Profile, Secure,
};

/// Random numbers that depend only on the seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// Mostly small, sometimes up to 3 MiB.
    fn size(&mut self) -> usize {
        match self.below(400) {
            0 => self.below(3 << 20),
            1..8 => self.below(300 << 10),
            8..40 => self.below(16 << 10),
            _ => self.below(1200),
        }
    }
}

/// A block of the model: its first and last bytes carry a pattern of its own.
struct Held {
    block: *mut u8,
    size: usize,
    pattern: u8,
}

// SAFETY: its holder owns the block.
unsafe impl Send for Held {}

const EDGE: usize = 192;

impl Held {
    fn new(block: *mut u8, size: usize, pattern: u8) -> Self {
        let mut held = Self {
            block,
            size,
            pattern,
        };
        held.fill();
        held
    }

    fn places(&self) -> impl Iterator<Item = usize> + use<> {
        (0..self.size.min(EDGE)).chain(self.size.saturating_sub(EDGE)..self.size)
    }

    fn fill(&mut self) {
        for at in self.places() {
            // SAFETY: inside the block, which is held.
            unsafe { self.block.wrapping_add(at).write(self.pattern ^ at as u8) };
        }
    }

    fn holds(&self, len: usize) {
        for at in self.places().filter(|at| *at < len) {
            // SAFETY: inside the block, which is held and was filled.
            let found = unsafe { self.block.wrapping_add(at).read() };
            assert_eq!(found, self.pattern ^ at as u8, "byte {at} of {}", self.size);
        }
    }
}

fn allocate<C: Config>(malloc: &'static Malloc<C>, random: &mut Random) -> Held {
    let size = random.size();
    let align = if random.below(8) == 0 {
        1 << random.below(17)
    } else {
        16
    };
    let zeroed = random.below(8) == 0;
    let block = if zeroed {
        malloc.allocate_zeroed(size, align)
    } else {
        malloc.allocate_aligned(size, align)
    };
    assert!(
        !block.is_null() && block.addr() % align.max(16) == 0,
        "{size} at {align}"
    );
    // SAFETY: a block of this allocator's.
    assert!(unsafe { malloc.usable_size(block) } >= size);
    if zeroed {
        // SAFETY: a block of this size, all of which was written.
        let bytes = unsafe { std::slice::from_raw_parts(block, size) };
        assert!(
            bytes.iter().all(|byte| *byte == 0),
            "{size} bytes are not zeros"
        );
    }
    Held::new(block, size, random.next() as u8)
}

fn resize<C: Config>(malloc: &'static Malloc<C>, held: &mut Held, random: &mut Random) {
    let size = random.size().max(1);
    // SAFETY: a block of this allocator's, at a multiple of 16.
    let block = unsafe { malloc.resize(held.block, size, 16) };
    assert!(!block.is_null());
    let kept = size.min(held.size);
    held.block = block;
    held.holds(if held.size == size {
        kept
    } else {
        kept.min(EDGE)
    });
    held.size = size;
    held.fill();
}

fn free<C: Config>(malloc: &'static Malloc<C>, held: &Held) {
    held.holds(held.size);
    // SAFETY: a block of this allocator, no longer used.
    unsafe { malloc.free(held.block) };
}

/// Runs `steps` random operations on up to `slots` blocks.
fn stream<C: Config>(malloc: &'static Malloc<C>, seed: u64, steps: usize, slots: usize) {
    let mut random = Random(seed);
    let mut held: Vec<Held> = Vec::new();
    for _ in 0..steps {
        let full = held.len() >= slots || random.below(5) < 2;
        if held.is_empty() || !full {
            held.push(allocate(malloc, &mut random));
            continue;
        }
        let at = random.below(held.len());
        if random.below(6) == 0 {
            resize(malloc, &mut held[at], &mut random);
        } else {
            free(malloc, &held.swap_remove(at));
        }
    }
    malloc
        .check()
        .unwrap_or_else(|broken| panic!("seed {seed}: {broken}"));
    for held in held {
        free(malloc, &held);
    }
    malloc.trim();
    malloc
        .check()
        .unwrap_or_else(|broken| panic!("seed {seed}: {broken}"));
    let after = malloc.statistics();
    assert_eq!(
        (after.used_blocks, after.used_bytes),
        (0, 0),
        "seed {seed}: {after:?}"
    );
}

allocators::allocators! {
    Plain, PlainThread, PLAIN: NoHardening, Inlined, Batched;
    Standard, StandardThread, STANDARD: Checked, Inlined, Batched;
    Hard, HardThread, HARD: Secure, Inlined, Batched;
    Slow, SlowThread, SLOW: Checked, Outlined, PerCall;
    Many, ManyThread, MANY: Checked, Inlined, Batched;
    Small, SmallThread, SMALL: Checked, Inlined, Batched;
    Huge, HugeThread, HUGE: Checked, Inlined, Batched;
}

#[test]
fn blocks_of_every_arm_keep_their_contents_and_are_all_returned() {
    stream(&PLAIN, 11, 40_000, 600);
    stream(&STANDARD, 12, 40_000, 600);
    stream(&HARD, 13, 20_000, 300);
    stream(&SLOW, 14, 40_000, 600);
}

#[test]
fn small_caches_change_nothing_but_the_work() {
    SMALL.follow(&Profile::CONSERVATIVE);
    stream(&SMALL, 21, 40_000, 600);
}

/// Objects with their own mappings come and go; kept mappings are neither lost nor shared.
#[test]
fn huge_objects_are_made_of_kept_ones_and_are_zero_when_asked() {
    let mut random = Random(41);
    let mut held: Vec<Held> = Vec::new();
    for _ in 0..300 {
        let size = (3 << 20) + random.below(12 << 20);
        let block = HUGE.allocate_zeroed(size, 16);
        // SAFETY: a block of this size, all of which was written.
        let bytes = unsafe { std::slice::from_raw_parts(block, size) };
        assert!(
            bytes.iter().step_by(509).all(|byte| *byte == 0),
            "{size} bytes are not zeros"
        );
        held.push(Held::new(block, size, random.next() as u8));
        if held.len() > 6 {
            let at = random.below(held.len());
            // The last bytes are written, so that a kept mapping has contents to clear.
            free(&HUGE, &held.swap_remove(at));
        }
        if random.below(3) == 0 {
            let at = random.below(held.len());
            resize(&HUGE, &mut held[at], &mut random);
        }
    }
    for held in held {
        free(&HUGE, &held);
    }
    let kept = HUGE.statistics();
    assert_eq!((kept.used_bytes, kept.huge_blocks), (0, 0), "{kept:?}");
    HUGE.trim();
    assert_eq!(HUGE.statistics().dirty_bytes, 0);
}

/// Threads that free blocks of others. Each ends with blocks of its own still in use, in several
/// rounds, so that heaps are taken over.
#[test]
fn blocks_freed_by_other_threads_come_back() {
    for round in 0..4 {
        let (senders, receivers): (Vec<_>, Vec<_>) =
            (0..4).map(|_| mpsc::channel::<Held>()).unzip();
        let left = Mutex::new(Vec::new());
        thread::scope(|scope| {
            let mut threads = Vec::new();
            for (number, inbox) in receivers.into_iter().enumerate() {
                let (senders, left) = (senders.clone(), &left);
                threads.push(scope.spawn(move || {
                    let mut random = Random(31 + round * 4 + number as u64);
                    for _ in 0..8000 {
                        let held = allocate(&MANY, &mut random);
                        let to = random.below(senders.len());
                        senders[to]
                            .send(held)
                            .expect("all threads receive until all have sent");
                        for held in inbox.try_iter().take(3) {
                            free(&MANY, &held);
                        }
                    }
                    drop(senders);
                    left.lock().expect("nobody panics with it").extend(inbox);
                }));
            }
            drop(senders);
            // The scope would wait for their closures, but not for the end of their heaps.
            for thread in threads {
                thread.join().expect("what it asserts holds");
            }
        });
        for held in left.into_inner().expect("nobody panicked with it") {
            free(&MANY, &held);
        }
        MANY.trim();
        MANY.check()
            .unwrap_or_else(|broken| panic!("round {round}: {broken}"));
        let after = MANY.statistics();
        assert_eq!(
            (after.used_blocks, after.used_bytes),
            (0, 0),
            "round {round}: {after:?}"
        );
        // The thread that frees what is left has taken one of them over.
        let heaps = after.heaps_ended + after.heaps_running;
        assert!(heaps >= 4 && after.heaps_running <= 2, "{after:?}");
    }
}
