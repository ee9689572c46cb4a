//! No latch may be held during a call of the system: other threads would wait for as long as the
//! call takes.

use core::marker::PhantomData;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use super::super::thread::exchange::Exchange;
use super::super::{
    Batched, Checked, Config, CurrentHeap, Hardening, HugePages, Inlined, Latch, Malloc, Profile,
    Secure, Zone,
};
use super::source::{Call, Source};
use super::{OfThread, with_new};
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};

thread_local! {
    static POOL: Cell<Option<&'static Latch>> = const { Cell::new(None) };
    /// The number of calls of each method, and the number of those under a latch.
    static CALLS: RefCell<BTreeMap<Call, (usize, usize)>> = const { RefCell::new(BTreeMap::new()) };
}

fn is_taken(latch: &Latch) -> bool {
    latch.holder().load(Ordering::SeqCst) != 0
}

fn note(call: Call) {
    // There is one thread, so any taken latch is its own.
    let under = POOL.get().is_some_and(is_taken) || is_taken(&OfThread::get().latch);
    CALLS.with_borrow_mut(|calls| {
        let (all, held) = calls.entry(call).or_default();
        *all += 1;
        *held += usize::from(under);
    });
}

/// A source with all services, and a clock by which a round is due at each look.
fn watched() -> Source {
    Source {
        resizes: AtomicBool::new(true),
        guards: true,
        now: AtomicU64::new(1),
        step_ms: 10_000,
        looks: note,
        ..Source::default()
    }
}

struct Parts<H>(PhantomData<H>);

impl<H: Hardening> Config for Parts<H> {
    type Source = Source;
    type Current = OfThread;
    type Hardening = H;
    type Gate = Inlined;
    type Tier = Batched;
    const PROFILE: Profile = Profile {
        prefault: true,
        huge_pages: HugePages::Arenas,
        ..Profile::CONSERVATIVE
    };
}

const SIZES: [usize; 8] = [16, 100, 2000, 30_000, 65_000, 200_000, 3 << 20, 9 << 20];

/// Exercises all of an allocator, and checks its calls of the system.
fn asked<H: Hardening>(malloc: &'static Malloc<Parts<H>>) {
    POOL.set(Some(&malloc.central.pool.latch));
    for round in 0..4 {
        let sizes = SIZES.iter().cycle().take(160);
        let blocks: Vec<*mut u8> = sizes.map(|size| malloc.allocate(*size)).collect();
        assert!(blocks.iter().all(|block| !block.is_null()));
        for block in blocks {
            // SAFETY: it is live, and the result replaces it.
            let longer = unsafe { malloc.resize(block, (4 << 20) * (round % 2) + 100, 16) };
            // SAFETY: it came from there, and nobody else has it.
            unsafe { malloc.free(longer) };
        }
        let zone = Zone::new(malloc).expect("there is memory");
        assert!(SIZES.iter().all(|size| zone.allocate(*size, 16).is_some()));
    }
    // So many that they get huge pages; then parts of them are purged.
    let blocks: Vec<*mut u8> = (0..2000).map(|_| malloc.allocate(30_000)).collect();
    for block in blocks {
        // SAFETY: it came from there, and nobody else has it.
        unsafe { malloc.free(block) };
    }
    malloc.check().expect("nothing is broken");
    malloc.trim();
    malloc.end_thread();
    let calls = CALLS.take();
    let under: Vec<_> = calls.iter().filter(|(_, (_, held))| *held > 0).collect();
    assert!(under.is_empty(), "under a latch: {under:?}");
    for call in [
        Call::Map,
        Call::Now,
        Call::Populate,
        Call::HugePages,
        Call::Purge,
        Call::Unmap,
    ] {
        assert!(calls.contains_key(&call), "{call:?} is never made");
    }
    let kinds = [Call::Guard, Call::Unguard, Call::Split, Call::Resize];
    let made = kinds.map(|call| calls.contains_key(&call));
    assert_eq!(made, [H::GUARD, H::GUARD, !H::GUARD, !H::SCRUB]);
}

#[test]
fn the_system_is_asked_while_no_latch_is_held() {
    with_new(watched(), asked::<Checked>);
    with_new(watched(), asked::<Secure>);
}

