//! Large and huge objects: in place, elsewhere, in a mapping that was kept, and in memory that was
//! kept for others.

use core::ptr;

use super::super::central::arena::{ARENA, Arena};
use super::super::central::large::{LARGE_MAX, SIZE_MAX};
use super::super::class::UNIT;
use super::super::runs::longest;
use super::super::{HugePages, Profile, Secure};
use super::source::{Call, Source};
use super::{Sourced as Tested, free, with_new};
use crate::sync::atomic::Ordering;

const MIB: usize = 1 << 20;

fn allocate(malloc: Tested, size: usize) -> usize {
    let block = super::allocate(malloc, size);
    // SAFETY: a block of this size.
    unsafe { ptr::with_exposed_provenance_mut::<u8>(block).write_bytes(7, size) };
    block
}

/// Resizes an object, and checks its contents.
fn resize(malloc: Tested, (block, size): (usize, usize), new: usize) -> usize {
    // SAFETY: a live block, which the result replaces.
    let resized = unsafe { malloc.resize(ptr::with_exposed_provenance_mut(block), new, 16) };
    assert!(!resized.is_null());
    // SAFETY: the object has as many bytes, all of which were written.
    let kept = unsafe { core::slice::from_raw_parts(resized, size.min(new)) };
    assert!(kept.iter().all(|byte| *byte == 7), "{size} to {new}");
    resized.expose_provenance()
}

/// The number of objects and their bytes: huge ones, and all.
fn used(malloc: Tested) -> [usize; 4] {
    let now = malloc.statistics();
    [
        now.huge_blocks,
        now.huge_bytes,
        now.used_blocks,
        now.used_bytes,
    ]
}

#[test]
fn a_large_object_is_resized_in_place_as_long_as_it_has_room_and_no_class_fits() {
    let units = |count: usize| count * UNIT;
    for (size, new, in_place) in [
        // What needs more than half stays as it is.
        (units(3), units(2), true),
        (units(3), UNIT + 1, true),
        (units(3), UNIT, false),
        (units(16), units(2), true),
        (units(16), units(2) + 1, true),
        (units(16), units(17), true),
        (units(16), LARGE_MAX, true),
        (units(16), LARGE_MAX + 1, false),
        (LARGE_MAX, UNIT + 1, true),
    ] {
        with_new(Source::able(), move |malloc: Tested| {
            let object = allocate(malloc, size);
            let resized = resize(malloc, (object, size), new);
            assert_eq!(resized == object, in_place, "{size} to {new}");
            // SAFETY: a live block.
            let usable = unsafe { malloc.usable_size(ptr::with_exposed_provenance_mut(resized)) };
            let stays = new > size / 2 && new <= size;
            assert_eq!(usable, if stays { size } else { malloc.good_size(new) });
            assert_eq!(used(malloc)[2..], [1, usable], "{size} to {new}");
            malloc.check().expect("nothing is broken");
            free(malloc, resized);
            malloc.trim();
            assert_eq!(malloc.central.pool.live_bytes(), 0, "{size} to {new}");
        });
    }
}

#[test]
fn an_object_of_one_aligned_unit_is_resized_by_copying_or_in_place() {
    with_new(Source::able(), |malloc: Tested| {
        let block = malloc.allocate_aligned(1, 2 * UNIT).expose_provenance();
        // SAFETY: a live block of a unit.
        unsafe { ptr::with_exposed_provenance_mut::<u8>(block).write_bytes(7, UNIT) };
        assert_eq!(used(malloc), [0, 0, 1, UNIT]);
        let longer = resize(malloc, (block, UNIT), UNIT + 1);
        assert_eq!(used(malloc), [0, 0, 1, 2 * UNIT]);
        free(malloc, longer);
    });
}

#[test]
fn a_huge_object_is_resized_where_it_is_if_the_system_can() {
    with_new(Source::able(), |malloc: Tested| {
        let mut object = allocate(malloc, 16 * MIB);
        assert_eq!(malloc.source().calls(Call::Records), 1);
        // The second is that of the caller's heap, which comes with its first object.
        assert_eq!(malloc.source().take_calls()[0], 2);
        assert_eq!(used(malloc), [1, 16 * MIB, 1, 16 * MIB]);
        // Shorter by more than half, but still huge: pages are cut off.
        let shorter = resize(malloc, (object, 16 * MIB), 5 * MIB + 1);
        assert_eq!((shorter, malloc.source().take_calls()), (object, [0, 1, 0]));
        assert_eq!(used(malloc), [1, 5 * MIB + 4096, 1, 5 * MIB + 4096]);
        // To the largest that is no huge object: by copying.
        object = resize(malloc, (shorter, 5 * MIB + 1), LARGE_MAX);
        assert_ne!(object, shorter);
        assert_eq!(malloc.source().take_calls()[1..], [0, 0]);
        assert_eq!(used(malloc), [0, 0, 1, LARGE_MAX]);
        free(malloc, object);
    });
}

