//! Samples: each stands for a known number of allocations, and ends once.
#![forbid(unsafe_code)]

use core::marker::PhantomData;
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, MutexGuard, OnceLock};
use std::thread;

use super::super::{
    Batched, Class, Config, CurrentHeap, FREED, Hardening, Inlined, Linux, Malloc, NoHardening,
    PageSource, PerCall, Profile, Sample, Sampler, Secure, Tier, Zone,
};
use super::source::{Call, Source};
use super::{Checked, OfThread, allocate, free, numbers, resize, with_new};
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The samples that were reported: the sizes of those in use, and sums over all.
#[derive(Default)]
struct Ledger {
    live: HashMap<usize, usize>,
    samples: usize,
    allocations: f64,
    bytes: f64,
}

#[derive(Default)]
struct Book(Mutex<Ledger>);

impl Book {
    fn open(&self) -> MutexGuard<'_, Ledger> {
        self.0.lock().expect("nobody panics with it")
    }
}

impl Sampler for LazyLock<Book> {
    fn allocated(&self, sample: Sample) {
        let mut ledger = self.open();
        let stands_for = sample.chance.1 as f64 / sample.chance.0 as f64;
        assert!(stands_for >= 1.0, "{sample:?}");
        ledger.samples += 1;
        ledger.allocations += stands_for;
        ledger.bytes += stands_for * sample.size as f64;
        let before = ledger.live.insert(sample.block.addr(), sample.size);
        assert_eq!(before, None, "it is in use");
    }

    fn freed(&self, block: *mut u8) {
        let size = self.open().live.remove(&block.addr());
        assert!(size.is_some(), "{block:?} is no sample in use");
    }
}

/// One for each test, since tests run at once.
static BOOKS: [LazyLock<Book>; 12] = [const { LazyLock::new(Book::default) }; 12];

const EVERY: usize = 32 << 10;

struct Sampled<const BOOK: usize, H, T = Batched, S = Linux>(PhantomData<(H, T, S)>);

impl<const BOOK: usize, H, T, S> Config for Sampled<BOOK, H, T, S>
where
    H: Hardening,
    T: Tier,
    S: PageSource + 'static,
{
    type Source = S;
    type Current = OfThread;
    type Hardening = H;
    type Gate = Inlined;
    type Tier = T;

    const PROFILE: Profile = Profile {
        sample_bytes: EVERY,
        ..Profile::STANDARD
    };
    const SAMPLER: Option<&'static dyn Sampler> = Some(&BOOKS[BOOK]);
}

#[test]
fn an_object_that_stays_for_want_of_memory_stays_a_sample() {
    type Book10 = Sampled<10, NoHardening, Batched, Source>;
    with_new(Source::able(), |malloc: &'static Malloc<Book10>| {
        // So large that each is sampled.
        let object = allocate(malloc, 5 << 20);
        assert_eq!(BOOKS[10].open().live.get(&object), Some(&(5 << 20)));
        malloc.source().left.store(0, Ordering::SeqCst);
        while !malloc.allocate(3000).is_null() {}
        assert_eq!(resize(malloc, object, 3000), object);
        assert_eq!(BOOKS[10].open().live.get(&object), Some(&3000));
        free(malloc, object);
        assert!(!BOOKS[10].open().live.contains_key(&object));
    });
}

