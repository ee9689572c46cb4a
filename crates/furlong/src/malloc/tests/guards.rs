//! Memory that nobody may touch: blocks of no bytes, units that are free, and what lies behind a
//! block.

use core::ptr::{with_exposed_provenance, with_exposed_provenance_mut};
use core::slice;

use super::super::central::arena::ARENA;
use super::super::central::large::LARGE_MAX;
use super::super::os::linux::tests::is_accessible;
use super::super::{
    CLASSES, Checked, Class, Hardening, Linux, Misuse, NoHardening, PageSource, SEAL, Secure, UNIT,
};
use super::source::{Call, Source};
use super::{Sourced as Tested, allocate, free, numbers, stopped, with_new};
use crate::sync::atomic::{AtomicBool, Ordering};

/// A source that can guard pages.
pub(super) fn guarding() -> Source {
    Source {
        guards: true,
        ..Source::keeping()
    }
}

/// True if this kernel has pages that are inaccessible without an area of their own: since 6.13.
fn has_fences() -> bool {
    let place = Linux.map(4096, 4096).expect("there is a page");
    // SAFETY: a page that nobody uses.
    let has = Linux.page_size() == 4096 && unsafe { Linux.guard_page(place) };
    // An emulator takes advice that it does not know, and does nothing.
    let has = has && !is_accessible(place.addr().get());
    // SAFETY: as above.
    unsafe { Linux.unmap(place, 4096) };
    has
}

/// More than two units have.
const MANY: usize = 1100;

fn blocks_of_no_bytes<H: Hardening>(malloc: Tested<H>) {
    let mut blocks: Vec<usize> = (0..MANY).map(|_| allocate(malloc, 0)).collect();
    for block in &blocks {
        let place = with_exposed_provenance_mut(*block);
        // SAFETY: a live block.
        assert_eq!(unsafe { malloc.usable_size(place) }, 0);
        assert!(block.is_multiple_of(16));
    }
    assert!(!is_accessible(blocks[0]) && !is_accessible(blocks[MANY - 1]));
    blocks.sort_unstable();
    blocks.dedup();
    assert_eq!(blocks.len(), MANY);
    let now = malloc.statistics();
    assert_eq!((now.used_blocks, now.used_bytes), (MANY, 0));
    for (again, misuse) in [(0, Misuse::DoubleFree), (16, Misuse::NotABlock)] {
        let block = blocks.pop().expect("there are more");
        free(malloc, block);
        let said = stopped(|| free(malloc, block + again));
        assert_eq!(said, Some((misuse, block + again)));
    }
    // SAFETY: a live block, which the result replaces.
    let longer = unsafe { malloc.resize(with_exposed_provenance_mut(blocks[0]), 100, 16) };
    blocks[0] = longer.expose_provenance();
    assert!(is_accessible(blocks[0]));
    malloc.check().expect("nothing is broken");
    let units = malloc.central.pool.live_bytes();
    blocks.into_iter().for_each(|block| free(malloc, block));
    let again: Vec<usize> = (0..MANY).map(|_| allocate(malloc, 0)).collect();
    assert_eq!(
        malloc.central.pool.live_bytes(),
        units,
        "they are used again"
    );
    again.into_iter().for_each(|block| free(malloc, block));
    assert_eq!(malloc.statistics().used_blocks, 0);
}

#[test]
fn blocks_of_no_bytes_are_different_addresses_that_nobody_can_touch() {
    with_new(guarding(), blocks_of_no_bytes::<NoHardening>);
    with_new(guarding(), blocks_of_no_bytes::<Checked>);
    with_new(guarding(), blocks_of_no_bytes::<Secure>);
}

#[test]
fn a_free_large_object_and_units_that_were_never_used_are_inaccessible() {
    with_new(guarding(), |malloc: Tested<Secure>| {
        // So that all freed memory is kept: elsewhere another test's thread could map it.
        let live = allocate(malloc, 64 << 20);
        for size in [70_000, 500_000, LARGE_MAX - 8, 3 << 20] {
            let object = allocate(malloc, size);
            let ends = || [object, object + size - 1].map(is_accessible);
            assert_eq!(ends(), [true; 2], "{size}");
            free(malloc, object);
            assert_eq!(ends(), [false; 2], "{size}");
        }
        let block = allocate(malloc, 100);
        // The block may be near an end of its arena, beside which the system may map anything.
        let arena = block / ARENA * ARENA;
        let units = [1, 2, 3].map(|quarters| arena + (block + quarters * ARENA / 4) % ARENA);
        assert!(is_accessible(block) && !units.into_iter().any(is_accessible));
        assert!(!is_accessible(arena));
        free(malloc, block);
        free(malloc, live);
        malloc.check().expect("nothing is broken");
    });
}

