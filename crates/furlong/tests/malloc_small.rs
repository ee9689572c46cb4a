//! The small heap as a global allocator: memory that comes in regions, callers that misuse it, and
//! threads.

use std::alloc::{GlobalAlloc, Layout};
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::ptr::NonNull;
use std::sync::Mutex;
use std::{env, slice, thread};

use furlong::check::Check;
use furlong::malloc::{Misuse, RegionSource, SmallGlobal, SmallHeap, StaticRegion};
use furlong::sync::{RawLock, SpinLock};

const GRAIN: usize = SmallHeap::GRAIN;

fn layout(size: usize, align: usize) -> Layout {
    Layout::from_size_align(size, align).expect("a layout")
}

/// A source of some regions, one after another.
struct Banks<const LEN: usize>(&'static [StaticRegion<LEN>]);

impl<const LEN: usize> RegionSource for Banks<LEN> {
    fn more(&'static self, _: Layout) -> Option<&'static mut [MaybeUninit<u8>]> {
        self.0.iter().find_map(StaticRegion::take)
    }

    fn stop(&self, misuse: Misuse, _: usize) -> ! {
        panic!("{misuse}")
    }
}

static REGIONS: [StaticRegion<5000>; 15] = [const { StaticRegion::new() }; 15];

/// The first of these sources has no region, the next has one, and so on.
static ENDS: [Banks<5000>; 6] = {
    const fn some(from: usize, count: usize) -> Banks<5000> {
        Banks(REGIONS.split_at(from).1.split_at(count).0)
    }
    [
        some(0, 0),
        some(0, 1),
        some(1, 2),
        some(3, 3),
        some(6, 4),
        some(10, 5),
    ]
};

/// Every block holds its own bytes at last, whatever the source refuses, and nothing is lost.
#[test]
fn a_source_that_ends_after_any_number_of_regions_loses_nothing() {
    for (count, banks) in ENDS.iter().enumerate() {
        let global = SmallGlobal::new(SpinLock::new(), banks);
        let mut blocks = Vec::new();
        for number in 0..2000_usize {
            let wanted = layout(1 + number % 300, 8 << (number % 4));
            // SAFETY: the layout is not empty.
            let block = unsafe { global.alloc(wanted) };
            if let Some(block) = NonNull::new(block) {
                assert!(block.addr().get().is_multiple_of(wanted.align()));
                // SAFETY: a new block of this size.
                unsafe { block.write_bytes(number as u8, wanted.size()) };
                blocks.push((block, wanted, number as u8));
            }
        }
        let now = global.lock().statistics();
        assert_eq!(now.used_blocks, blocks.len());
        assert!(blocks.len() >= 20 * count, "{count}: {now:?}");
        let mut regions = banks.0.iter();
        assert!(
            regions.all(|region| region.take().is_none()),
            "all are used"
        );
        for (block, wanted, number) in blocks {
            // SAFETY: a live block of this size, all of which was written.
            let bytes = unsafe { slice::from_raw_parts(block.as_ptr(), wanted.size()) };
            assert!(bytes.iter().all(|byte| *byte == number));
            // SAFETY: it came from there.
            unsafe { global.dealloc(block.as_ptr(), wanted) };
        }
        let after = global.lock().statistics();
        assert_eq!((after.used_blocks, after.used_bytes), (0, 0));
        assert_eq!(after.free_bytes, now.free_bytes + now.used_bytes);
        global.lock().check().expect("all invariants hold");
    }
}

#[test]
fn a_region_of_the_length_that_is_named_has_room_wherever_it_begins() {
    let sizes = [0, 1, GRAIN, 100, 1000, 4096, 5000, 70_000];
    for (size, align) in sizes.into_iter().flat_map(|size| {
        let aligns = (0..13).map(|shift| 1 << shift);
        aligns.map(move |align| (size, align))
    }) {
        let wanted = layout(size, align);
        let len = SmallHeap::bytes_for(wanted).expect("memory can be so long");
        let mut memory = vec![MaybeUninit::uninit(); len + 40];
        for lead in 0..40 {
            let mut heap = SmallHeap::new();
            heap.add(&mut memory[lead..lead + len])
                .expect("it is long enough");
            let block = heap.allocate(wanted).expect("it is long enough");
            assert!(block.addr().get().is_multiple_of(align));
            heap.check().expect("all invariants hold");
        }
    }
    assert_eq!(SmallHeap::bytes_for(layout(isize::MAX as usize, 1)), None);
}

#[test]
fn of_64_kib_62_are_for_blocks() {
    let mut memory = vec![MaybeUninit::uninit(); 64 << 10];
    let mut heap = SmallHeap::new();
    heap.add(&mut memory).expect("it is long enough");
    assert_eq!(heap.statistics().free_bytes >> 10, 62);
    let blocks = (0..).take_while(|_| heap.allocate(layout(16, 8)).is_some());
    assert!(blocks.count() * 16 >= 62 << 10);
    assert_eq!(heap.statistics().free_bytes, 0);
}

#[test]
fn memory_that_is_too_short_comes_back() {
    for len in 0..2000 {
        let mut memory = vec![MaybeUninit::uninit(); len];
        let mut heap = SmallHeap::new();
        match heap.add(&mut memory) {
            Ok(()) => assert!(heap.allocate(layout(1, 1)).is_some()),
            Err(back) => assert!(back.len() == len && len < 300, "{len}"),
        }
    }
}

#[test]
fn a_region_in_a_static_is_given_once() {
    static REGION: StaticRegion<1000> = StaticRegion::new();
    let memory = REGION.take().expect("it is the first time");
    assert_eq!((memory.len(), memory.as_ptr().addr() % 16), (1000, 0));
    assert!(REGION.take().is_none());
    assert!(REGION.more(layout(8, 8)).is_none());
}

/// All that a caller can do wrong is found, and the source is told.
#[test]
fn misuses_reach_the_source_and_change_nothing() {
    static REGION: StaticRegion<20_000> = StaticRegion::new();
    static BANK: Banks<20_000> = Banks(slice::from_ref(&REGION));
    let global = SmallGlobal::new(SpinLock::new(), &BANK);
    let wanted = layout(100, 8);
    // SAFETY: the layout is not empty.
    let [block, other] = [(); 2].map(|()| unsafe { global.alloc(wanted) });
    // SAFETY: it came from there.
    unsafe { global.dealloc(other, wanted) };
    let before = global.lock().statistics();
    let mut foreign = [0_u64; 4];
    let told = |place: *mut u8, layout: Layout, resize: bool| {
        let misuse = catch_unwind(AssertUnwindSafe(|| {
            if resize {
                // SAFETY: no block begins there, which the heap has to find.
                unsafe { global.realloc(place, layout, 8) };
            } else {
                // SAFETY: as above.
                unsafe { global.dealloc(place, layout) };
            }
        }));
        let text = misuse.expect_err("it is a mistake");
        text.downcast_ref::<String>()
            .expect("it has a text")
            .clone()
    };
    for resize in [false, true] {
        let inside = block.wrapping_add(GRAIN);
        let foreign = foreign.as_mut_ptr().cast();
        let cases = [
            (other, wanted, Misuse::DoubleFree),
            (inside, wanted, Misuse::NotABlock),
            (block.wrapping_add(1), wanted, Misuse::NotABlock),
            (foreign, wanted, Misuse::Foreign),
            (block, layout(200, 8), Misuse::WrongSize),
            (block, layout(8, 8), Misuse::WrongSize),
        ];
        for (place, layout, misuse) in cases {
            assert_eq!(told(place, layout, resize), misuse.to_string());
            assert_eq!(global.lock().statistics(), before);
            global.lock().check().expect("all invariants hold");
        }
    }
    // SAFETY: it came from there.
    unsafe { global.dealloc(block, wanted) };
}

static REGION: StaticRegion<4096> = StaticRegion::new();
static GLOBAL: SmallGlobal<SpinLock, StaticRegion<4096>> =
    SmallGlobal::new(SpinLock::new(), &REGION);

/// Without a `stop` of its own a source ends the program, even where panics unwind.
#[test]
fn a_double_free_aborts_the_program() {
    const VARIABLE: &str = "FURLONG_TEST_FREES_TWICE";
    let wanted = layout(50, 8);
    if env::var_os(VARIABLE).is_some() {
        // SAFETY: the layout is not empty.
        let block = unsafe { GLOBAL.alloc(wanted) };
        let twice = catch_unwind(|| {
            for _ in 0..2 {
                // SAFETY: the second free is what the heap has to find.
                unsafe { GLOBAL.dealloc(block, wanted) };
            }
        });
        panic!("it went on: {}", twice.is_ok());
    }
    let program = env::current_exe().expect("the test is a program");
    let name = "a_double_free_aborts_the_program";
    let ended = Command::new(program)
        .args(["--exact", name, "--nocapture"])
        .env(VARIABLE, "1")
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(said.contains("block freed twice: 0x"), "{said}");
    assert!(
        !said.contains("it went on") && ended.status.code().is_none(),
        "{said}"
    );
}

/// Threads under the caller's lock, and blocks that move between them.
#[test]
fn threads_share_a_heap_under_a_lock_of_the_caller() {
    type Region = StaticRegion<{ 64 << 10 }>;

    fn shared<L: RawLock + Sync>(lock: L, region: &'static Region) {
        let global = SmallGlobal::new(lock, region);
        let waiting = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for thread in 0..3_u8 {
                let (global, waiting) = (&global, &waiting);
                scope.spawn(move || {
                    for round in 0..4000_usize {
                        let wanted = layout(1 + round * 37 % 900, 8);
                        // SAFETY: the layout is not empty.
                        let block = unsafe { global.alloc(wanted) };
                        if !block.is_null() {
                            // SAFETY: a new block of this size.
                            unsafe { block.write_bytes(thread, wanted.size()) };
                            let block = block.expose_provenance();
                            waiting
                                .lock()
                                .expect("a lock")
                                .push((block, wanted, thread));
                        }
                        let mut others = waiting.lock().expect("a lock");
                        let at = round * 7919 % others.len().max(1);
                        let freed = (others.len() > 60 || block.is_null()).then(|| {
                            let last = others.len() - 1;
                            others.swap_remove(at.min(last))
                        });
                        drop(others);
                        if let Some((block, wanted, by)) = freed {
                            let block = std::ptr::with_exposed_provenance_mut::<u8>(block);
                            // SAFETY: a live block that all of it was written to.
                            let bytes = unsafe { slice::from_raw_parts(block, wanted.size()) };
                            assert!(bytes.iter().all(|byte| *byte == by));
                            // SAFETY: it came from there, and is in no list any more.
                            unsafe { global.dealloc(block, wanted) };
                        }
                    }
                });
            }
        });
        let left = waiting.into_inner().expect("a lock").len();
        assert_eq!(global.lock().statistics().used_blocks, left);
        global.lock().check().expect("all invariants hold");
    }
    static REGION: Region = StaticRegion::new();
    shared(SpinLock::new(), &REGION);
    #[cfg(feature = "std")]
    {
        static REGION: Region = StaticRegion::new();
        shared(Mutex::new(()), &REGION);
    }
}