#[test]
fn the_system_is_asked_to_lengthen_a_huge_object_up_to_the_largest_size() {
    with_new(Source::able(), |malloc: Tested| {
        let object = allocate(malloc, 3 * MIB);
        for (size, asked) in [(SIZE_MAX, 1), (SIZE_MAX + 1, 0)] {
            malloc.source().take_calls();
            // SAFETY: a live block, which stays, since no system has this much memory.
            let longer =
                unsafe { malloc.resize(ptr::with_exposed_provenance_mut(object), size, 16) };
            assert!(longer.is_null());
            assert_eq!(malloc.source().take_calls()[1], asked, "{size}");
            assert_eq!(used(malloc), [1, 3 * MIB, 1, 3 * MIB]);
        }
        free(malloc, object);
    });
}

#[test]
fn a_huge_object_moves_without_copying_if_the_system_can_and_is_copied_if_not() {
    for (moves, shrinks) in [(true, false), (false, false), (true, true)] {
        with_new(Source::able(), move |malloc: Tested| {
            let source = malloc.source();
            source.resizes.store(false, Ordering::SeqCst);
            source.moves.store(moves, Ordering::SeqCst);
            let (size, new) = if shrinks {
                (8 * MIB, 3 * MIB)
            } else {
                (3 * MIB, 8 * MIB)
            };
            let object = allocate(malloc, size);
            source.take_calls();
            let moved = resize(malloc, (object, size), new);
            // Pages never move to a shorter mapping. A new one to which they cannot move is kept in
            // part, and tried once more.
            let tries = match (moves, shrinks) {
                (_, true) => [1, 0],
                (true, false) => [1, 1],
                (false, false) => [2, 2],
            };
            assert_eq!(source.take_calls()[1..], tries);
            assert!(moved != object || shrinks);
            assert_eq!(used(malloc), [1, new, 1, new]);
            malloc.check().expect("nothing is broken");
            free(malloc, moved);
            malloc.trim();
            assert_eq!(used(malloc), [0; 4]);
            assert_eq!(malloc.central.pool.mappings.bytes(), 0);
        });
    }
}

/// A mapping that is kept serves the next object: as it is, cut off, longer, or moved.
#[test]
fn a_kept_mapping_serves_objects_of_other_lengths() {
    let size = 4 * MIB;
    for (new, resizes, moves, calls, has) in [
        (size, true, true, [0, 0, 0], size),
        (size - size / 9, true, true, [0, 0, 0], size),
        (size - size / 8, true, true, [0, 0, 0], size - size / 8),
        (size + 4096, false, true, [1, 1, 1], size + 4096),
        (size + 4096, false, false, [2, 1, 1], size + 4096),
    ] {
        with_new(Source::able(), move |malloc: Tested| {
            let source = malloc.source();
            let live = allocate(malloc, 40 * MIB);
            free(malloc, allocate(malloc, size));
            assert_eq!(malloc.central.pool.mappings.bytes(), size);
            source.resizes.store(resizes, Ordering::SeqCst);
            source.moves.store(moves, Ordering::SeqCst);
            source.take_calls();
            let left = || source.left.load(Ordering::SeqCst) + source.bytes(Call::Records);
            let before = left();
            let zeros = malloc.allocate_zeroed(new, 16);
            assert_eq!(source.take_calls(), calls, "{new}");
            // SAFETY: a new object of this size.
            let bytes = unsafe { core::slice::from_raw_parts(zeros, new) };
            assert!(bytes.iter().all(|byte| *byte == 0));
            assert_eq!(used(malloc)[1], 40 * MIB + has, "{new}");
            assert_eq!(malloc.central.pool.mappings.bytes(), 0);
            if calls[0] > 0 && !moves {
                let gone = before + size - left();
                assert_eq!(gone, has, "the old mapping is given back, and no other");
            }
            free(malloc, zeros.expose_provenance());
            free(malloc, live);
        });
    }
}

