//! Memory that goes back to the system after a delay, by a clock that the tests set.

use core::ptr;

use crate::sync::atomic::Ordering;

use super::super::Profile;
use super::super::central::arena::{ARENA, HUGE_PAGE};
use super::super::class::UNIT;
use super::super::thread::thread_heap::ThreadHeap;
use super::source::{Call, Source};
use super::{Sourced as Tested, with_new};

const MIB: usize = 1 << 20;

/// Sixteen fill a span, which has four units.
const BLOCK: usize = UNIT / 4;
const SPAN: usize = 16 * BLOCK;

/// More than half of the standard delay, so a round is due.
const ROUND: u64 = 600;

/// Runs a test with an allocator that has 30 MiB in large objects in use.
fn with_live(run: fn(Tested)) {
    with_new(Source::keeping(), move |malloc: Tested| {
        let live = allocate(malloc, 30, MIB);
        run(malloc);
        free(malloc, live);
        malloc.check().expect("nothing is broken");
    });
}

fn allocate(malloc: Tested, count: usize, size: usize) -> Vec<*mut u8> {
    let blocks: Vec<*mut u8> = (0..count).map(|_| malloc.allocate(size)).collect();
    assert!(blocks.iter().all(|block| !block.is_null()));
    blocks
}

fn free(malloc: Tested, blocks: Vec<*mut u8>) {
    for block in blocks {
        // SAFETY: it came from there, and nobody else has it.
        unsafe { malloc.free(block) };
    }
}

/// Lets a round's time pass, and then allocates and frees something large repeatedly. Each time
/// does a step of the pending work.
fn pass(malloc: Tested) {
    malloc.source().now.fetch_add(ROUND, Ordering::SeqCst);
    for _ in 0..8 {
        free(malloc, allocate(malloc, 1, 100_000));
    }
}

fn dirty_and_purged(malloc: Tested) -> (usize, usize) {
    (malloc.central.pool.dirty_bytes(), purged(malloc))
}

fn purged(malloc: Tested) -> usize {
    malloc.source().bytes(Call::Purge)
}

#[test]
fn what_nobody_takes_is_purged_after_the_delay() {
    with_live(|malloc| {
        pass(malloc);
        free(malloc, allocate(malloc, 3, MIB));
        assert_eq!(dirty_and_purged(malloc), (3 * MIB, 0));
        pass(malloc);
        assert_eq!(purged(malloc), 0, "a round sees it for the first time");
        pass(malloc);
        // The object that is allocated and freed uses two units again and again.
        assert_eq!(malloc.central.pool.dirty_bytes(), 2 << 16);
        assert!(purged(malloc) >= 3 * MIB - (2 << 16));
    });
}

#[test]
fn a_source_that_refuses_is_asked_once_for_what_was_freed() {
    with_live(|malloc| {
        malloc.source().purges.store(false, Ordering::SeqCst);
        free(malloc, allocate(malloc, 3, MIB));
        malloc.trim();
        malloc.trim();
        assert_eq!(dirty_and_purged(malloc), (3 * MIB, 3 * MIB));
        malloc.source().purges.store(true, Ordering::SeqCst);
        free(malloc, allocate(malloc, 3, MIB));
        malloc.trim();
        assert_eq!(malloc.central.pool.dirty_bytes(), 0);
    });
}

/// While the only free units are on their way to the system, all arenas are full for others.
#[test]
fn units_that_were_given_back_serve_before_those_of_later_arenas() {
    with_new(Source::keeping(), |malloc: Tested| {
        // Two arenas are full.
        let mut objects = allocate(malloc, 8, MIB);
        let first = objects[0].addr();
        free(malloc, vec![objects.remove(0)]);
        let elsewhere = move || {
            let object = allocate(malloc, 1, MIB);
            assert_ne!(object[0].addr(), first, "it is on its way");
            free(malloc, object);
        };
        *malloc.source().meanwhile.lock().expect("nobody panicked") = Some(Box::new(elsewhere));
        assert!(malloc.trim());
        let again = allocate(malloc, 1, MIB);
        assert_eq!(again[0].addr(), first);
        free(malloc, again);
        free(malloc, objects);
        malloc.check().expect("nothing is broken");
    });
}

