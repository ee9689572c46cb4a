//! Blocks with guard pages: where they lie, which mistakes they reveal, and what becomes of them.

use core::ptr::{with_exposed_provenance, with_exposed_provenance_mut};
use core::slice;
use std::collections::VecDeque;

use super::super::os::linux::tests::is_accessible;
use super::guards::guarding;
use super::source::{Call, Source};
use super::{Sourced as Tested, allocate, free, resize, stopped, with_new};
use crate::malloc::{Checked, Hardening, Misuse, NoHardening, Profile, Secure, UNIT, Use, Zone};
use crate::sync::atomic::Ordering;

/// Every slow allocation that may have guard pages gets them.
fn all_guarded<H: Hardening>(malloc: Tested<H>) {
    guarded_every(malloc, 1);
    // Only draws which allocation is the first.
    free(malloc, allocate(malloc, 2000));
}

fn guarded_every<H: Hardening>(malloc: Tested<H>, every: usize) {
    malloc.follow(&Profile {
        guarded_every: every,
        ..Profile::STANDARD
    });
}

fn is_guarded<H: Hardening>(malloc: Tested<H>, block: usize) -> bool {
    malloc.central.map.first_unit(block).is(Use::Guarded)
}

fn usable<H: Hardening>(malloc: Tested<H>, block: usize) -> usize {
    // SAFETY: a live block.
    unsafe { malloc.usable_size(with_exposed_provenance_mut(block)) }
}

fn fill(block: usize, len: usize, byte: u8) {
    // SAFETY: a live block of this length.
    unsafe { with_exposed_provenance_mut::<u8>(block).write_bytes(byte, len) };
}

fn ends_at_its_pages<H: Hardening>(malloc: Tested<H>) {
    let page = malloc.source().page;
    all_guarded(malloc);
    for size in [1, 16, 24, 100, 1000, 3000, 4096, 5000, 10_000, 12_000] {
        let block = allocate(malloc, size);
        assert!(is_guarded(malloc, block) && block % 16 == 0, "{size}");
        let end = block + usable(malloc, block);
        assert!(end % page == 0 && end >= block + size, "{size}");
        assert_eq!(end - block, malloc.good_size(size), "{size}");
        fill(block, end - block, 7);
        let first = block / page * page;
        assert!(is_accessible(first) && is_accessible(end - 1), "{size}");
        assert!(!is_accessible(first - 1) && !is_accessible(end), "{size}");
        let now = malloc.statistics();
        assert_eq!(
            (now.used_blocks, now.used_bytes),
            (1, end - block),
            "{size}"
        );
        malloc.check().expect("nothing is broken");
        free(malloc, block);
        assert!(!is_accessible(first) && !is_accessible(end - 1), "{size}");
        assert_eq!(malloc.statistics().used_blocks, 0);
    }
    for (size, align) in [(100, 64), (10, 256), (100, 4096), (3, 16)] {
        let block = malloc.allocate_aligned(size, align).expose_provenance();
        assert!(block != 0 && block.is_multiple_of(align), "{size} {align}");
        assert!(is_guarded(malloc, block), "{size} {align}");
        free(malloc, block);
    }
    for size in [0, 60_000, 65_536, 70_000, 3 << 20] {
        let block = allocate(malloc, size);
        let fits = size / 60_000 == 1 && size <= page;
        assert_eq!(is_guarded(malloc, block), fits, "{size}");
        free(malloc, block);
    }
    malloc.check().expect("nothing is broken");
}

#[test]
fn a_block_ends_where_its_pages_end_between_pages_that_nobody_can_touch() {
    for page in [4 << 10, 16 << 10, 64 << 10] {
        let source = || Source { page, ..guarding() };
        with_new(source(), ends_at_its_pages::<NoHardening>);
        with_new(source(), ends_at_its_pages::<Checked>);
    }
}

fn mistakes<H: Hardening>(malloc: Tested<H>) {
    all_guarded(malloc);
    let block = allocate(malloc, 100);
    let after = with_exposed_provenance::<u8>((block + 100).next_multiple_of(4096));
    let said = |address: *const u8| stopped(move || malloc.explain_fault(address));
    assert_eq!(said(after), Some((Misuse::OutOfBounds, block)));
    let place = with_exposed_provenance_mut::<u8>(block);
    let inside = stopped(|| free(malloc, block + 16));
    assert_eq!(inside, Some((Misuse::NotABlock, block + 16)));
    // SAFETY: a live block, and sizes that must be found wrong.
    let wrong = stopped(|| unsafe { malloc.free_exact(place, 200) });
    assert_eq!(wrong, Some((Misuse::WrongSize, block)));
    let write = |start: usize, len| {
        // SAFETY: no other thread calls the allocator.
        stopped(move || unsafe { malloc.check_write(with_exposed_provenance(start), len) })
    };
    assert_eq!(write(block, 112), None);
    assert_eq!(write(block, 113), Some((Misuse::Overrun, block)));
    assert_eq!(write(block - 8, 8), Some((Misuse::Overrun, block - 8)));
    // SAFETY: a live block of this size.
    unsafe { malloc.free_exact(place, 100) };
    assert_eq!(write(block, 1), Some((Misuse::Overrun, block)));
    let twice = stopped(|| free(malloc, block));
    assert_eq!(twice, Some((Misuse::DoubleFree, block)));
    assert_eq!(
        said(place.cast_const()),
        Some((Misuse::UsedAfterFree, block))
    );
    // Nothing to say of other memory.
    let large = allocate(malloc, 100_000);
    for address in [0, 1, usize::MAX, large, (&raw const block).addr()] {
        assert_eq!(said(with_exposed_provenance(address)), None, "{address:x}");
    }
    free(malloc, large);
    malloc.check().expect("nothing is broken");
}

