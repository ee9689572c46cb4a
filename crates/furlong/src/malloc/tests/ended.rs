//! Blocks that a thread leaves in its heap's stacks when it ends: who gets them, and when nobody
//! does.
#![forbid(unsafe_code)]

use std::thread;

use super::super::class::UNIT;
use super::super::{Checked, Hardening, Profile, Secure};
use super::source::Source;
use super::{Sourced as Tested, allocate, free, with_new};

/// Runs in a thread of its own, whose heap ends. Returns the blocks that it has freed, the last one
/// first.
fn freed_by_another<H: Hardening>(malloc: Tested<H>, count: usize, size: usize) -> Vec<usize> {
    let other = thread::spawn(move || {
        let mut blocks: Vec<usize> = (0..count).map(|_| allocate(malloc, size)).collect();
        blocks.iter().for_each(|block| free(malloc, *block));
        malloc.end_thread();
        blocks.reverse();
        blocks
    });
    other.join().expect("it allocates and frees")
}

fn left<H: Hardening>(malloc: Tested<H>) -> usize {
    let heaps = malloc.central.pool.heaps();
    let left = heaps.map(|heap| heap.cache.left.get()).sum();
    assert_eq!(malloc.central.pool.left.get(), left);
    left
}

#[test]
fn the_next_thread_gets_the_blocks_that_the_last_one_freed() {
    with_new(Source::default(), |malloc: Tested| {
        let freed = freed_by_another(malloc, 40, 48);
        assert!(left(malloc) >= 40 * 48);
        let (used, free_bytes) = (
            malloc.statistics().used_blocks,
            malloc.statistics().free_bytes,
        );
        assert!(used == 0 && free_bytes >= 40 * 48, "{used} {free_bytes}");
        let next = thread::spawn(move || {
            let blocks: Vec<usize> = (0..40).map(|_| allocate(malloc, 48)).collect();
            assert_eq!(blocks, freed);
            assert_eq!(left(malloc), 0);
            malloc.check().expect("nothing is broken");
            blocks.into_iter().for_each(|block| free(malloc, block));
            malloc.end_thread();
        });
        next.join().expect("what it asserts holds");
        malloc.check().expect("nothing is broken");
        assert_eq!(malloc.statistics().used_blocks, 0);
    });
}

#[test]
fn a_call_after_the_end_of_its_thread_takes_one_of_them_and_leaves_the_rest() {
    with_new(Source::default(), |malloc: Tested| {
        let freed = freed_by_another(malloc, 40, 48);
        let late = thread::spawn(move || {
            malloc.end_thread();
            allocate(malloc, 48)
        });
        assert_eq!(late.join().expect("it allocates"), freed[0]);
        assert!(left(malloc) >= 39 * 48);
        assert_eq!(malloc.statistics().used_blocks, 1);
        malloc.check().expect("nothing is broken");
        free(malloc, freed[0]);
    });
}

fn adopted<H: Hardening + 'static>() {
    with_new(Source::default(), |malloc: Tested<H>| {
        // A heap of its own, which is running.
        free(malloc, allocate(malloc, 2000));
        let kept = thread::spawn(move || {
            let blocks: Vec<usize> = (0..200).map(|_| allocate(malloc, 48)).collect();
            blocks[1..].iter().for_each(|block| free(malloc, *block));
            malloc.end_thread();
            blocks[0]
        });
        let kept = kept.join().expect("it allocates and frees");
        assert!(left(malloc) > 0);
        let blocks: Vec<usize> = (0..200).map(|_| allocate(malloc, 48)).collect();
        let near = |block: &&usize| **block >> 16 == kept >> 16;
        assert!(
            blocks.iter().filter(near).count() > 100,
            "of the ended heap's span"
        );
        malloc
            .check()
            .expect("the blocks left in stacks are of the heap's own spans");
        for block in blocks.into_iter().chain([kept]) {
            free(malloc, block);
        }
        malloc.trim();
        malloc.check().expect("nothing is broken");
        assert_eq!(malloc.statistics().used_blocks, 0);
    });
}

#[test]
fn a_running_thread_gets_the_span_of_an_ended_one_with_the_blocks_left_of_it() {
    adopted::<Checked>();
    adopted::<Secure>();
}

fn trimmed<H: Hardening + 'static>() {
    with_new(Source::default(), |malloc: Tested<H>| {
        freed_by_another(malloc, 100, 1000);
        assert!(left(malloc) > 0 && malloc.central.pool.live_bytes() > 0);
        malloc.trim();
        assert_eq!((left(malloc), malloc.central.pool.live_bytes()), (0, 0));
    });
}

#[test]
fn a_trim_gives_back_what_ended_threads_have_left() {
    trimmed::<Checked>();
    trimmed::<Secure>();
}

#[test]
fn blocks_that_no_thread_takes_go_after_the_delay() {
    let source = Source {
        step_ms: 300,
        ..Source::default()
    };
    with_new(source, |malloc: Tested| {
        let live = allocate(malloc, 8 << 20);
        freed_by_another(malloc, 100, 1000);
        assert!(left(malloc) > 0);
        // A look at the clock each; a round after more than half a second.
        let mut looks = 0;
        while left(malloc) > 0 {
            free(malloc, allocate(malloc, 100_000));
            looks += 1;
            assert!(looks < 20, "they stay");
        }
        assert!(looks > 2, "they go before the delay is over");
        malloc.check().expect("nothing is broken");
        free(malloc, live);
    });
}

#[test]
fn no_more_is_left_than_may_be_dirty() {
    with_new(Source::default(), |malloc: Tested| {
        malloc.follow(&Profile::CONSERVATIVE);
        // An eighth of the most that is in use: a unit for each thread.
        let most = 80 * UNIT / 8;
        let threads: Vec<_> = (0..80)
            .map(|_| {
                thread::spawn(move || {
                    let block = allocate(malloc, 4000);
                    // All threads have a heap at once.
                    thread::sleep(std::time::Duration::from_millis(30));
                    free(malloc, block);
                    malloc.end_thread();
                })
            })
            .collect();
        for thread in threads {
            thread.join().expect("it allocates and frees");
        }
        let left = left(malloc);
        assert!(left > 0 && left <= most, "{left} of {most}");
        malloc.check().expect("nothing is broken");
        assert_eq!(malloc.statistics().used_blocks, 0);
    });
}
