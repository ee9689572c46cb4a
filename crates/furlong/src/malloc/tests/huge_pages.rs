//! The units that get huge pages.
#![forbid(unsafe_code)]

use super::super::central::arena::ARENA;
use super::super::central::large::LARGE_MAX;
use super::super::class::UNIT;
use super::super::{HugePages, Profile, Zone, unit_of};
use super::source::{Call, Source};
use super::{Sourced as Tested, allocate, free, with_new};
use crate::sync::atomic::Ordering;

const MIB: usize = 1 << 20;

/// The spans of a heap without huge pages.
const FIRST: usize = 2 * MIB;

fn is_huge(malloc: Tested, block: usize) -> bool {
    let arena = malloc.central.map.arena(unit_of(block));
    arena.expect("a block of an arena").huge.get() == 1
}

/// Other heaps get none, and large objects none as long as there is other room.
#[test]
fn the_blocks_of_a_class_get_huge_pages_once_a_heap_has_many() {
    for heaps in [1, 2, 6] {
        with_new(Source::default(), move |malloc: Tested| {
            let zones: Vec<_> = (1..heaps).filter_map(|_| Zone::new(malloc)).collect();
            assert_eq!(zones.len(), heaps - 1);
            let few = |size| {
                let blocks = zones.iter().filter_map(|zone| zone.allocate(size, 1));
                let mut blocks = blocks.map(|block| block.addr().get());
                assert!(!blocks.any(|block| is_huge(malloc, block)));
            };
            few(UNIT / 4);
            let arenas = || malloc.statistics().arena_bytes / ARENA;
            let huge_arenas = || malloc.source().bytes(Call::HugePages) / ARENA;
            let (first, all) = (FIRST / (UNIT / 4), 13 * ARENA / (UNIT / 4) + 1);
            let blocks: Vec<usize> = (0..first + all)
                .map(|_| allocate(malloc, UNIT / 4))
                .collect();
            let huge = blocks.iter().filter(|block| is_huge(malloc, **block));
            assert_eq!(huge.count(), all);
            // The last one has a span, and room.
            assert_eq!((arenas(), huge_arenas()), (15, 14));
            few(UNIT / 16);
            let other = allocate(malloc, UNIT / 8);
            assert!(!is_huge(malloc, other));
            // Two fill an arena.
            let objects = [(); 4].map(|()| allocate(malloc, LARGE_MAX));
            assert!(!objects.iter().any(|object| is_huge(malloc, *object)));
            assert_eq!((arenas(), huge_arenas()), (17, 14));
            malloc.check().expect("nothing is broken");
            let all = blocks.into_iter().chain(objects).chain([other]);
            all.for_each(|block| free(malloc, block));
        });
    }
}

/// The heap has few spans at first, but of one class. Then it has many, but none of the next class.
#[test]
fn a_heap_gets_huge_pages_beyond_two_mebibytes_and_a_class_beyond_four_spans() {
    with_new(Source::default(), |malloc: Tested| {
        let mut blocks = Vec::new();
        // The last has spans of four units.
        for (size, units) in [(UNIT / 64, 32), (UNIT / 128, 4), (UNIT / 4, 16)] {
            let first = blocks.len();
            blocks.extend((0..=units * UNIT / size).map(|_| allocate(malloc, size)));
            let huge = (blocks[first..].iter()).filter(|block| is_huge(malloc, **block));
            assert_eq!(huge.count(), 1, "{size}");
        }
        blocks.into_iter().for_each(|block| free(malloc, block));
    });
}

/// It is asked once. Blocks fill arenas as if there were no huge pages at all.
#[test]
fn a_system_without_huge_pages_is_not_asked_for_each_span() {
    let source = Source {
        has_huge_pages: false,
        ..Source::default()
    };
    with_new(source, |malloc: Tested| {
        let blocks: Vec<usize> = (0..3 * ARENA / (UNIT / 4))
            .map(|_| allocate(malloc, UNIT / 4))
            .collect();
        assert_eq!(malloc.source().calls(Call::HugePages), 1);
        assert_eq!(malloc.statistics().arena_bytes, 3 * ARENA);
        blocks.into_iter().for_each(|block| free(malloc, block));
    });
}

/// Arenas that have them are used, but no more are mapped. A profile that wants them asks again.
#[test]
fn with_huge_pages_off_blocks_fill_the_arenas_that_have_them() {
    with_new(Source::default(), |malloc: Tested| {
        let mut blocks: Vec<usize> = (0..=FIRST / (UNIT / 4))
            .map(|_| allocate(malloc, UNIT / 4))
            .collect();
        // The rest of the arena with huge pages, and that of the other. Then a new one.
        let all = ARENA / (UNIT / 4);
        let rest = 2 * all - blocks.len();
        for (huge_pages, more, huge) in [
            (HugePages::Off, rest, all),
            (HugePages::Arenas, all, 2 * all),
        ] {
            malloc.follow(&Profile {
                huge_pages,
                ..Profile::STANDARD
            });
            blocks.extend((0..more).map(|_| allocate(malloc, UNIT / 4)));
            let are = blocks.iter().filter(|block| is_huge(malloc, **block));
            assert_eq!(are.count(), huge, "{huge_pages:?}");
        }
        blocks.into_iter().for_each(|block| free(malloc, block));
    });
}

#[test]
fn free_memory_serves_blocks_before_new_huge_pages_do() {
    with_new(Source::default(), |malloc: Tested| {
        let free_one = allocate(malloc, LARGE_MAX);
        free(malloc, free_one);
        let blocks: Vec<usize> = (0..=LARGE_MAX / (UNIT / 4))
            .map(|_| allocate(malloc, UNIT / 4))
            .collect();
        let huge = blocks.iter().filter(|block| is_huge(malloc, **block));
        assert_eq!(huge.count(), 1);
        blocks.into_iter().for_each(|block| free(malloc, block));
    });
}

/// No room is left but in an arena with huge pages.
#[test]
fn large_objects_use_arenas_with_huge_pages_before_memory_runs_out() {
    with_new(Source::default(), |malloc: Tested| {
        let mut blocks: Vec<usize> = (0..=FIRST / (UNIT / 4))
            .map(|_| allocate(malloc, UNIT / 4))
            .collect();
        let arena = |address: usize| address / ARENA;
        let [without, with] = [blocks[0], blocks[FIRST / (UNIT / 4)]].map(arena);
        assert_eq!(malloc.source().bytes(Call::HugePages), ARENA);
        malloc.source().left.store(0, Ordering::SeqCst);
        for (size, from) in [(MIB, without), (MIB, without), (LARGE_MAX, with)] {
            let large = allocate(malloc, size);
            assert_eq!(arena(large), from, "{size}");
            blocks.push(large);
        }
        assert_eq!(malloc.source().calls(Call::Purge), 0, "without a trim");
        blocks.into_iter().for_each(|block| free(malloc, block));
    });
}
