//! Exchange between heaps, and between objects, at the borders: the end of a thread, and the end of
//! an arena.

use std::sync::{Arc, Barrier, mpsc};
use std::thread;

use super::super::{CurrentHeap, Heap, Linux, Malloc};
use super::{OfThread, Parts, allocate, free, with_new};

type Tested = &'static Malloc<Parts>;

#[test]
fn a_thread_that_ends_keeps_nothing_of_what_others_have_to_get() {
    with_new(Linux, |malloc: Tested| {
        // Fewer bytes than a thread holds back.
        let blocks: Vec<usize> = (0..100).map(|_| allocate(malloc, 48)).collect();
        let other = thread::spawn(move || {
            // The thread has a heap of its own, which holds the remote frees back.
            free(malloc, allocate(malloc, 48));
            blocks.into_iter().for_each(|block| free(malloc, block));
            let waiting = |heap: &&_| Heap::is_running(heap);
            let waiting = malloc.central.pool.heaps().filter(waiting);
            assert!(
                waiting
                    .map(|heap| heap.cache.outgoing.bytes.get())
                    .sum::<usize>()
                    > 0
            );
            malloc.end_thread();
        });
        other.join().expect("what it asserts holds");
        for heap in malloc.central.pool.heaps() {
            assert_eq!(heap.cache.outgoing.bytes.get(), 0);
            assert_eq!(heap.cache.outgoing.each().count(), 0);
        }
        assert_eq!(malloc.statistics().used_blocks, 0);
        malloc.check().expect("nothing is broken");
    });
}

#[test]
fn a_thread_that_trims_keeps_nothing_of_what_others_have_to_get() {
    with_new(Linux, |malloc: Tested| {
        let (send, receive) = mpsc::channel();
        let trimmed = Arc::new(Barrier::new(2));
        let owner = thread::spawn({
            let trimmed = Arc::clone(&trimmed);
            move || {
                let blocks: Vec<usize> = (0..100).map(|_| allocate(malloc, 48)).collect();
                send.send(blocks).expect("it is received");
                trimmed.wait();
                malloc.trim();
                malloc.central.pool.live_bytes()
            }
        });
        // With a heap of its own, the thread holds the remote frees back.
        free(malloc, allocate(malloc, 48));
        let blocks: Vec<usize> = receive.recv().expect("it is sent");
        blocks.into_iter().for_each(|block| free(malloc, block));
        malloc.trim();
        trimmed.wait();
        assert_eq!(owner.join().expect("it trims"), 0, "bytes in use");
    });
}

#[test]
fn an_object_at_the_end_of_an_arena_grows_elsewhere() {
    with_new(Linux, |malloc: Tested| {
        // Four of them fill an arena, whose first units are free at the end.
        let quarter = 16 << 16;
        let objects = [(); 4].map(|()| allocate(malloc, quarter));
        let last = objects.into_iter().max().expect("there are four");
        assert!((last + quarter).is_multiple_of(4 << 20), "{objects:x?}");
        let first = objects.into_iter().min().expect("there are four");
        free(malloc, first);
        let end: *mut u8 = core::ptr::with_exposed_provenance_mut(last);
        // SAFETY: a live object, which the result replaces.
        let longer = unsafe { malloc.resize(end, quarter + 1, 16) };
        assert!(!longer.is_null() && longer != end);
        malloc.check().expect("nothing is broken");
        free(malloc, longer.expose_provenance());
        for object in objects
            .into_iter()
            .filter(|object| ![first, last].contains(object))
        {
            free(malloc, object);
        }
        assert_eq!(malloc.statistics().used_blocks, 0);
        malloc.check().expect("nothing is broken");
    });
}

#[test]
fn remote_frees_are_posted_once_they_are_a_quarter_of_a_mebibyte() {
    with_new(Linux, |malloc: Tested| {
        let blocks: Vec<usize> = (0..64).map(|_| allocate(malloc, 4096)).collect();
        let other = thread::spawn(move || {
            free(malloc, allocate(malloc, 4096));
            let outgoing = &OfThread::get().cache.outgoing;
            for (at, block) in blocks.into_iter().enumerate() {
                assert_eq!(outgoing.bytes.get(), at * 4096);
                // A span has 16 such blocks; after two of them the others are quick to free.
                let is_quick = at % 16 >= 2 && at < 63;
                assert_eq!(outgoing.next(block).is_some(), is_quick, "{at}");
                free(malloc, block);
            }
            assert_eq!((outgoing.bytes.get(), outgoing.each().count()), (0, 0));
            malloc.end_thread();
        });
        other.join().expect("what it asserts holds");
        assert_eq!(malloc.statistics().used_blocks, 0);
    });
}

/// Blocks that are posted and not collected are free, whatever their word.
#[test]
fn blocks_that_are_on_their_way_are_not_in_use() {
    with_new(Linux, |malloc: Tested| {
        let blocks: Vec<usize> = (0..300).map(|_| allocate(malloc, 48)).collect();
        let before = malloc.statistics();
        assert_eq!(before.used_blocks, 300);
        let freed = [0, 63, 64, 200, 299].map(|at| blocks[at]);
        let other = thread::spawn(move || {
            // Without a heap they are posted one by one.
            malloc.end_thread();
            freed.into_iter().for_each(|block| free(malloc, block));
        });
        other.join().expect("it frees");
        let after = malloc.statistics();
        assert_eq!((after.used_blocks, after.used_bytes), (295, 295 * 48));
        assert_eq!(after.free_bytes, before.free_bytes + 5 * 48);
    });
}