#[test]
fn nothing_is_purged_before_time_passes() {
    with_live(|malloc| {
        free(malloc, allocate(malloc, 3, MIB));
        for _ in 0..1000 {
            free(malloc, allocate(malloc, 1, 100_000));
        }
        assert_eq!(dirty_and_purged(malloc), (3 * MIB, 0));
    });
}

/// A round is due after half the delay, not as soon as some time has passed.
#[test]
fn nothing_is_purged_by_looks_that_come_before_half_the_delay() {
    with_live(|malloc| {
        pass(malloc);
        free(malloc, allocate(malloc, 3, MIB));
        let begin = malloc.source().now.load(Ordering::SeqCst);
        // The last value is exactly half the delay, which is not yet more than half.
        for now in (1..=500).step_by(25).chain([500]) {
            malloc.source().now.store(begin + now, Ordering::SeqCst);
            free(malloc, allocate(malloc, 1, 100_000));
        }
        assert_eq!(dirty_and_purged(malloc), (3 * MIB, 0));
        pass(malloc);
        pass(malloc);
        assert!(purged(malloc) > 0);
    });
}

#[test]
fn the_first_look_at_the_clock_only_begins_the_time() {
    with_live(|malloc| {
        free(malloc, allocate(malloc, 2000, 1000));
        // The system has run for a while; the program has just started.
        malloc.source().now.store(100 * ROUND, Ordering::SeqCst);
        free(malloc, allocate(malloc, 1, 100_000));
        assert!(malloc.statistics().free_bytes > MIB);
        pass(malloc);
        assert_eq!(malloc.statistics().free_bytes, 0);
    });
}

#[test]
fn what_is_taken_in_every_round_stays() {
    with_live(|malloc| {
        for _ in 0..20 {
            malloc.source().now.fetch_add(ROUND, Ordering::SeqCst);
            free(malloc, allocate(malloc, 3, MIB));
        }
        assert_eq!(dirty_and_purged(malloc), (3 * MIB, 0));
    });
}

#[test]
fn what_is_taken_again_soon_after_it_was_too_much_stays_from_then_on() {
    with_live(|malloc| {
        let twelve = || {
            free(malloc, allocate(malloc, 12, MIB));
            purged(malloc)
        };
        let first = twelve();
        assert!(first >= 8 * MIB, "{first}");
        let later: Vec<usize> = (0..10).map(|_| twelve()).collect();
        assert!(later[9] == later[5] && later[9] < 3 * first, "{later:?}");
        assert_eq!(malloc.central.pool.dirty_bytes(), 12 * MIB);
    });
}

#[test]
fn what_is_taken_again_after_a_round_was_rightly_given_back() {
    with_live(|malloc| {
        pass(malloc);
        let mut before = 0;
        for _ in 0..10 {
            free(malloc, allocate(malloc, 12, MIB));
            pass(malloc);
            assert!(purged(malloc) >= before + 8 * MIB);
            before = purged(malloc);
        }
    });
}

#[test]
fn what_a_trim_gave_back_is_no_sign_that_more_should_stay() {
    with_live(|malloc| {
        let most = malloc.central.dirty_bytes_max();
        for _ in 0..10 {
            free(malloc, allocate(malloc, 3, MIB));
            assert!(malloc.trim());
        }
        assert_eq!(malloc.central.dirty_bytes_max(), most);
    });
}