/// Keeps up to 1000 blocks of all kinds of sizes in use, and compares what the samples say with
/// what was allocated.
fn agree<const BOOK: usize, H: Hardening, T: Tier>() {
    with_new(Linux, |malloc: &'static Malloc<Sampled<BOOK, H, T>>| {
        let mut random = numbers(BOOK as u64);
        let mut live = vec![(0, 0); 1000];
        let (mut allocations, mut bytes) = (0, 0);
        for round in 0..200_000 {
            let slot = random(live.len());
            free(malloc, live[slot].0);
            let size = match random(1000) {
                0 => 1 + random(300_000),
                1..20 => 1 + random(60_000),
                20..200 => 1 + random(4000),
                _ => 1 + random(200),
            };
            live[slot] = (allocate(malloc, size), size);
            allocations += 1;
            bytes += size;
            if round % 50_000 == 0 {
                malloc.check().expect("every invariant holds");
            }
        }
        {
            let ledger = BOOKS[BOOK].open();
            for (block, size) in &live {
                let sampled = ledger.live.get(block);
                assert!(sampled.is_none_or(|sampled| sampled == size));
            }
            let listed = live
                .iter()
                .filter(|(block, _)| ledger.live.contains_key(block));
            assert_eq!(
                listed.count(),
                ledger.live.len(),
                "no sample is of a freed block"
            );
            // The deviation of a sum of bytes is below `sqrt(bytes * (EVERY + largest))`.
            let off = (ledger.bytes - bytes as f64).abs();
            let sigma = (bytes as f64 * (EVERY + 60_000) as f64).sqrt();
            assert!(off < 6.0 * sigma, "{} of {bytes} bytes", ledger.bytes);
            // A block of 16 bytes that is sampled stands for `EVERY / 16` allocations.
            let off = (ledger.allocations - f64::from(allocations)).abs();
            let sigma = (f64::from(allocations) * (EVERY / 16) as f64).sqrt();
            let counted = ledger.allocations;
            assert!(off < 6.0 * sigma, "{counted} of {allocations} allocations");
            assert!(ledger.samples > 1000, "{}", ledger.samples);
        }
        live.iter().for_each(|(block, _)| free(malloc, *block));
        malloc.check().expect("every invariant holds");
        assert!(BOOKS[BOOK].open().live.is_empty());
        malloc.trim();
        assert_eq!(malloc.statistics().used_blocks, 0);
    });
}

#[test]
fn samples_stand_for_all_allocations() {
    agree::<0, Checked, Batched>();
}

#[test]
fn samples_stand_for_all_allocations_without_checks_and_with_another_tier() {
    agree::<1, NoHardening, PerCall>();
}

#[test]
fn samples_stand_for_all_allocations_of_scrubbed_and_shuffled_blocks() {
    agree::<2, Secure, Batched>();
}

/// A heap that has ended keeps freed blocks in stacks of the depth that it followed.
#[test]
fn a_late_call_takes_a_heap_whose_stacks_have_another_depth() {
    for (before, after) in [
        (Profile::STANDARD, Profile::CONSERVATIVE),
        (Profile::CONSERVATIVE, Profile::STANDARD),
    ] {
        with_new(
            Linux,
            move |malloc: &'static Malloc<Sampled<11, Checked>>| {
                let follow = |profile: Profile| {
                    malloc.follow(&Profile {
                        sample_bytes: EVERY,
                        ..profile
                    });
                };
                let in_thread = |work: fn(&'static Malloc<Sampled<11, Checked>>) -> Vec<usize>| {
                    let done = thread::spawn(move || work(malloc)).join();
                    done.expect("what it asserts holds")
                };
                follow(before);
                let mut live = in_thread(|malloc| {
                    let class = Class::of(48).expect("it has a class").index();
                    let mut blocks = vec![allocate(malloc, 48)];
                    while blocks.len() < 12 || OfThread::get().cache.bins.in_chunk(class) > 0 {
                        blocks.push(allocate(malloc, 48));
                    }
                    blocks.drain(..6).for_each(|block| free(malloc, block));
                    assert!(OfThread::get().cache.bins.in_chunk(FREED + class) > 0);
                    malloc.end_thread();
                    blocks
                });
                follow(after);
                live.extend(in_thread(|malloc| {
                    malloc.end_thread();
                    vec![allocate(malloc, 48)]
                }));
                malloc.check().expect("every invariant holds");
                live.extend(in_thread(|malloc| {
                    let blocks = (0..500).map(|_| allocate(malloc, 48)).collect();
                    malloc.end_thread();
                    blocks
                }));
                let count = live.len();
                live.sort_unstable();
                live.dedup();
                assert_eq!(live.len(), count, "no block is handed out twice");
                live.iter().for_each(|block| free(malloc, *block));
                malloc.check().expect("every invariant holds");
                malloc.trim();
                assert_eq!(malloc.statistics().used_blocks, 0);
            },
        );
    }
}

