//! A forked process: heaps of threads that it does not have are ended, and everything else stays.

use std::thread;

use super::super::class::{CLASSES, Class};
use super::super::thread::exchange::Exchange;
use super::super::thread::heap::State;
use super::super::thread::thread_heap::ThreadHeap;
use super::super::{Heap, Linux, Malloc, PageSource, Secure, Zone};
use super::{OfThread, Parts, free, with_new};
use crate::malloc::CurrentHeap;
use crate::sync::atomic::Ordering;

/// An allocator with all caches of a heap, also that of delayed blocks.
type Tested = &'static Malloc<Parts<Linux, Secure>>;

/// The heap of a thread that was in the middle of everything, and two blocks that it had.
fn in_the_middle(malloc: Tested, theirs: usize) -> (&'static Heap, [usize; 2]) {
    let blocks = thread::spawn(move || {
        let blocks = [(); 20].map(|()| malloc.allocate(48).expose_provenance());
        blocks[2..].iter().for_each(|block| free(malloc, *block));
        free(malloc, theirs);
        [blocks[0], blocks[1]]
    });
    let blocks = blocks.join().expect("what it asserts holds");
    let heap = malloc.central.map.span_at(blocks[0]).owner.get();
    let heap = heap.expect("its heap is still there");
    heap.cache.posting.store(1, Ordering::SeqCst);
    heap.latch.sleepers().store(1, Ordering::SeqCst);
    malloc
        .central
        .pool
        .latch
        .sleepers()
        .store(1, Ordering::SeqCst);
    malloc.central.pool.posting.store(3, Ordering::SeqCst);
    (heap, blocks)
}

fn blocks_of(heap: &Heap) -> [usize; 4] {
    let classes = (1..CLASSES).map(Class::numbered);
    [
        classes.map(|class| heap.cache.bins.len(class)).sum(),
        heap.cache.outgoing.each().count(),
        heap.cache.outgoing.bytes.get(),
        heap.cache.waits().count(),
    ]
}

#[test]
fn heaps_of_threads_that_a_child_does_not_have_are_ended_in_it() {
    with_new(Linux, |malloc: Tested| {
        let (own, pool) = (malloc.allocate(48), &malloc.central.pool);
        let zone = Zone::new(malloc).expect("there is memory");
        assert!(zone.allocate(48, 16).is_some());
        let (other, [posted, left]) =
            in_the_middle(malloc, malloc.allocate(48).expose_provenance());
        assert!(blocks_of(other).iter().all(|count| *count > 0));
        // Posted, and not collected before the fork.
        free(malloc, posted);
        ThreadHeap::of_caller(&malloc.central).post_outgoing();
        assert!(other.queue.0.get().is_some());
        let kept = blocks_of(OfThread::get());

        // SAFETY: there is no call between the two, and no other thread with a heap.
        unsafe { malloc.before_fork() };
        let is_held = |heap: &Heap| heap.latch.holder().load(Ordering::SeqCst) != 0;
        assert!(pool.heaps().all(is_held));
        // SAFETY: as above.
        unsafe { malloc.after_fork_in_child() };
        assert_eq!((other.state(), blocks_of(other)), (State::Ended, [0; 4]));
        assert!(other.queue.0.get().is_none() && !pool.is_posting());
        for latch in [&pool.latch, &other.latch, &OfThread::get().latch] {
            assert_eq!(latch.holder().load(Ordering::SeqCst), 0);
            assert_eq!(latch.sleepers().load(Ordering::SeqCst), 0);
        }
        assert!(pool.held.get().is_none());
        let caller = OfThread::get().cache.caller.get();
        assert_eq!((caller, blocks_of(OfThread::get())), (Linux.caller(), kept));
        let now = malloc.statistics();
        assert_eq!((now.heaps_running, now.heaps_ended, now.zones), (1, 1, 1));
        assert!(malloc.central.ended().is(other) && other.next_vacant.get().is_none());
        malloc.check().expect("nothing is broken");

        // The next thread takes the heap over; its blocks are freed as ever.
        let taken = ThreadHeap::take(&malloc.central).expect("there is one");
        assert!(core::ptr::eq(taken.heap, other));
        taken.end();
        free(malloc, left);
        free(malloc, own.expose_provenance());
        malloc.check().expect("nothing is broken");
    });
}

#[test]
fn the_child_of_a_process_with_one_thread_continues_what_a_signal_interrupted() {
    with_new(Linux, |malloc: Tested| {
        free(malloc, malloc.allocate(48).expose_provenance());
        let (pool, own) = (&malloc.central.pool, OfThread::get());
        let parent = 1 << 20;
        for latch in [&pool.latch, &own.latch] {
            own.cache.caller.set(parent);
            assert!(latch.try_lock(parent));
            // SAFETY: this thread stands for the only one.
            unsafe { malloc.after_lone_fork_in_child() };
            assert_eq!(
                own.cache.caller.get(),
                parent,
                "it has to release the latch"
            );
            latch.unlock(parent, |_| unreachable!("nobody sleeps"));
        }
        // SAFETY: as above.
        unsafe { malloc.after_lone_fork_in_child() };
        assert_eq!(own.cache.caller.get(), Linux.caller());
        malloc.check().expect("nothing is broken");
    });
}

#[test]
fn a_thread_whose_heap_has_ended_may_fork() {
    with_new(Linux, |malloc: Tested| {
        malloc.end_thread();
        for in_child in [false, true] {
            // SAFETY: there is no call between this and the next one.
            unsafe { malloc.before_fork() };
            assert_ne!(malloc.central.pool.latch.holder().load(Ordering::SeqCst), 0);
            if in_child {
                // SAFETY: no other thread has a heap.
                unsafe { malloc.after_fork_in_child() };
            } else {
                // SAFETY: as above.
                unsafe { malloc.after_fork() };
            }
            assert_eq!(malloc.central.pool.latch.holder().load(Ordering::SeqCst), 0);
            assert_eq!(Heap::over().cache.caller.get(), 0);
        }
        free(malloc, malloc.allocate(48).expose_provenance());
        malloc.check().expect("nothing is broken");
    });
}

/// Handlers of other libraries that run between the allocator's own.
#[test]
fn what_looks_at_all_of_it_during_a_fork_leaves_the_latches_as_they_are() {
    with_new(Linux, |malloc: Tested| {
        let block = malloc.allocate(48).expose_provenance();
        // SAFETY: no other thread has a heap.
        unsafe { malloc.before_fork() };
        assert_eq!(malloc.statistics().used_blocks, 1);
        malloc.check().expect("nothing is broken");
        assert!(malloc.central.pool.held.get().is_some());
        // SAFETY: as above.
        unsafe { malloc.after_fork() };
        let is_free = |heap: &Heap| heap.latch.holder().load(Ordering::SeqCst) == 0;
        assert!(malloc.central.pool.heaps().all(is_free));
        free(malloc, block);
        malloc.check().expect("nothing is broken");
    });
}