#[test]
fn a_thread_that_read_the_clock_before_the_last_round_begins_none() {
    with_live(|malloc| {
        pass(malloc);
        free(malloc, allocate(malloc, 3, MIB));
        pass(malloc);
        malloc.source().now.fetch_sub(1, Ordering::SeqCst);
        free(malloc, allocate(malloc, 1, 100_000));
        assert_eq!(dirty_and_purged(malloc), (3 * MIB, 0));
    });
}

#[test]
fn what_a_heap_keeps_goes_after_the_delay() {
    with_live(|malloc| {
        let sizes = (16..60_000).step_by(900);
        let blocks: Vec<*mut u8> = sizes.flat_map(|size| allocate(malloc, 40, size)).collect();
        free(malloc, blocks);
        assert!(malloc.statistics().free_bytes > MIB);
        (0..3).for_each(|_| pass(malloc));
        let after = malloc.statistics();
        assert_eq!((after.free_bytes, after.dirty_bytes), (0, 2 << 16));
    });
}

#[test]
fn the_mapping_of_a_huge_object_is_unmapped_after_the_delay() {
    with_live(|malloc| {
        free(malloc, allocate(malloc, 1, 3 * MIB));
        let unmapped = || malloc.source().bytes(Call::Unmap);
        let before = unmapped();
        assert_eq!(malloc.central.pool.mappings.bytes(), 3 * MIB);
        (0..3).for_each(|_| pass(malloc));
        assert_eq!(
            (malloc.central.pool.mappings.bytes(), unmapped()),
            (0, before + 3 * MIB)
        );
    });
}

#[test]
fn a_program_with_little_memory_keeps_it() {
    with_new(Source::keeping(), |malloc: Tested| {
        free(malloc, allocate(malloc, 2, MIB));
        (0..5).for_each(|_| pass(malloc));
        assert_eq!(dirty_and_purged(malloc), (2 * MIB, 0));
        assert!(malloc.central.pool.dirty_bytes() < Profile::STANDARD.dirty_bytes.0);
    });
}

/// The set of dirty units is the number 1, which a count of them would be too.
#[test]
fn the_first_unit_of_an_arena_is_purged_after_the_delay_even_alone() {
    with_live(|malloc| {
        let central = &malloc.central;
        let filled = allocate(malloc, 2, MIB);
        let first = malloc.allocate_aligned(1, 2 << 16);
        assert!(first.addr().is_multiple_of(4 * MIB), "a new arena");
        free(malloc, vec![first]);
        for (round, dirty) in [(1, 1 << 16), (2, 1 << 16), (3, 0)] {
            central.begin_round(round * ROUND);
            assert_eq!(central.pool.dirty_bytes(), dirty, "{round}");
        }
        free(malloc, filled);
    });
}

#[test]
fn the_first_unit_of_an_arena_stays_dirty_even_alone_if_the_system_refuses_it() {
    with_live(|malloc| {
        let filled = allocate(malloc, 2, MIB);
        let first = malloc.allocate_aligned(1, 2 << 16);
        assert!(first.addr().is_multiple_of(4 * MIB), "a new arena");
        malloc.source().purges.store(false, Ordering::SeqCst);
        free(malloc, vec![first]);
        malloc.central.purge_down_to(0);
        assert_eq!(malloc.central.pool.dirty_bytes(), 1 << 16);
        free(malloc, filled);
    });
}

