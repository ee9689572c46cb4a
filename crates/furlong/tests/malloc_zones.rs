//! Zones and caches of objects that lose a block, keep one too long, or take a foreign one. Their
//! records match their holders' blocks, also in another thread and in a forked process.

mod allocators;

use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use furlong::malloc::{Batched, Checked, Config, Inlined, Object, ObjectCache, Secure, Zone};

allocators::allocators! {
    Sent, SentThread, SENT: Checked, Inlined, Batched;
    Left, LeftThread, LEFT: Checked, Inlined, Batched;
    Forked, ForkedThread, FORKED: Checked, Inlined, Batched;
    Ended, EndedThread, ENDED: Secure, Inlined, Batched;
    Full, FullThread, FULL: Checked, Inlined, Batched;
    Counted, CountedThread, COUNTED: Checked, Inlined, Batched;
    Raw, RawThread, RAW: Checked, Inlined, Batched;
}

const SIZES: [usize; 7] = [1, 48, 700, 5000, 40_000, 200_000, 3 << 20];

/// A block of each size, filled.
fn fill<C: Config>(zone: &Zone<C>) -> Vec<(NonNull<u8>, usize)> {
    let block = |size| {
        let block = zone.allocate(size, 16).expect("there is memory");
        // SAFETY: a block of this size.
        unsafe { block.write_bytes(7, size) };
        (block, size)
    };
    SIZES.map(block).to_vec()
}

/// Frees blocks that still have their filled contents.
fn free<C: Config>(zone: &Zone<C>, blocks: Vec<(NonNull<u8>, usize)>) {
    for (block, size) in blocks {
        // SAFETY: a block of this size, all of which was written.
        let bytes = unsafe { std::slice::from_raw_parts(block.as_ptr(), size) };
        assert!(bytes.iter().all(|byte| *byte == 7), "{size}");
        // SAFETY: it came from this zone, and is no longer used.
        unsafe { zone.free(block) };
    }
}

fn addresses(blocks: &[(NonNull<u8>, usize)]) -> Vec<usize> {
    blocks.iter().map(|(block, _)| block.addr().get()).collect()
}

#[test]
fn a_zone_goes_on_in_another_thread_and_ends_in_a_third() {
    let zone = Zone::new(&SENT).expect("there is memory");
    let first = addresses(&fill(&zone));
    let zone = thread::spawn(move || {
        let more = fill(&zone);
        let twice = addresses(&more)
            .into_iter()
            .any(|block| first.contains(&block));
        assert!(!twice, "a block was given out twice");
        free(&zone, more);
        zone
    });
    let zone = zone.join().expect("what it asserts holds");
    assert_eq!(SENT.statistics().used_blocks, SIZES.len());
    thread::spawn(move || drop(zone))
        .join()
        .expect("it ends well");
    let after = SENT.statistics();
    assert_eq!((after.used_blocks, after.used_bytes), (0, 0), "{after:?}");
    SENT.check().expect("every invariant holds");
}

#[test]
fn a_zone_goes_on_in_a_forked_process_and_no_thread_takes_its_heap() {
    let zone = Zone::new(&FORKED).expect("there is memory");
    let blocks = fill(&zone);
    // The steps of a forked child.
    // SAFETY: no call comes between the two.
    unsafe { FORKED.before_fork() };
    // SAFETY: there is no child, but as in one this is the only thread with a heap.
    unsafe { FORKED.after_fork_in_child() };
    let zones_before = FORKED.statistics().zones;
    let taken = addresses(&blocks);
    let other = thread::spawn(move || {
        let block = FORKED.allocate(48);
        let same_span = |other: &usize| other >> 16 == block.addr() >> 16;
        assert!(!taken.iter().any(same_span), "a span of the zone's");
        // SAFETY: it is live, and no longer used.
        unsafe { FORKED.free(block) };
    });
    other.join().expect("what it asserts holds");
    assert_eq!((zones_before, FORKED.statistics().zones), (1, 1));
    let more = fill(&zone);
    free(&zone, blocks);
    free(&zone, more);
    FORKED.check().expect("every invariant holds");
}

/// A heap left behind by a thread has room for more, which a zone must not use: the zone's end
/// would take the blocks still in use there with it.
#[test]
fn a_zone_takes_nothing_of_a_thread_that_has_ended() {
    let left = thread::spawn(|| {
        let blocks: Vec<_> = (0..100).map(|_| LEFT.allocate(48)).collect();
        for block in &blocks[1..] {
            // SAFETY: it is live, and no longer used.
            unsafe { LEFT.free(*block) };
        }
        blocks[0].expose_provenance()
    });
    let left = left.join().expect("there is memory");
    let zone = Zone::new(&LEFT).expect("there is memory");
    for _ in 0..500 {
        let block = zone.allocate(48, 16).expect("there is memory");
        let same_span = block.addr().get() >> 16 == left >> 16;
        assert!(!same_span, "a span of the thread's");
    }
    drop(zone);
    assert_eq!(LEFT.statistics().used_blocks, 1);
    // SAFETY: the live block.
    unsafe { LEFT.free(std::ptr::with_exposed_provenance_mut(left)) };
    assert_eq!(LEFT.statistics().used_blocks, 0);
}