#[test]
fn mistakes_with_a_block_are_found_and_explained() {
    with_new(guarding(), mistakes::<NoHardening>);
    with_new(guarding(), mistakes::<Checked>);
}

#[test]
fn a_block_keeps_its_contents_when_it_is_resized_and_any_thread_frees_it() {
    with_new(guarding(), |malloc: Tested| {
        all_guarded(malloc);
        let mut block = allocate(malloc, 40);
        fill(block, 40, 9);
        for size in [41, 48, 100, 8000, 70_000, 3 << 20, 60_000, 40] {
            block = resize(malloc, block, size);
            // SAFETY: a live block of at least this length.
            let kept = unsafe { slice::from_raw_parts(with_exposed_provenance::<u8>(block), 40) };
            assert!(kept.iter().all(|byte| *byte == 9), "{size}");
            malloc.check().expect("nothing is broken");
        }
        let other = std::thread::spawn(move || free(malloc, block));
        other.join().expect("it frees");
        assert_eq!(malloc.statistics().used_blocks, 0);
    });
}

#[test]
fn a_freed_run_waits_until_63_others_were_freed_and_no_more_than_64_wait() {
    with_new(guarding(), |malloc: Tested| {
        all_guarded(malloc);
        let mut last = VecDeque::new();
        for _ in 0..300 {
            let block = allocate(malloc, 64);
            assert!(is_guarded(malloc, block) && !last.contains(&block));
            free(malloc, block);
            last.push_back(block);
            if last.len() > 63 {
                last.pop_front();
            }
        }
        let before = malloc.central.pool.live_bytes();
        let many: Vec<usize> = (0..300).map(|_| allocate(malloc, 64)).collect();
        assert!(many.iter().all(|block| is_guarded(malloc, *block)));
        assert!(malloc.central.pool.live_bytes() >= before + 200 * UNIT);
        many.into_iter().for_each(|block| free(malloc, block));
        assert_eq!(malloc.central.pool.live_bytes(), before);
        malloc.check().expect("nothing is broken");
    });
}

#[test]
fn no_more_than_1024_runs_are_made() {
    with_new(guarding(), |malloc: Tested| {
        all_guarded(malloc);
        let many: Vec<usize> = (0..1100).map(|_| allocate(malloc, 64)).collect();
        let guarded = many.iter().filter(|block| is_guarded(malloc, **block));
        assert_eq!(guarded.count(), 1024);
        malloc.check().expect("nothing is broken");
        many.into_iter().for_each(|block| free(malloc, block));
        assert_eq!(malloc.statistics().used_blocks, 0);
        assert!(is_guarded(malloc, allocate(malloc, 3000)), "again");
    });
}

#[test]
fn without_a_system_that_guards_blocks_are_as_ever_and_no_memory_is_lost() {
    with_new(Source::keeping(), |malloc: Tested| {
        all_guarded(malloc);
        let block = allocate(malloc, 64);
        let before = malloc.central.pool.live_bytes();
        let many: Vec<usize> = (0..100).map(|_| allocate(malloc, 64)).collect();
        assert!(malloc.source().calls(Call::Guard) > 0 && !is_guarded(malloc, block));
        assert!(!many.iter().any(|block| is_guarded(malloc, *block)));
        assert_eq!(malloc.central.pool.live_bytes(), before);
        malloc.check().expect("nothing is broken");
    });
    with_new(guarding(), |malloc: Tested| {
        all_guarded(malloc);
        malloc.source().opens.store(false, Ordering::SeqCst);
        let blocks = [64, 3000].map(|size| allocate(malloc, size));
        assert!(!blocks.iter().any(|block| is_guarded(malloc, *block)));
        malloc.check().expect("nothing is broken");
        malloc.source().opens.store(true, Ordering::SeqCst);
        assert!(is_guarded(malloc, allocate(malloc, 5000)));
    });
}

#[test]
fn zones_and_blocks_with_seals_have_none() {
    with_new(guarding(), |malloc: Tested<Secure>| {
        all_guarded(malloc);
        let many: Vec<usize> = (1..100).map(|size| allocate(malloc, 16 * size)).collect();
        assert!(!many.iter().any(|block| is_guarded(malloc, *block)));
    });
    with_new(guarding(), |malloc: Tested| {
        all_guarded(malloc);
        let zone = Zone::new(malloc).expect("there is memory");
        for size in (1..100).map(|size| 16 * size) {
            let block = zone.allocate(size, 16).expect("there is memory");
            assert!(!is_guarded(malloc, block.addr().get()), "{size}");
        }
        drop(zone);
        assert_eq!(malloc.statistics().used_blocks, 0);
    });
}

#[test]
fn no_more_than_one_is_chosen_in_a_millisecond() {
    with_new(guarding(), |malloc: Tested| {
        guarded_every(malloc, 2);
        for now in [1000, 1001, 5000] {
            malloc.source().now.store(now, Ordering::SeqCst);
            let many: Vec<usize> = (0..2000).map(|_| allocate(malloc, 500)).collect();
            let guarded = many.iter().filter(|block| is_guarded(malloc, **block));
            assert_eq!(guarded.count(), 1, "{now}");
        }
    });
}

/// About one of a hundred of 10,000 refills.
#[test]
fn one_of_so_many_slow_allocations_is_guarded() {
    with_new(guarding(), |malloc: Tested| {
        guarded_every(malloc, 100);
        let many: Vec<usize> = (0..320_000).map(|_| allocate(malloc, 64)).collect();
        let guarded = many.iter().filter(|block| is_guarded(malloc, **block));
        let count = guarded.count();
        assert!((50..200).contains(&count), "{count}");
        malloc.check().expect("nothing is broken");
    });
}