/// Overwrites all of a block.
fn fill(address: usize, size: usize) {
    let place: *mut u8 = with_exposed_provenance_mut(address);
    // SAFETY: a live block of this size.
    unsafe { place.write_bytes(0xa5, size) };
}

#[test]
fn spans_and_objects_end_with_a_page_that_is_inaccessible() {
    if !has_fences() {
        return;
    }
    with_new(guarding(), |malloc: Tested<Secure>| {
        for class in (1..CLASSES).map(Class::numbered) {
            // More than one span has.
            let blocks: Vec<usize> = (0..=class.blocks(4096))
                .map(|_| allocate(malloc, class.size() - SEAL))
                .collect();
            for block in &blocks {
                fill(*block, class.size() - SEAL);
                let span = malloc.central.map.first_unit(*block);
                let end = span.base() + class.units() * UNIT;
                assert!(*block + class.size() <= end - 4096, "{class:?}");
                let reads = [end - 4097, end - 4096, end - 1].map(is_accessible);
                assert_eq!(reads, [true, false, false], "{class:?}");
            }
            malloc.check().expect("nothing is broken");
            blocks.into_iter().for_each(|block| free(malloc, block));
        }
        for size in [
            70_000,
            131_000,
            LARGE_MAX - 8 - 4096,
            3 << 20,
            (3 << 20) + 1,
        ] {
            let object = allocate(malloc, size);
            fill(object, size);
            let end = object + malloc.central.map.span_at(object).summary.get() as usize;
            let reads = [end - 1, end, end + 4095].map(is_accessible);
            assert_eq!(reads, [true, false, false], "{size}");
            free(malloc, object);
        }
        malloc.check().expect("nothing is broken");
    });
}

/// Allocates, fills and frees blocks and objects, so that units go from one use to another.
fn units_change_hands(malloc: Tested<Secure>) {
    let mut random = numbers(5);
    let mut live: Vec<(usize, usize)> = Vec::new();
    for _ in 0..2000 {
        let size = match random(8) {
            0 => 60_000 + random(500_000),
            1 => (2 << 20) + random(3 << 20),
            _ => 1 + random(60_000),
        };
        let block = allocate(malloc, size);
        fill(block, size);
        live.push((block, size));
        // At times nearly all.
        let keep = if random(100) == 0 { 3 } else { 60 };
        while live.len() > keep {
            let (block, size) = live.swap_remove(random(live.len()));
            fill(block, size);
            free(malloc, block);
        }
    }
    malloc.check().expect("nothing is broken");
    live.into_iter().for_each(|(block, _)| free(malloc, block));
    assert_eq!(malloc.statistics().used_blocks, 0);
}

#[test]
fn a_page_at_an_end_is_accessible_once_it_is_within_an_object() {
    for page in [1024, 4096, 16384, UNIT] {
        let source = Source { page, ..guarding() };
        with_new(source, move |malloc: Tested<Secure>| {
            units_change_hands(malloc);
            let calls = [Call::GuardPage, Call::UnguardPage];
            let calls = calls.map(|call| malloc.source().calls(call) > 0);
            let there = (4096..UNIT).contains(&page);
            let made = there && malloc.central.fence_len() > 0;
            assert_eq!(calls, [there, made], "{page}");
            assert!(made || !there || !has_fences(), "{page}");
        });
    }
}

#[test]
fn a_system_that_refuses_the_first_such_page_is_not_asked_again() {
    with_new(Source::keeping(), |malloc: Tested<Secure>| {
        units_change_hands(malloc);
        assert_eq!(malloc.source().calls(Call::GuardPage), 1);
        assert_eq!(malloc.central.fence_len(), 0);
    });
}

/// The units of a span have a fence already if they were a span of that length before.
#[test]
fn a_span_in_the_place_of_one_needs_no_system_call() {
    with_new(guarding(), |malloc: Tested<Secure>| {
        let count = |malloc: Tested<Secure>| {
            let blocks: Vec<usize> = (0..500).map(|_| allocate(malloc, 1000)).collect();
            blocks.into_iter().for_each(|block| free(malloc, block));
            malloc.trim();
            malloc.source().calls(Call::GuardPage)
        };
        let first = count(malloc);
        if has_fences() {
            assert!(first >= 500 * 1000 / UNIT, "{first}");
            assert_eq!(count(malloc), first);
        }
    });
}