#[test]
fn zones_that_come_and_go_need_no_more_than_one() {
    let mut arenas = Vec::new();
    for _ in 0..300 {
        let zone = Zone::new(&ENDED).expect("there is memory");
        drop(fill(&zone));
        drop(zone);
        arenas.push(ENDED.statistics().arena_bytes);
    }
    assert!(arenas.iter().all(|bytes| *bytes == arenas[0]), "{arenas:?}");
    let after = ENDED.statistics();
    assert_eq!((after.used_blocks, after.zones), (0, 1));
    // Three at once need three, again and again.
    for _ in 0..3 {
        drop([(); 3].map(|()| Zone::new(&ENDED)));
        assert_eq!(ENDED.statistics().zones, 3);
    }
}

#[test]
fn a_zone_drops_its_full_spans_and_those_that_were_full() {
    // Another heap's spans stay.
    let kept: Vec<*mut u8> = (0..2000).map(|_| FULL.allocate(1000)).collect();
    let before = FULL.statistics().used_blocks;
    for every in [1, 2, 700, usize::MAX] {
        let zone = Zone::new(&FULL).expect("there is memory");
        let blocks: Vec<_> = (0..5000)
            .map(|at| {
                zone.allocate([1000, 48, 3000][at % 3], 16)
                    .expect("there is memory")
            })
            .collect();
        for block in blocks.into_iter().step_by(every) {
            // SAFETY: it came from this zone, and is no longer used.
            unsafe { zone.free(block) };
        }
        FULL.check().expect("nothing is broken");
        drop(zone);
        assert_eq!(FULL.statistics().used_blocks, before, "{every}");
        FULL.check().expect("nothing is broken");
    }
    for block in kept {
        // SAFETY: it is live, and no longer used.
        unsafe { FULL.free(block) };
    }
    assert_eq!(FULL.statistics().used_blocks, 0);
}

/// Counts its live instances.
struct Alive<'a>(&'a AtomicUsize, [u64; 5]);

impl<'a> Alive<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count, [3; 5])
    }
}

impl Drop for Alive<'_> {
    fn drop(&mut self) {
        assert_eq!(self.1, [3; 5], "dropped when it was dropped already");
        self.1 = [0; 5];
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[test]
fn objects_are_dropped_once_and_their_memory_comes_back() {
    let alive = AtomicUsize::new(0);
    let cache = ObjectCache::new(&COUNTED).expect("there is memory");
    let object = || {
        cache
            .make(Alive::new(&alive))
            .ok()
            .expect("there is memory")
    };
    let mut many: Vec<_> = (0..1000).map(|_| object()).collect();
    assert_eq!((cache.len(), alive.load(Ordering::SeqCst)), (1000, 1000));
    many.truncate(400);
    let out: Vec<Alive<'_>> = many.drain(300..).map(Object::into_inner).collect();
    assert_eq!((cache.len(), alive.load(Ordering::SeqCst)), (300, 400));
    drop((many, out));
    assert_eq!((cache.len(), alive.load(Ordering::SeqCst)), (0, 0));
    assert_eq!(COUNTED.statistics().used_blocks, 0);

    let mut reserve = cache.reserve::<3>().expect("there is memory");
    let kept = [(); 2].map(|()| reserve.make(Alive::new(&alive)).ok());
    assert!(kept.iter().all(Option::is_some));
    assert_eq!((reserve.left(), COUNTED.statistics().used_blocks), (1, 3));
    drop(reserve);
    assert_eq!(COUNTED.statistics().used_blocks, 2);
    drop(kept);
    assert!(cache.is_empty() && alive.load(Ordering::SeqCst) == 0);
}

#[test]
fn an_object_that_comes_back_from_its_pointer_is_the_same() {
    let cache = ObjectCache::new(&RAW).expect("there is memory");
    let [one, two] = ["one", "two"].map(|text| cache.make(String::from(text)));
    let [one, two] = [one, two].map(|object| object.expect("there is memory").into_raw());
    assert_eq!(cache.len(), 2);
    // SAFETY: it came from this cache, and is returned once.
    let one = unsafe { cache.from_raw(one) };
    assert_eq!((&**one, cache.len()), ("one", 2));
    drop(one);
    // SAFETY: as above.
    drop(unsafe { cache.from_raw(two) }.into_inner());
    assert!(cache.is_empty());
}