#[test]
fn a_panic_under_a_latch_gives_it_back() {
    with_new(watched(), |malloc: &'static Malloc<Parts<Checked>>| {
        assert!(!malloc.allocate(100).is_null());
        let heap = OfThread::get();
        let central = &malloc.central;
        let latches = [&central.pool.latch, &heap.latch];
        let left = |under: &dyn Fn()| {
            let caught = catch_unwind(AssertUnwindSafe(under));
            assert!(caught.is_err(), "it panics");
            let left = latches.map(is_taken);
            // The thread's heap ends with this test, and must not wait for a latch of its own.
            latches.into_iter().for_each(Latch::reset);
            left
        };
        let of_pool = left(&|| central.with_pool(|_| panic!("under the pool's latch")));
        let of_heap = left(&|| {
            let _held = central.hold_heap(heap);
            panic!("under the heap's latch");
        });
        let of_all = left(&|| {
            let _held = central.hold_all();
            panic!("under all latches");
        });
        assert_eq!([of_pool, of_heap, of_all], [[false; 2]; 3]);
    });
}

/// 300 MiB are allocated and freed: all arenas but a few are unmapped, and those few by a trim.
#[test]
fn arenas_that_nobody_uses_are_unmapped() {
    with_new(watched(), |malloc: &'static Malloc<Parts<Checked>>| {
        let blocks: Vec<*mut u8> = (0..300).map(|_| malloc.allocate(1 << 20)).collect();
        assert!(malloc.statistics().arena_bytes >= 300 << 20);
        for block in blocks {
            // SAFETY: it came from there, and nobody else has it.
            unsafe { malloc.free(block) };
        }
        let after = malloc.statistics();
        assert!(after.arena_bytes <= 48 << 20, "{after:?}");
        malloc.check().expect("nothing is broken");
        assert!(malloc.trim());
        let last = malloc.statistics();
        assert_eq!((last.arena_bytes, last.dirty_bytes), (0, 0));
        assert!(!malloc.allocate(100).is_null());
        malloc.check().expect("nothing is broken");
    });
}

/// Units that another thread is about to give back at a fork are free in the child.
#[test]
fn units_that_were_leaving_at_a_fork_are_free_in_the_child() {
    with_new(watched(), |malloc: &'static Malloc<Parts<Checked>>| {
        let block = malloc.allocate(1 << 20);
        let arena = malloc.central.pool.arenas().next().expect("there is one");
        let free = arena.free.get();
        // As in the middle of a step of another thread.
        malloc
            .central
            .pool
            .set_free(arena, free & !0xff00_0000_0000_0000);
        arena.leaving.set(0xff00_0000_0000_0000);
        malloc.central.pool.leaving.set(8);
        malloc.check().expect("nothing is broken");
        // SAFETY: there is no call between the two, and this is the only thread with a heap.
        unsafe { malloc.before_fork() };
        // SAFETY: as above.
        unsafe { malloc.after_fork_in_child() };
        assert_eq!((arena.free.get(), arena.leaving.get()), (free, 0));
        malloc.check().expect("nothing is broken");
        // SAFETY: it came from there, and nobody else has it.
        unsafe { malloc.free(block) };
        malloc.check().expect("nothing is broken");
    });
}

/// The forking thread has all latches, and allocates: none is free for another thread meanwhile.
#[test]
fn whoever_forks_allocates_meanwhile_and_nobody_else() {
    with_new(watched(), |malloc: &'static Malloc<Parts<Checked>>| {
        // SAFETY: all calls between the two are this thread's.
        unsafe { malloc.before_fork() };
        for size in SIZES {
            let block = malloc.allocate(size);
            assert!(!block.is_null());
            // SAFETY: it came from there, and nobody else has it.
            unsafe { malloc.free(block) };
        }
        let taken = || malloc.central.pool.latch.holder().load(Ordering::SeqCst) != 0;
        assert!(taken(), "the pool is locked all the time");
        let other = thread::spawn(move || malloc.central.pool.latch.try_lock(1));
        assert!(!other.join().expect("it looks"));
        // SAFETY: as above.
        unsafe { malloc.after_fork() };
        assert!(!taken());
        malloc.check().expect("nothing is broken");
    });
}
