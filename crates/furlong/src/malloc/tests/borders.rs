//! The last value on each side of a limit: of sizes, of exchanged blocks, and of refused requests.

use std::thread;

use super::super::Misuse;
use super::super::central::large::{LARGE_MAX, SIZE_MAX};
use super::super::central::span::unit_of;
use super::super::thread::exchange::Exchange;
use super::source::Source;
use super::{Sourced as Tested, allocate, free, stopped, with_new};

/// Runs a closure in another thread, whose heap then ends.
fn elsewhere<T: Send + 'static>(malloc: Tested, run: impl FnOnce() -> T + Send + 'static) -> T {
    let run = move || {
        let done = run();
        malloc.end_thread();
        done
    };
    thread::spawn(run).join().expect("what it asserts holds")
}

#[test]
fn an_object_of_half_an_arena_lies_in_one_and_a_longer_one_does_not() {
    with_new(Source::keeping(), |malloc: Tested| {
        let large = allocate(malloc, LARGE_MAX);
        assert_eq!(malloc.statistics().huge_blocks, 0);
        let huge = allocate(malloc, LARGE_MAX + 1);
        assert_eq!(malloc.statistics().huge_blocks, 1);
        free(malloc, large);
        free(malloc, huge);
        assert!(malloc.good_size(SIZE_MAX) >= SIZE_MAX);
        assert_eq!(malloc.good_size(SIZE_MAX - 1), malloc.good_size(SIZE_MAX));
        assert_eq!(malloc.good_size(SIZE_MAX + 1), SIZE_MAX + 1);
    });
}

#[test]
fn a_block_stays_where_it_is_for_what_has_room_and_takes_more_than_half() {
    with_new(Source::keeping(), |malloc: Tested| {
        for (have, size, stays) in [
            (96, 96, true),
            (96, 49, true),
            (96, 48, false),
            (96, 97, false),
            (32, 1, true),
            (48, 24, false),
        ] {
            let block = allocate(malloc, have);
            let old = core::ptr::with_exposed_provenance_mut(block);
            // SAFETY: a live block, which the result replaces.
            let new = unsafe { malloc.resize(old, size, 16) };
            assert_eq!(new.addr() == block, stays, "{have} to {size}");
            free(malloc, new.expose_provenance());
        }
    });
}

#[test]
fn a_block_that_others_free_is_on_its_way_by_its_own_number() {
    with_new(Source::keeping(), |malloc: Tested| {
        let blocks: Vec<usize> = (0..200).map(|_| allocate(malloc, 48)).collect();
        elsewhere(malloc, move || {
            let own = allocate(malloc, 48);
            let span = malloc.central.map.span_at(blocks[0]);
            let number = |block: &usize| span.block_at(*block).expect("it is a block of this span");
            let here: Vec<usize> = blocks
                .iter()
                .copied()
                .filter(|block| [62, 63, 64, 100].contains(&number(block)))
                .collect();
            here.iter().for_each(|block| free(malloc, *block));
            let heap = malloc
                .central
                .map
                .span_at(own)
                .owner
                .get()
                .expect("its heap");
            for block in &blocks {
                let is_here = here.contains(block);
                assert_eq!(heap.cache.outgoing.has(span, number(block)), is_here);
            }
            free(malloc, own);
            blocks
                .into_iter()
                .filter(|block| !here.contains(block))
                .for_each(|block| free(malloc, block));
        });
        assert_eq!(malloc.statistics().used_blocks, 0);
    });
}

#[test]
fn a_block_that_two_threads_free_is_named() {
    with_new(Source::keeping(), |malloc: Tested| {
        let blocks: Vec<usize> = (0..200).map(|_| allocate(malloc, 48)).collect();
        let block = blocks[150];
        elsewhere(malloc, move || {
            free(malloc, allocate(malloc, 48));
            free(malloc, block);
        });
        // Without the mark of free blocks, as if the program had overwritten it.
        let said = thread::spawn(move || {
            free(malloc, allocate(malloc, 48));
            // SAFETY: nobody uses it.
            unsafe { core::ptr::with_exposed_provenance_mut::<usize>(block).write(0) };
            stopped(|| {
                free(malloc, block);
                malloc.end_thread();
            })
        });
        let said = said.join().expect("it was caught");
        assert_eq!(said, Some((Misuse::DoubleFree, block)));
    });
}

#[test]
fn a_block_that_is_free_in_its_span_is_not_freed_again_whatever_its_number() {
    for number in [0, 1, 63, 64, 70] {
        let said = with_new(Source::keeping(), move |malloc: Tested| {
            let blocks: Vec<usize> = (0..100).map(|_| allocate(malloc, 512)).collect();
            let keeps_the_span = blocks[99];
            for block in blocks.iter().filter(|block| **block != keeps_the_span) {
                free(malloc, *block);
            }
            malloc.trim();
            stopped(|| free(malloc, blocks[number])).zip(Some((Misuse::DoubleFree, blocks[number])))
        });
        let (said, expected) = said.expect("it was stopped");
        assert_eq!(said, expected);
    }
}

#[test]
fn what_others_free_is_used_again_and_again() {
    with_new(Source::keeping(), |malloc: Tested| {
        for _ in 0..300 {
            let blocks: Vec<usize> = (0..100).map(|_| allocate(malloc, 1000)).collect();
            elsewhere(malloc, move || {
                free(malloc, allocate(malloc, 1000));
                blocks.into_iter().for_each(|block| free(malloc, block));
            });
        }
        let after = malloc.statistics();
        assert_eq!(after.used_blocks, 0);
        assert!(after.free_bytes < 1 << 20, "{after:?}");
        // One heap has ended, and each thread took it over.
        assert_eq!(after.heaps_ended, 1);
        let ended = malloc.central.ended().get().expect("there is one");
        assert!(ended.next_vacant.get().is_none());
        malloc.check().expect("nothing is broken");
    });
}

#[test]
fn what_is_freed_of_a_thread_that_has_ended_goes_back_at_once() {
    with_new(Source::keeping(), |malloc: Tested| {
        let theirs = elsewhere(malloc, move || -> Vec<usize> {
            (0..2000).map(|_| allocate(malloc, 1000)).collect()
        });
        let live = malloc.central.pool.live_bytes();
        assert!(live >= 2_000_000, "{live}");
        theirs.into_iter().for_each(|block| free(malloc, block));
        malloc.trim();
        assert_eq!(
            (
                malloc.central.pool.live_bytes(),
                malloc.statistics().free_bytes
            ),
            (0, 0)
        );
        malloc.check().expect("nothing is broken");
    });
}

#[test]
fn a_thread_takes_over_what_is_left_of_spans_of_one_that_has_ended() {
    with_new(Source::keeping(), |malloc: Tested| {
        let mine = allocate(malloc, 16);
        let theirs = elsewhere(malloc, move || allocate(malloc, 1000));
        let next = allocate(malloc, 1000);
        assert_eq!(unit_of(next), unit_of(theirs));
        for block in [mine, theirs, next] {
            free(malloc, block);
        }
        assert_eq!(malloc.statistics().used_blocks, 0);
    });
}