/// One thread purges an object, while another one frees and purges the arena's others.
#[test]
fn an_arena_whose_last_units_come_back_from_the_system_is_unmapped() {
    with_new(Source::default(), |malloc: Tested| {
        let (central, source) = (&malloc.central, malloc.source());
        let mut objects = allocate(malloc, 30, MIB);
        let of_first = |block: &*mut u8| block.addr() / ARENA == objects[0].addr() / ARENA;
        let count = objects.iter().filter(|block| of_first(block)).count();
        free(malloc, objects.split_off(count));
        central.purge_down_to(0);
        assert_eq!(
            malloc.statistics().arena_bytes,
            5 * ARENA,
            "four empty ones"
        );

        free(malloc, objects.split_off(count - 1));
        let others: Vec<usize> = objects
            .iter()
            .map(|block| block.expose_provenance())
            .collect();
        let elsewhere = move || {
            let others = others.into_iter().map(ptr::with_exposed_provenance_mut);
            free(malloc, others.collect());
            malloc.central.purge_down_to(0);
        };
        *source.meanwhile.lock().expect("nobody panicked") = Some(Box::new(elsewhere));
        let before = source.bytes(Call::Unmap);
        central.purge_down_to(0);
        assert_eq!(malloc.statistics().arena_bytes, 4 * ARENA);
        assert!(source.bytes(Call::Unmap) - before >= ARENA);
        malloc.check().expect("nothing is broken");
    });
}

/// The page in which a block begins stays, and so does a page of two blocks.
#[test]
fn whole_pages_of_free_medium_blocks_are_purged() {
    for size in [10_240, 16_384, 20_480, 40_960, 65_536] {
        with_new(Source::keeping(), move |malloc: Tested| {
            let blocks = allocate(malloc, 4, size);
            let first = blocks[0].addr();
            let pages = |block: usize| {
                let pages = (block..block + size).filter(|at| at.is_multiple_of(4096));
                pages
                    .filter(|page| *page > block && page + 4096 <= block + size)
                    .count()
            };
            // Freed to their span: a trim empties the stacks.
            free(malloc, blocks[1..3].to_vec());
            malloc.trim();
            let span = malloc.central.map.span_at(first);
            // The blocks that the heap got with these are free, too.
            let free_ones = (1..usize::from(span.carved.get())).filter(|at| *at != 3);
            let expected: usize = free_ones.map(|at| pages(first + at * size)).sum();
            let before = purged(malloc);
            malloc.central.purge_free(span);
            assert_eq!(purged(malloc) - before, expected * 4096, "{size}");
            free(malloc, vec![blocks[0], blocks[3]]);
        });
    }
}

/// Blocks of 20 KiB, twelve a span, of which one in each stays in use.
#[test]
fn free_medium_blocks_that_were_used_again_are_purged_again_and_no_earlier() {
    with_new(Source::keeping(), |malloc: Tested| {
        let rest = |malloc: Tested| {
            pass(malloc);
            pass(malloc);
            pass(malloc);
        };
        let blocks = allocate(malloc, 4_800, 20_000);
        let every_twelfth = |rest: bool| {
            let blocks = blocks.iter().enumerate();
            let chosen = blocks.filter(move |(at, _)| at.is_multiple_of(12) != rest);
            chosen.map(|(_, block)| *block).collect()
        };
        free(malloc, every_twelfth(true));
        rest(malloc);
        let once = purged(malloc);
        assert!(once > 40 * MIB, "{once}");
        rest(malloc);
        assert_eq!(purged(malloc), once, "they are purged already");
        for _ in 0..3 {
            free(malloc, allocate(malloc, 4_400, 20_000));
            malloc.source().now.fetch_add(ROUND, Ordering::SeqCst);
            free(malloc, allocate(malloc, 1, 100_000));
        }
        assert!(purged(malloc) < once + 20 * MIB, "they are in use");
        rest(malloc);
        assert!(purged(malloc) > 2 * once - once / 4, "{}", purged(malloc));
        free(malloc, every_twelfth(false));
    });
}