/// A sampler that allocates blocks of other classes.
struct Greedy {
    malloc: OnceLock<&'static Malloc<Sampling>>,
    is_reporting: AtomicBool,
    samples: AtomicUsize,
}

impl Sampler for Greedy {
    fn allocated(&self, _: Sample) {
        let before = self.is_reporting.swap(true, Ordering::SeqCst);
        assert!(!before, "its own blocks are not sampled");
        self.samples.fetch_add(1, Ordering::SeqCst);
        let malloc = self.malloc.get().expect("it was set first");
        let blocks = [16, 64, 4000, 70_000].map(|size| allocate(malloc, size));
        blocks.iter().for_each(|block| free(malloc, *block));
        self.is_reporting.store(false, Ordering::SeqCst);
    }

    fn freed(&self, _: *mut u8) {}
}

static GREEDY: Greedy = Greedy {
    malloc: OnceLock::new(),
    is_reporting: AtomicBool::new(false),
    samples: AtomicUsize::new(0),
};

struct Sampling;

impl Config for Sampling {
    type Source = Linux;
    type Current = OfThread;
    type Hardening = Checked;
    type Gate = Inlined;
    type Tier = Batched;

    const PROFILE: Profile = Profile {
        sample_bytes: 256,
        ..Profile::STANDARD
    };
    const SAMPLER: Option<&'static dyn Sampler> = Some(&GREEDY);
}

#[test]
fn what_a_sampler_allocates_is_not_sampled() {
    with_new(Linux, |malloc: &'static Malloc<Sampling>| {
        assert!(GREEDY.malloc.set(malloc).is_ok());
        let mut random = numbers(1);
        for _ in 0..50_000 {
            let size = [16, 64, 200, 4000][random(4)];
            free(malloc, allocate(malloc, size));
        }
        assert!(GREEDY.samples.load(Ordering::SeqCst) > 1000);
        malloc.check().expect("every invariant holds");
    });
}

/// A block that is freed and allocated in turn never leaves its heap, and is sampled nevertheless.
#[test]
fn one_block_that_comes_and_goes_is_sampled_as_often_as_many_blocks() {
    with_new(Linux, |malloc: &'static Malloc<Sampled<3, Checked>>| {
        let count = 200_000;
        for _ in 0..count {
            free(malloc, allocate(malloc, 64));
        }
        let ledger = BOOKS[3].open();
        let expected = f64::from(count) * 64.0 / EVERY as f64;
        let off = (ledger.samples as f64 - expected).abs();
        assert!(
            off < 6.0 * expected.sqrt(),
            "{} of {expected}",
            ledger.samples
        );
        assert!(ledger.live.is_empty());
    });
}

#[test]
fn samples_that_another_thread_frees_end_as_well() {
    with_new(Linux, |malloc: &'static Malloc<Sampled<4, Checked>>| {
        let blocks: Vec<_> = (0..20_000).map(|at| allocate(malloc, at % 500)).collect();
        assert!(BOOKS[4].open().samples > 50);
        let other = thread::spawn(move || {
            blocks.iter().for_each(|block| free(malloc, *block));
            malloc.end_thread();
        });
        other.join().expect("each is freed once");
        assert!(BOOKS[4].open().live.is_empty());
        malloc.check().expect("every invariant holds");
    });
}

/// Blocks that are in use meanwhile are freed in the next state.
#[test]
fn a_profile_interrupts_the_sampling() {
    with_new(Linux, |malloc: &'static Malloc<Sampled<5, Checked>>| {
        let allocated = || -> Vec<_> { (0..20_000).map(|_| allocate(malloc, 100)).collect() };
        let change = |profile, blocks: Vec<usize>| {
            malloc.follow(profile);
            blocks.iter().for_each(|block| free(malloc, *block));
            malloc.check().expect("every invariant holds");
            let blocks = allocated();
            (BOOKS[5].open().samples, blocks)
        };
        let (none, blocks) = change(&Profile::STANDARD, Vec::new());
        assert_eq!(none, 0);
        let (first, blocks) = change(&Sampled::<5, Checked>::PROFILE, blocks);
        let (second, blocks) = change(&Sampled::<5, Checked>::PROFILE, blocks);
        assert!(first > 20 && second > first + 20, "{first} {second}");
        let (third, blocks) = change(&Profile::CONSERVATIVE, blocks);
        assert_eq!(third, second);
        let (_, blocks) = change(&Profile::STANDARD, blocks);
        blocks.iter().for_each(|block| free(malloc, *block));
        assert!(BOOKS[5].open().live.is_empty());
        malloc.trim();
        assert_eq!(malloc.statistics().used_blocks, 0);
    });
}

