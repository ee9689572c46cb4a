//! Exchange between heaps, and between objects, at the borders: the end of a thread, and the end of
//! an arena.

use std::thread;

use super::super::{Heap, Linux, Malloc};
use super::{Parts, with_new};

type Tested = &'static Malloc<Parts>;

/// Frees a block, which reaches other threads as a number.
fn free(malloc: Tested, block: usize) {
    // SAFETY: it came from there, and nobody uses it any more.
    unsafe { malloc.free(core::ptr::with_exposed_provenance_mut(block)) };
}

fn allocate(malloc: Tested, size: usize) -> usize {
    let block = malloc.allocate(size);
    assert!(!block.is_null());
    block.expose_provenance()
}

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