#[test]
fn an_object_of_several_freed_ones_is_accessible_and_zero() {
    let source = Source {
        moves: AtomicBool::new(true),
        ..guarding()
    };
    with_new(source, |malloc: Tested<Secure>| {
        let live = allocate(malloc, 64 << 20);
        let freed = [5, 3].map(|mib| allocate(malloc, mib << 20));
        freed.into_iter().for_each(|object| free(malloc, object));
        malloc.source().take_calls();
        let object = allocate(malloc, 7 << 20);
        assert_eq!(malloc.source().take_calls(), [1, 0, 2]);
        // SAFETY: a new object of this size.
        let bytes =
            unsafe { slice::from_raw_parts(with_exposed_provenance::<u8>(object), 7 << 20) };
        assert!(bytes.iter().all(|byte| *byte == 0));
        free(malloc, object);
        free(malloc, live);
    });
}

/// Without a system that guards, nothing is closed, and everything is as before.
#[test]
fn units_that_the_system_does_not_open_are_given_back() {
    with_new(guarding(), |malloc: Tested<Secure>| {
        let first = allocate(malloc, 200_000);
        malloc.source().opens.store(false, Ordering::SeqCst);
        assert!(malloc.allocate(300_000).is_null(), "it opens no units");
        assert!(malloc.source().calls(Call::Refused) > 0);
        malloc.check().expect("nothing is broken");
        malloc.source().opens.store(true, Ordering::SeqCst);
        let second = allocate(malloc, 300_000);
        free(malloc, first);
        free(malloc, second);
        assert_eq!(malloc.statistics().used_blocks, 0);
    });
    with_new(Source::keeping(), |malloc: Tested<Secure>| {
        let object = allocate(malloc, 200_000);
        free(malloc, object);
        assert!(is_accessible(object));
    });
}

/// The greatest length that may be written at an address, by trying.
fn room<H: Hardening>(malloc: Tested<H>, address: usize, most: usize) -> usize {
    (1..=most)
        .take_while(|len| write(malloc, address, *len).is_none())
        .count()
}

/// The misuse that a write of this length is taken for.
fn write<H: Hardening>(malloc: Tested<H>, address: usize, len: usize) -> Option<(Misuse, usize)> {
    // SAFETY: no other thread calls the allocator.
    stopped(|| unsafe { malloc.check_write(with_exposed_provenance(address), len) })
}

fn ends_of_blocks<H: Hardening>(malloc: Tested<H>) {
    for size in [1, 24, 100, 1000, 4096, 9000, 40_000, 70_000] {
        let block = allocate(malloc, size);
        let end = match H::SCRUB {
            true => size,
            false => malloc.good_size(size),
        };
        assert_eq!(write(malloc, block, end), None, "{size}");
        let last = 70.min(end);
        assert_eq!(room(malloc, block + end - last, 80), last, "{size}");
        assert_eq!(write(malloc, block + end, 0), None, "{size}");
        free(malloc, block);
        if H::SCRUB {
            assert_eq!(room(malloc, block, 1), 0, "{size} is free");
            assert_eq!(room(malloc, block + size - 1, 1), 0, "{size} is free");
        }
    }
    // The last block of a span was not handed out yet.
    let small = allocate(malloc, 24);
    assert_eq!(room(malloc, small / UNIT * UNIT + UNIT - 32, 1), 0);
    free(malloc, small);
    let huge = allocate(malloc, 5 << 20);
    assert_eq!(room(malloc, huge + 100, 10), 10);
    free(malloc, huge);
    assert_eq!(room(malloc, (&raw const MANY_WORDS).addr(), 80), 80);
}

/// Memory of the program.
static MANY_WORDS: [u64; 16] = [0; 16];

#[test]
fn a_write_may_go_to_the_end_of_its_block_and_no_further() {
    with_new(Source::keeping(), ends_of_blocks::<NoHardening>);
    with_new(Source::keeping(), ends_of_blocks::<Checked>);
    with_new(Source::keeping(), ends_of_blocks::<Secure>);
}

fn sizes_of_delete<H: Hardening>(malloc: Tested<H>) {
    for (size, wrong) in [
        (1, [17, 72]),
        (72, [48, 90]),
        (4096, [1, 3000]),
        (40_000, [20_000, 90_000]),
        (200_000, [100, 100_000]),
    ] {
        for size_of_free in wrong {
            let block = allocate(malloc, size);
            let place = with_exposed_provenance_mut(block);
            // SAFETY: a live block, and a size that must be found wrong.
            let said = stopped(|| unsafe { malloc.free_exact(place, size_of_free) });
            assert_eq!(said, Some((Misuse::WrongSize, block)), "{size}");
            // SAFETY: it is live still.
            unsafe { malloc.free_exact(place, size) };
        }
    }
    assert_eq!(malloc.statistics().used_blocks, 0);
}

#[test]
fn a_block_that_was_never_resized_is_freed_with_its_size_alone() {
    with_new(Source::keeping(), sizes_of_delete::<NoHardening>);
    with_new(Source::keeping(), sizes_of_delete::<Checked>);
    with_new(Source::keeping(), sizes_of_delete::<Secure>);
}
