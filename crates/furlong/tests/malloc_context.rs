//! System calls, or accesses to the current heap, by a caller that is not pinned. In a kernel an
//! interrupt could come between, and wait for a latch whose holder it has interrupted.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use furlong::malloc::{
    Batched, Checked, Config, CurrentHeap, Hardening, Heap, HugePages, Inlined, Linux, Malloc,
    Misuse, PageSource, Profile, Secure, Zone,
};

thread_local! {
    static PINS: Cell<usize> = const { Cell::new(0) };
    static PINNED_EVER: Cell<usize> = const { Cell::new(0) };
    static HEAP: Cell<&'static Heap> = const { Cell::new(Heap::vacant()) };
}

/// Number of calls of each function, and number of those by an unpinned caller.
static CALLS: Mutex<BTreeMap<&str, (usize, usize)>> = Mutex::new(BTreeMap::new());

fn note(what: &'static str) {
    let mut calls = CALLS.lock().unwrap_or_else(PoisonError::into_inner);
    let (all, unpinned) = calls.entry(what).or_default();
    *all += 1;
    *unpinned += usize::from(PINS.get() == 0);
}

struct Pin;

impl Drop for Pin {
    fn drop(&mut self) {
        PINS.set(PINS.get() - 1);
    }
}

/// A heap per thread, for the one allocator of these parts that the thread uses.
struct Watched<H>(PhantomData<H>);

// SAFETY: a variable of the thread, which keeps the value stored there.
unsafe impl<H: Hardening> CurrentHeap for Watched<H> {
    type Pin = Pin;

    fn pin() -> Pin {
        PINS.set(PINS.get() + 1);
        PINNED_EVER.set(PINNED_EVER.get() + 1);
        Pin
    }

    fn get() -> &'static Heap {
        note("get");
        HEAP.get()
    }

    unsafe fn set(heap: &'static Heap) {
        note("set");
        HEAP.set(heap);
    }
}

/// Linux, except that its mappings do not grow in place, and only the third and later ones move.
struct Noted(AtomicUsize);

// SAFETY: as Linux, which may refuse both.
unsafe impl PageSource for Noted {
    fn map(&self, len: usize, align: usize) -> Option<NonNull<u8>> {
        note("map");
        Linux.map(len, align)
    }

    unsafe fn unmap(&self, start: NonNull<u8>, len: usize) {
        note("unmap");
        // SAFETY: the caller's promise.
        unsafe { Linux.unmap(start, len) };
    }

    unsafe fn purge(&self, start: NonNull<u8>, len: usize) -> bool {
        note("purge");
        // SAFETY: the caller's promise.
        unsafe { Linux.purge(start, len) }
    }

    unsafe fn resize(&self, start: NonNull<u8>, old: usize, new: usize) -> bool {
        note("resize");
        // SAFETY: the caller's promise.
        new < old && unsafe { Linux.resize(start, old, new) }
    }

    unsafe fn relocate(&self, from: NonNull<u8>, len: usize, to: NonNull<u8>, room: usize) -> bool {
        note("relocate");
        // SAFETY: the caller's promise.
        self.0.fetch_add(1, Ordering::SeqCst) > 1 && unsafe { Linux.relocate(from, len, to, room) }
    }

    unsafe fn populate(&self, start: NonNull<u8>, len: usize) {
        note("populate");
        // SAFETY: the caller's promise.
        unsafe { Linux.populate(start, len) };
    }

    unsafe fn prefer_huge_pages(&self, start: NonNull<u8>, len: usize) -> bool {
        note("prefer_huge_pages");
        // SAFETY: the caller's promise.
        unsafe { Linux.prefer_huge_pages(start, len) }
    }

    unsafe fn split_huge_pages(&self, start: NonNull<u8>, len: usize) {
        note("split_huge_pages");
        // SAFETY: the caller's promise.
        unsafe { Linux.split_huge_pages(start, len) };
    }

    unsafe fn guard(&self, start: NonNull<u8>, len: usize) -> bool {
        note("guard");
        // SAFETY: the caller's promise.
        unsafe { Linux.guard(start, len) }
    }

    unsafe fn unguard(&self, start: NonNull<u8>, len: usize) -> bool {
        note("unguard");
        // SAFETY: the caller's promise.
        unsafe { Linux.unguard(start, len) }
    }

    /// A kernel before 6.13 has no such pages; then each is an area.
    unsafe fn guard_page(&self, page: NonNull<u8>) -> bool {
        note("guard_page");
        // SAFETY: the caller's promise.
        let done = unsafe { Linux.guard_page(page) };
        // SAFETY: as above.
        done || unsafe { Linux.guard(page, self.page_size()) }
    }