/// A block that is resized counts with its new size.
#[test]
fn a_resized_object_is_another_sample() {
    with_new(Linux, |malloc: &'static Malloc<Sampled<6, Checked>>| {
        let mut block = allocate(malloc, 100_000);
        for size in [200_000, 3_000_000, 9_000_000, 20_000_000, 70_000, 10] {
            block = resize(malloc, block, size);
            let ledger = BOOKS[6].open();
            // Objects larger than the interval are always sampled.
            let expected = (size > EVERY).then_some(&size);
            let live = ledger.live.get(&block);
            assert!(live == expected || size == 10, "{size}: {live:?}");
            assert!(ledger.live.len() <= 1, "{:?}", ledger.live);
        }
        free(malloc, block);
        assert!(BOOKS[6].open().live.is_empty());
    });
}

/// A heap that is taken over has stacks, and perhaps a sample that is due in one of them.
#[test]
fn threads_that_follow_one_another_are_sampled_like_one() {
    with_new(Linux, |malloc: &'static Malloc<Sampled<7, Checked>>| {
        let (threads, count) = (100, 2000);
        for _ in 0..threads {
            let one = thread::spawn(move || {
                let blocks: Vec<_> = (0..count).map(|_| allocate(malloc, 64)).collect();
                blocks.iter().for_each(|block| free(malloc, *block));
                malloc.end_thread();
            });
            one.join().expect("each is freed once");
        }
        let ledger = BOOKS[7].open();
        let expected = f64::from(threads * count) * 64.0 / EVERY as f64;
        let off = (ledger.samples as f64 - expected).abs();
        let counted = ledger.samples;
        assert!(off < 6.0 * expected.sqrt(), "{counted} of {expected}");
        assert!(ledger.live.is_empty());
        malloc.check().expect("every invariant holds");
    });
}

#[test]
fn without_memory_for_a_sample_the_allocation_succeeds_and_is_not_sampled() {
    type Limited = Sampled<8, Checked, Batched, Source>;
    let begun = |malloc: &'static Malloc<Limited>| {
        let source = malloc.source();
        let allocated = || (0..10_000).map(|_| allocate(malloc, 64));
        let first = allocate(malloc, 64);
        if BOOKS[8].open().samples > 0 {
            return false;
        }
        let calls = source.calls(Call::Map);
        let left = source.left.swap(0, Ordering::SeqCst);
        let mut blocks: Vec<_> = allocated().collect();
        // 20 samples were due, and the heap of samples had no memory.
        assert!(source.calls(Call::Map) > calls);
        assert_eq!(BOOKS[8].open().samples, 0);
        source.left.store(left, Ordering::SeqCst);
        blocks.extend(allocated());
        assert!(BOOKS[8].open().samples > 3);
        blocks.push(first);
        assert!(!blocks.contains(&0));
        blocks.iter().for_each(|block| free(malloc, *block));
        assert!(BOOKS[8].open().live.is_empty());
        malloc.check().expect("every invariant holds");
        true
    };
    // One first block of 512 is a sample: then the heap of samples has memory already.
    while !with_new(Source::default(), begun) {
        *BOOKS[8].open() = Ledger::default();
    }
}

#[test]
fn no_object_of_a_zone_is_a_sample() {
    with_new(Linux, |malloc: &'static Malloc<Sampled<9, NoHardening>>| {
        let zone = Zone::new(malloc).expect("there is memory");
        for size in [100_000, 3 << 20, 100] {
            assert!((0..50).all(|_| zone.allocate(size, 16).is_some()));
        }
        drop(zone);
        assert_eq!(BOOKS[9].open().samples, 0);
        free(malloc, allocate(malloc, 100_000));
        assert_eq!(BOOKS[9].open().samples, 1, "it is larger than the mean");
    });
}
