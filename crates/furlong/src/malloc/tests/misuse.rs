//! Misuse that the program is stopped for, to the byte and by address; and requests that are
//! refused. `tests/malloc_misuse.rs` has what a program does by mistake; here records and secrets
//! are in reach.

use core::ptr;
use std::thread;

use super::super::central::large::{LARGE_MAX, SIZE_MAX};
use super::super::central::seal::Seals;
use super::super::thread::thread_heap::ThreadHeap;
use super::super::{Checked, CurrentHeap, Hardening, Misuse, NoHardening, Secure};
use super::source::{Call, Source};
use super::{OfThread, Sourced as Tested, allocate, free, stopped, with_new};
use crate::sync::atomic::Ordering;

fn write(address: usize, byte: u8) {
    // SAFETY: mapped memory of an allocator that only this test uses.
    unsafe { ptr::with_exposed_provenance_mut::<u8>(address).write(byte) };
}

/// Frees a block that another thread has freed already. Its mark of a free block is erased first,
/// as by a program that wrote to it.
fn free_again<H: Hardening>(malloc: Tested<H>, block: usize) {
    (0..8).for_each(|at| write(block + at, 0));
    free(malloc, block);
}

/// The sizes whose blocks are overrun: all small ones, and some of each kind.
fn sizes() -> impl Iterator<Item = usize> {
    (1..130).chain([
        1000,
        1023,
        5000,
        60_000,
        66_000,
        200_000,
        LARGE_MAX - 8,
        3 << 20,
    ])
}

#[test]
fn a_byte_written_past_the_contents_of_a_sealed_block_is_found() {
    with_new(Source::keeping(), |malloc: Tested<Secure>| {
        for size in sizes() {
            let block = allocate(malloc, size);
            let span = malloc.central.map.first_unit(block);
            let room = match size {
                0..60_001 => span.class().size(),
                _ => usize::try_from(span.summary.get()).expect("64 bits"),
            };
            let (end, seal) = (block + size, block + room - 8);
            // From the word in which the contents end, 64 bytes are looked at, and the seal.
            for at in (end..seal.min(end + 80)).chain([seal, seal + 3, seal + 7]) {
                let looked_at = at < end - end % 8 + 64 || at >= seal;
                let before = read(at);
                for bit in [0x01, 0x80] {
                    write(at, before ^ bit);
                    let usable = stopped(|| {
                        // SAFETY: a live block.
                        let _ =
                            unsafe { malloc.usable_size(ptr::with_exposed_provenance_mut(block)) };
                    });
                    let expected = looked_at.then_some((Misuse::Overrun, block));
                    assert_eq!(usable, expected, "{size}, {} past it", at - end);
                    if looked_at {
                        assert_eq!(stopped(|| free(malloc, block)), expected, "{size}");
                    }
                }
                write(at, before);
            }
            free(malloc, block);
        }
        malloc.check().expect("nothing is broken");
    });
}

fn read(address: usize) -> u8 {
    // SAFETY: as in write.
    unsafe { ptr::with_exposed_provenance_mut::<u8>(address).read() }
}

#[test]
fn a_byte_written_to_a_free_block_is_found_before_its_next_use() {
    with_new(Source::keeping(), |malloc: Tested<Secure>| {
        let seals = Seals(&malloc.central);
        for room in [16, 32, 112, 128, 144, 1008, 8192] {
            let block = allocate(malloc, 20_000);
            let inspected = || stopped(|| seals.inspect(block, room));
            assert_eq!(inspected(), None);
            // The bytes behind a short block are the next one's.
            for at in 0..160 {
                write(block + at, 1);
                let looked_at = at < room.min(128);
                let expected = looked_at.then_some((Misuse::WrittenAfterFree, block));
                assert_eq!(inspected(), expected, "byte {at} of {room}");
                write(block + at, 0);
            }
            free(malloc, block);
        }
    });
}

/// Aligned and medium blocks take another way than small ones.
#[test]
fn a_byte_written_to_a_free_block_is_found_by_every_way_to_take_it_again() {
    for (size, align) in [(100, 16), (100, 64), (20_000, 16), (40_000, 4096)] {
        with_new(Source::keeping(), move |malloc: Tested<Secure>| {
            let take = || malloc.allocate_aligned(size, align).expose_provenance();
            let (keeps_the_span, block) = (take(), take());
            free(malloc, block);
            malloc.trim();
            write(block + 40, 1);
            // More than a span has; they come in a random order.
            let said = stopped(|| (0..600).for_each(|_| assert_ne!(take(), 0)));
            assert_eq!(said, Some((Misuse::WrittenAfterFree, block)), "{size}");
            free(malloc, keeps_the_span);
        });
    }
}