#[test]
fn huge_objects_get_huge_pages_where_one_begins() {
    for (huge_pages, bytes) in [(HugePages::Off, 0), (HugePages::Objects, 3 * MIB)] {
        with_new(Source::able(), move |malloc: Tested| {
            malloc.follow(&Profile {
                huge_pages,
                ..Profile::STANDARD
            });
            let huge = allocate(malloc, 3 * MIB);
            let begins = huge.is_multiple_of(2 * MIB);
            assert!(begins || huge_pages == HugePages::Off);
            let large: Vec<usize> = (0..6).map(|_| allocate(malloc, LARGE_MAX)).collect();
            assert_eq!(malloc.statistics().arena_bytes, 3 * ARENA);
            assert_eq!(malloc.source().bytes(Call::HugePages), bytes);
            large.into_iter().for_each(|object| free(malloc, object));
            free(malloc, huge);
        });
    }
}

#[test]
fn a_huge_object_ends_with_a_huge_page_if_that_is_little_more() {
    for (huge_pages, ends) in [(HugePages::Off, false), (HugePages::Objects, true)] {
        with_new(Source::able(), move |malloc: Tested| {
            malloc.follow(&Profile {
                huge_pages,
                ..Profile::STANDARD
            });
            for (size, with) in [
                (3 * MIB, 3 * MIB),
                (5 * MIB, 5 * MIB),
                // The rest of 4,096 pages is more than an eighth of it, and just less.
                (3640 * 4096, 3640 * 4096),
                (3641 * 4096, 16 * MIB),
                (16 * MIB, 16 * MIB),
                (16 * MIB + 1, 18 * MIB),
            ] {
                let least = size.next_multiple_of(4096);
                let len = if ends { with } else { least };
                let object = allocate(malloc, size);
                assert_eq!(used(malloc)[1], len, "{size}");
                // Less if memory is short.
                assert_eq!(malloc.good_size(size), least);
                // All of it is the holder's.
                malloc.source().take_calls();
                assert_eq!(resize(malloc, (object, size), len), object);
                assert_eq!(malloc.source().take_calls(), [0; 3]);
                free(malloc, object);
                malloc.trim();
            }
        });
    }
}

/// With guards it always does.
#[test]
fn a_huge_object_ends_where_it_must_if_memory_is_short() {
    let size = 16 * MIB + 1;
    with_new(Source::able(), move |malloc: Tested| {
        let before = super::allocate(malloc, 60 * MIB);
        // So that there are records for the addresses that come next, whichever they are.
        let records = super::allocate(malloc, 30 * MIB);
        free(malloc, records);
        malloc.trim();
        (malloc.source().left).store(16 * MIB + 8192, Ordering::SeqCst);
        let object = allocate(malloc, size);
        assert_eq!(used(malloc)[1], 76 * MIB + 4096);
        // It serves the same size again, though it is not the best length.
        free(malloc, object);
        malloc.source().take_calls();
        assert_eq!(allocate(malloc, size), object);
        assert_eq!(malloc.source().take_calls(), [0; 3]);
        let longer = resize(malloc, (object, size), 16 * MIB + 4097);
        assert_eq!((longer, used(malloc)[1]), (object, 76 * MIB + 8192));
        free(malloc, object);
        free(malloc, before);
    });
    with_new(Source::able(), move |malloc: Tested<Secure>| {
        let object = super::allocate(malloc, size);
        // With room for a fence, which this system does not have.
        assert_eq!(malloc.statistics().huge_bytes, 16 * MIB + 8192);
        free(malloc, object);
    });
}

#[test]
fn kept_mappings_make_a_longer_one_and_a_long_one_serves_several_objects() {
    with_new(Source::able(), |malloc: Tested| {
        let (source, mappings) = (malloc.source(), &malloc.central.pool.mappings);
        let live = super::allocate(malloc, 160 * MIB);
        let left = || source.left.load(Ordering::SeqCst) + source.bytes(Call::Records);
        let before = left();
        let objects = [5, 7, 9].map(|mib| allocate(malloc, mib * MIB));
        objects.into_iter().for_each(|object| free(malloc, object));
        assert_eq!(mappings.bytes(), (5 + 7 + 10) * MIB);
        source.take_calls();
        let long = malloc.allocate_zeroed(20 * MIB, 16);
        // 4, 6 and 10 MiB are whole huge pages.
        assert_eq!((source.take_calls(), mappings.bytes()), ([1, 0, 3], 0));
        // SAFETY: a new object of this size.
        let bytes = unsafe { core::slice::from_raw_parts(long, 20 * MIB) };
        assert!(bytes.iter().all(|byte| *byte == 0));
        free(malloc, long.expose_provenance());
        let short = allocate(malloc, 3 * MIB);
        assert_eq!(mappings.bytes(), 16 * MIB, "from the next huge page on");
        let rest = allocate(malloc, 15 * MIB);
        assert_eq!((rest, mappings.bytes()), (short + 4 * MIB, 0));
        assert_eq!(source.take_calls(), [0; 3]);
        assert_eq!(used(malloc)[1], (160 + 3 + 16) * MIB);
        malloc.check().expect("nothing is broken");
        for object in [short, rest] {
            free(malloc, object);
        }
        malloc.trim();
        assert_eq!(left(), before);
        free(malloc, live);
    });
}