/// All blocks but those of the first 2 MiB have huge pages. Every second span is freed, or all.
#[test]
fn huge_pages_are_split_before_parts_of_them_are_purged_and_not_before_all_is() {
    for all in [false, true] {
        with_new(Source::keeping(), move |malloc: Tested| {
            // Nothing goes back before the trim.
            malloc.follow(&Profile {
                dirty_bytes: (3 * ARENA, 3 * ARENA),
                ..Profile::STANDARD
            });
            let blocks = allocate(malloc, (2 * MIB + 2 * ARENA) / BLOCK, BLOCK);
            assert_eq!(malloc.source().bytes(Call::HugePages), 2 * ARENA);
            let goes = |block: &*mut u8| all || (block.addr() / SPAN).is_multiple_of(2);
            let (gone, kept): (Vec<_>, Vec<_>) = blocks.into_iter().partition(goes);
            free(malloc, gone);
            malloc.trim();
            // The span that stays is in an arena without huge pages.
            let split = if all { 0 } else { 4 };
            assert_eq!(malloc.source().bytes(Call::Split), split * HUGE_PAGE);
            assert_eq!(malloc.central.pool.dirty_bytes(), 0);
            free(malloc, kept);
        });
    }
}

#[test]
fn a_huge_page_is_resident_as_a_whole_once_a_block_of_it_is_in_use() {
    with_new(Source::keeping(), |malloc: Tested| {
        let mut blocks = allocate(malloc, 2 * MIB / BLOCK, BLOCK);
        assert_eq!(dirty_and_purged(malloc), (0, 0));
        blocks.extend(allocate(malloc, 1, BLOCK));
        assert_eq!(malloc.source().bytes(Call::HugePages), ARENA);
        let rest = HUGE_PAGE - SPAN;
        assert_eq!(dirty_and_purged(malloc), (rest, 0));
        malloc.trim();
        assert_eq!(dirty_and_purged(malloc), (0, rest));
        // It has small pages now.
        blocks.extend(allocate(malloc, SPAN / BLOCK, BLOCK));
        assert_eq!(malloc.central.pool.dirty_bytes(), 0);
        free(malloc, blocks);
    });
}

/// The last span has huge pages. It is not purged before half of its sixteen blocks are free.
#[test]
fn a_huge_page_is_split_for_a_span_of_which_half_is_free_and_for_no_less() {
    for (freed, splits) in [(0, 0), (7, 0), (8, 1), (15, 1)] {
        with_new(Source::keeping(), move |malloc: Tested| {
            let mut blocks = allocate(malloc, 2 * MIB / BLOCK + 16, BLOCK);
            assert_eq!(malloc.source().bytes(Call::HugePages), ARENA);
            let kept = blocks.split_off(blocks.len() - 16 + freed);
            let freed = blocks.split_off(2 * MIB / BLOCK);
            free(malloc, freed);
            let own = ThreadHeap::of_caller(&malloc.central);
            own.give_all();
            let span = malloc.central.map.first_unit(kept[0].addr());
            assert_eq!(malloc.source().calls(Call::Split), 0);
            assert_eq!(malloc.central.purge_free(span), splits == 1);
            assert_eq!(malloc.source().calls(Call::Split), splits);
            assert_eq!(purged(malloc) > 0, splits == 1);
            free(malloc, blocks);
            free(malloc, kept);
        });
    }
}

/// With little memory nothing is gained, and a look costs a call of the system.
#[test]
fn the_clock_is_read_now_and_then_and_only_with_much_memory() {
    for (live, looks) in [(4, 0), (5, 3)] {
        with_new(Source::keeping(), move |malloc: Tested| {
            let objects = allocate(malloc, live, MIB);
            let before = malloc.source().calls(Call::Now);
            let own = ThreadHeap::bind(&malloc.central).expect("there is memory");
            // The first of 17 looks, or as many as are left.
            (0..3 * 17).for_each(|_| own.maintain());
            assert_eq!(malloc.source().calls(Call::Now) - before, looks);
            free(malloc, objects);
        });
    }
}

#[test]
fn memory_that_is_taken_again_is_regretted_to_the_byte() {
    with_live(|malloc| {
        free(malloc, allocate(malloc, 12, MIB));
        let again = allocate(malloc, 12, MIB);
        assert_eq!(malloc.central.pool.regretted.get(), purged(malloc));
        free(malloc, again);
    });
}