#[test]
fn new_blocks_do_not_come_in_the_order_of_their_addresses() {
    with_new(Source::keeping(), |malloc: Tested<Secure>| {
        let blocks: Vec<usize> = (0..400).map(|_| allocate(malloc, 40)).collect();
        let follows = |pair: &&[usize]| pair[1] == pair[0] + 48;
        let following = blocks.windows(2).filter(follows).count();
        // By chance, about one in each of a dozen batches.
        assert!(following < 100, "{following} of 399");
        blocks.into_iter().for_each(|block| free(malloc, block));
    });
}

#[test]
fn units_written_to_after_they_were_freed_are_found_or_zeroed() {
    with_new(Source::keeping(), |malloc: Tested<Secure>| {
        for size in [200_000, 250_000] {
            let object = allocate(malloc, size);
            free(malloc, object);
            write(object + size / 2, 1);
            let again = stopped(|| assert_eq!(allocate(malloc, size), object));
            assert_eq!(again, Some((Misuse::WrittenAfterFree, object)));
        }
    });
    with_new(Source::keeping(), |malloc: Tested<Secure>| {
        malloc.source().purges.store(false, Ordering::SeqCst);
        let object = allocate(malloc, 200_000);
        (0..200_000).for_each(|at| write(object + at, 7));
        free(malloc, object);
        assert!((0..200_000).all(|at| read(object + at) == 0));
        // The last bytes too, behind which the next object's contents end.
        let again = allocate(malloc, 150_000);
        assert!((0..150_000).all(|at| read(again + at) == 0));
        free(malloc, again);
    });
}

/// A block freed here and by another thread, which has no mark by then.
#[test]
fn a_block_that_another_thread_frees_again_is_named_by_its_owner() {
    for number in [0, 1, 63, 64, 70] {
        let said = with_new(Source::keeping(), move |malloc: Tested<Checked>| {
            let blocks: Vec<usize> = (0..100).map(|_| allocate(malloc, 512)).collect();
            let block = blocks[number];
            free(malloc, block);
            malloc.trim();
            let other = move || {
                free(malloc, allocate(malloc, 512));
                free_again(malloc, block);
                malloc.end_thread();
            };
            thread::spawn(other).join().expect("it is not found yet");
            stopped(|| {
                malloc.trim();
            })
            .zip(Some((Misuse::DoubleFree, block)))
        });
        let (said, expected) = said.expect("it was stopped");
        assert_eq!(said, expected, "{number}");
    }
}

#[test]
fn a_block_of_another_heap_that_is_freed_twice_is_named_at_once() {
    for number in [0, 1, 63, 64, 70] {
        with_new(Source::keeping(), move |malloc: Tested<Checked>| {
            let blocks: Vec<usize> = (0..100).map(|_| allocate(malloc, 512)).collect();
            let block = blocks[number];
            let other = move || {
                free(malloc, allocate(malloc, 512));
                free(malloc, block);
                stopped(|| free_again(malloc, block))
            };
            let said = thread::spawn(other).join().expect("it was caught");
            assert_eq!(said, Some((Misuse::DoubleFree, block)), "{number}");
        });
    }
}

/// The first block opens its word; all others of the word take the short path.
#[test]
fn a_wrong_pointer_after_others_of_the_same_word_of_another_heap_is_named_at_once() {
    for (place, misuse) in [
        (3 * 64, Misuse::DoubleFree),
        (3 * 64 + 16, Misuse::NotABlock),
        (20 * 64 + 1, Misuse::NotABlock),
        (31 * 64, Misuse::NotABlock),
        (63 * 64, Misuse::NotABlock),
    ] {
        with_new(Source::keeping(), move |malloc: Tested<NoHardening>| {
            let block = allocate(malloc, 64);
            assert_eq!(malloc.central.map.span_at(block).carved.get(), 31);
            let other = move || {
                free(malloc, allocate(malloc, 64));
                (0..10).for_each(|at| free(malloc, block + at * 64));
                let outgoing = &OfThread::get().cache.outgoing;
                let bits = || outgoing.each().map(|(_, place)| place.bits.get()).collect();
                assert_eq!((outgoing.bytes.get(), bits()), (640, vec![0x3ff]));
                let said = stopped(|| free_again(malloc, block + place));
                assert_eq!(bits(), [0x3ff]);
                said
            };
            let said = thread::spawn(other).join().expect("it was caught");
            assert_eq!(said, Some((misuse, block + place)));
        });
    }
}

/// One of several heaps keeps the block; the others have never seen it.
#[test]
fn a_block_that_a_heap_keeps_is_not_freed_again_by_any_thread() {
    with_new(Source::keeping(), |malloc: Tested<Checked>| {
        let block = allocate(malloc, 512);
        let other = move || {
            free(malloc, allocate(malloc, 512));
            stopped(|| free(malloc, block))
        };
        free(malloc, block);
        let expected = Some((Misuse::DoubleFree, block));
        let theirs = thread::spawn(other).join().expect("it was caught");
        assert_eq!(theirs, expected, "by another thread");
        assert_eq!(stopped(|| free(malloc, block)), expected, "by its own");
    });
}