    unsafe fn unguard_page(&self, page: NonNull<u8>) -> bool {
        note("unguard_page");
        // SAFETY: the caller's promise.
        let done = unsafe { Linux.unguard_page(page) };
        // SAFETY: as above.
        done || unsafe { Linux.unguard(page, self.page_size()) }
    }

    /// A purge round is due at each call.
    fn now_ms(&self) -> u64 {
        note("now_ms");
        self.0.fetch_add(1, Ordering::SeqCst) as u64 * 10_000
    }

    fn random(&self) -> u64 {
        note("random");
        4
    }

    fn stop(&self, _: Misuse, _: usize) -> ! {
        std::process::abort()
    }
}

struct Parts<H>(PhantomData<H>);

impl<H: Hardening> Config for Parts<H> {
    type Source = Noted;
    type Current = Watched<H>;
    type Hardening = H;
    type Gate = Inlined;
    type Tier = Batched;
    const PROFILE: Profile = Profile {
        prefault: true,
        huge_pages: HugePages::Arenas,
        ..Profile::CONSERVATIVE
    };
}

// SAFETY: each is used by its own threads, which use no other one.
static CHECKED: Malloc<Parts<Checked>> = unsafe { Malloc::new(Noted(AtomicUsize::new(0))) };
// SAFETY: as above.
static SECURE: Malloc<Parts<Secure>> = unsafe { Malloc::new(Noted(AtomicUsize::new(0))) };

const SIZES: [usize; 8] = [1, 100, 2000, 30_000, 65_000, 200_000, 3 << 20, 9 << 20];

/// Exercises every part of an allocator.
fn ask<H: Hardening>(malloc: &'static Malloc<Parts<H>>) {
    let mut blocks = Vec::new();
    for size in SIZES.iter().cycle().take(400) {
        let block = malloc.allocate_aligned(*size, 64);
        // SAFETY: it is live, and the result replaces it.
        let longer = unsafe { malloc.resize(block, size * 5 / 2, 64) };
        assert!(!longer.is_null());
        blocks.push(longer);
        if blocks.len() == 40 {
            let all = blocks.drain(..).map(<*mut u8>::expose_provenance);
            let all: Vec<usize> = all.collect();
            let free = move || {
                for block in all {
                    let block = std::ptr::with_exposed_provenance_mut(block);
                    // SAFETY: it is live, and no longer used.
                    unsafe { malloc.free(block) };
                }
                malloc.end_thread();
            };
            thread::spawn(free).join().expect("it ends well");
        }
    }
    let zone = Zone::new(malloc).expect("there is memory");
    assert!(SIZES.iter().all(|size| zone.allocate(*size, 16).is_some()));
    drop(zone);
    // So many that they get huge pages; then parts of them are purged.
    let mut many: Vec<_> = (0..2000).map(|_| malloc.allocate(30_000)).collect();
    for half in [many.split_off(1000), many] {
        for block in half {
            // SAFETY: it is live, and no longer used.
            unsafe { malloc.free(block) };
        }
        malloc.trim();
    }
    assert_eq!(malloc.statistics().used_blocks, 0);
}

#[test]
fn the_system_is_asked_by_pinned_callers_only() {
    // These calls may leave no trace in `CALLS`, so their pins are counted.
    let pins = |ask: fn()| {
        let before = PINNED_EVER.get();
        ask();
        PINNED_EVER.get() - before
    };
    for ask in [
        || CHECKED.follow(&Parts::<Checked>::PROFILE),
        || assert_eq!(CHECKED.statistics().used_blocks, 0),
        || CHECKED.check().expect("nothing is broken"),
        || drop(Zone::new(&CHECKED)),
    ] {
        assert!(pins(ask) > 0);
    }
    ask(&CHECKED);
    let secure = thread::spawn(|| ask(&SECURE));
    secure.join().expect("what it asserts holds");
    let calls = CALLS.lock().expect("nobody panics here");
    let unpinned: Vec<_> = calls.iter().filter(|(_, (_, count))| *count > 0).collect();
    assert!(unpinned.is_empty(), "without a pin: {unpinned:?}");
    let names: Vec<&str> = calls.keys().copied().collect();
    let all = [
        "get",
        "guard",
        "guard_page",
        "map",
        "now_ms",
        "populate",
        "prefer_huge_pages",
        "purge",
        "random",
        "relocate",
        "resize",
        "set",
        "split_huge_pages",
        "unguard",
        "unguard_page",
        "unmap",
    ];
    assert_eq!(names, all, "all of them are called");
}