/// At first a part of it is given back each time.
#[test]
fn the_memory_of_an_object_that_comes_and_goes_is_kept() {
    for (resizes, moves) in [(true, true), (false, true), (false, false)] {
        with_new(Source::able(), move |malloc: Tested| {
            let source = malloc.source();
            source.resizes.store(resizes, Ordering::SeqCst);
            source.moves.store(moves, Ordering::SeqCst);
            let come_and_go = || {
                free(malloc, super::allocate(malloc, 40 * MIB));
                (
                    source.bytes(Call::Unmap),
                    malloc.central.pool.mappings.bytes(),
                )
            };
            let first = come_and_go();
            assert!(first.1 < 40 * MIB, "{first:?}");
            let later = [(); 6].map(|()| come_and_go());
            assert_eq!(later[4].1, 40 * MIB, "{later:?}");
            assert_eq!(later[5], later[4], "{later:?}");
        });
    }
}

/// A program that asks for all of memory again and again does not lose what is kept for it.
#[test]
fn nothing_is_given_back_for_a_size_beyond_all_addresses() {
    with_new(Source::able(), |malloc: Tested| {
        free(malloc, allocate(malloc, MIB));
        let kept = malloc.statistics().arena_bytes;
        malloc.source().take_calls();
        for size in [1 << 47, 1 << 50, isize::MAX as usize - 8 * MIB] {
            assert!(malloc.allocate(size).is_null(), "{size}");
            assert!(malloc.allocate_aligned(size, 4096).is_null(), "{size}");
        }
        assert_eq!(malloc.statistics().arena_bytes, kept);
        assert_eq!(malloc.source().take_calls(), [0; 3]);
    });
}

/// Objects of one to 32 units come and go, and arenas with them.
#[test]
fn the_first_arena_with_room_is_found_for_every_length() {
    with_new(Source::able(), |malloc: Tested| {
        let pool = &malloc.central.pool;
        let is_right = || {
            for len in 1..=64 {
                let has = |arena: &&'static Arena| longest(arena.free.get()) >= len;
                let found = pool.fits[0].first(len).map(|arena| arena.base.get());
                assert_eq!(found, pool.arenas().find(has).map(|arena| arena.base.get()));
            }
        };
        is_right();
        let (mut objects, mut x) = (Vec::new(), 0x2545_f491_u32);
        let mut most = 0;
        for step in 0..4000 {
            x ^= x << 13;
            x ^= x >> 17;
            x ^= x << 5;
            // It grows, falls to nothing, and grows again.
            let grows = x % 8 < if step % 2000 < 1000 { 5 } else { 2 };
            if grows {
                objects.push(super::allocate(malloc, (1 + x as usize / 8 % 32) * UNIT));
            } else if !objects.is_empty() {
                free(malloc, objects.swap_remove(x as usize / 8 % objects.len()));
            }
            if step % 100 == 0 {
                malloc.trim();
                malloc.check().expect("nothing is broken");
            }
            most = most.max(pool.arenas().count());
            is_right();
        }
        assert!(most > 20, "{most}");
        objects.into_iter().for_each(|object| free(malloc, object));
        malloc.trim();
        assert_eq!(malloc.statistics().arena_bytes, 0);
        is_right();
    });
}

#[test]
fn an_aligned_object_gets_a_new_arena_if_none_holds_it_wherever_its_run_begins() {
    with_new(Source::able(), |malloc: Tested| {
        let objects: Vec<usize> = (0..8).map(|_| allocate(malloc, MIB)).collect();
        let arenas = || malloc.statistics().arena_bytes / ARENA;
        let aligned = |len| {
            let block = malloc.allocate_aligned(len, 2 * MIB);
            block.expose_provenance()
        };
        for object in [1, 2, 5].map(|at| objects[at]) {
            free(malloc, object);
        }
        let here = aligned(MIB);
        assert_eq!(
            (here, arenas()),
            (objects[2], 2),
            "the run begins before it"
        );
        let there = aligned(MIB);
        assert_eq!((there % (2 * MIB), arenas()), (0, 3));
        for object in [here, there]
            .into_iter()
            .chain([0, 3, 4, 6, 7].map(|at| objects[at]))
        {
            free(malloc, object);
        }
        malloc.check().expect("nothing is broken");
    });
}