/// Without checks in the gate, records are never made to say what is impossible.
#[test]
fn a_block_that_was_never_handed_out_is_named_when_its_stack_is_emptied() {
    for (number, with_others) in [31, 32, 63, 64, 100]
        .map(|at| [(at, false), (at, true)])
        .concat()
    {
        with_new(Source::keeping(), move |malloc: Tested<NoHardening>| {
            let block = allocate(malloc, 64);
            let span = malloc.central.map.span_at(block);
            assert_eq!(span.carved.get(), 31);
            let untouched = span.address_of(number);
            let said = stopped(|| {
                if with_others {
                    free(malloc, block);
                }
                free(malloc, untouched);
                malloc.trim();
            });
            assert_eq!(said, Some((Misuse::NotABlock, untouched)), "{number}");
        });
    }
}

#[test]
fn a_pointer_into_a_block_or_the_same_twice_is_named_when_its_stack_is_emptied() {
    for (with_others, offsets, misuse) in [
        (false, vec![8], Misuse::NotABlock),
        (true, vec![8], Misuse::NotABlock),
        (true, vec![64 + 16], Misuse::NotABlock),
        (false, vec![64, 64], Misuse::DoubleFree),
        (true, vec![64, 64], Misuse::DoubleFree),
    ] {
        with_new(Source::keeping(), move |malloc: Tested<NoHardening>| {
            let blocks = [(); 3].map(|()| allocate(malloc, 64));
            let said = stopped(|| {
                if with_others {
                    free(malloc, blocks[0]);
                }
                offsets.iter().for_each(|at| free(malloc, blocks[0] + at));
                malloc.trim();
            });
            let at = blocks[0] + offsets[0];
            assert_eq!(said, Some((misuse, at)), "{offsets:?}");
        });
    }
}

/// A thread says that it posts until it has done so, also one without a heap.
#[test]
fn a_thread_that_is_stopped_while_it_posts_was_posting() {
    for with_heap in [true, false] {
        with_new(Source::keeping(), move |malloc: Tested<Checked>| {
            let blocks = [(); 2].map(|()| allocate(malloc, 512));
            let other = move || {
                if with_heap {
                    free(malloc, allocate(malloc, 512));
                } else {
                    malloc.end_thread();
                }
                let post = |block| {
                    free_again(malloc, block);
                    if with_heap {
                        ThreadHeap::of_caller(&malloc.central).post_outgoing();
                    }
                };
                post(blocks[0]);
                let pool = &malloc.central.pool;
                assert!(!pool.is_posting() && stopped(|| post(blocks[1])).is_none());
                assert_eq!(
                    stopped(|| post(blocks[0])),
                    Some((Misuse::DoubleFree, blocks[0]))
                );
                let flag = OfThread::get().cache.posting.load(Ordering::SeqCst);
                let count = pool.posting.load(Ordering::SeqCst);
                assert_eq!((flag, count), (with_heap.into(), (!with_heap).into()));
                assert!(pool.is_posting());
            };
            thread::spawn(other).join().expect("what it asserts holds");
        });
    }
}

/// A request, its name, and `true` if the system is called for memory.
type Ask = (&'static str, Box<dyn Fn() -> *mut u8>, bool);

#[test]
fn a_request_that_no_memory_could_hold_is_refused_without_a_call_for_memory() {
    with_new(Source::keeping(), |malloc: Tested<Checked>| {
        let block = malloc.allocate(3 << 20);
        let source = malloc.source();
        let of_size = |size: usize, align| malloc.allocate_aligned(size, align);
        let mut asks: Vec<Ask> = vec![
            ("refuse", Box::new(|| malloc.refuse()), false),
            ("align", Box::new(move || of_size(1, 3)), false),
            ("most", Box::new(|| malloc.allocate(SIZE_MAX)), true),
            ("more", Box::new(|| malloc.allocate(SIZE_MAX + 1)), false),
            ("all", Box::new(|| malloc.allocate(usize::MAX)), false),
            (
                "zeros",
                Box::new(|| malloc.allocate_zeroed(SIZE_MAX + 1, 1)),
                false,
            ),
            (
                "zeros at 3",
                Box::new(|| malloc.allocate_zeroed(1, 3)),
                false,
            ),
        ];
        // SAFETY: a live block, which no resize here replaces.
        let resize = move |size| unsafe { malloc.resize(block, size, 16) };
        asks.push(("longer", Box::new(move || resize(SIZE_MAX)), true));
        asks.push(("too long", Box::new(move || resize(SIZE_MAX + 1)), false));
        for (what, ask, calls) in asks {
            let before = (source.calls(Call::Refused), source.calls(Call::Map));
            assert!(ask().is_null(), "{what}");
            assert_eq!(source.calls(Call::Refused), before.0 + 1, "{what}");
            assert_eq!(source.calls(Call::Map) > before.1, calls, "{what}");
        }
        free(malloc, block.expose_provenance());
        assert_eq!(malloc.statistics().used_blocks, 0);
    });
}
