//! The beginning, the end and the reuse of heaps.

use core::ptr;

use crate::malloc::{
    class::{CLASSES, Class},
    config::Config,
    front::malloc::Malloc,
    os::{current::CurrentHeap, source::PageSource, system::System},
};

use super::{
    bins::{STACKS, STACKS_ALIGN},
    exchange::Exchange,
    heap::{Heap, State},
};

// As the docs of Malloc say.
const _: () = assert!(size_of::<Heap>() + STACKS <= 320 << 10);

impl<C: Config> Malloc<C> {
    /// The caller's heap, made or taken over if it has none. `None` if out of memory, or if the
    /// caller's heap has ended.
    pub(crate) fn bind(&'static self) -> Option<&'static Heap> {
        let heap = C::Current::get();
        match heap.state() {
            State::Running => return Some(heap),
            State::Over => return None,
            State::Vacant | State::Ended => {}
        }
        let heap = self.take_heap()?;
        heap.cache.caller.set(self.source.caller());
        // SAFETY: callers are pinned; the heap is running from now on, so nobody else takes it.
        unsafe { C::Current::set(heap) };
        C::Current::bound();
        Some(heap)
    }

    /// A heap for the caller, running from now on: an ended one, or a new one.
    pub(crate) fn take_heap(&'static self) -> Option<&'static Heap> {
        let ended = self.take_over();
        // The time of its last round was another thread's.
        ended.inspect(|heap| heap.cache.round_ms.set(0));
        ended.or_else(|| self.new_heap())
    }

    pub(crate) fn new_heap(&'static self) -> Option<&'static Heap> {
        let page = self.source.page_size().max(STACKS_ALIGN);
        let stacks = size_of::<Heap>().next_multiple_of(STACKS_ALIGN);
        let start = self
            .source
            .map_at((stacks + STACKS).next_multiple_of(page), page)?;
        let heap: *const Heap = ptr::with_exposed_provenance(start);
        // SAFETY: zeroed memory is a valid Heap, whose pointers may be null; it is aligned to more
        // than needed, and never unmapped.
        let heap: &'static Heap = unsafe { &*heap };
        heap.cache.bins.begin(start + stacks);
        heap.cache.mark.set(self.with_pool(|pool| pool.mark.get()));
        heap.cache.random.set(heap.cache.mark.get() ^ start | 1);
        heap.set_state(State::Running);
        self.pool.heaps.push(heap, |next| heap.next.set(next));
        Some(heap)
    }

    /// Ends the caller's heap. Its kept blocks go back to their spans, its remote frees are sent,
    /// and its spans wait to be taken over. Later calls by the same thread are served without a
    /// heap of its own.
    pub fn end_thread(&'static self) {
        let _pin = C::Current::pin();
        let heap = C::Current::get();
        // SAFETY: pinned; the heap is the placeholder for one that has ended.
        unsafe { C::Current::set(Heap::over()) };
        if heap.is_running() {
            self.end_heap(heap);
        }
    }

    /// Ends a heap that only the caller uses.
    pub(crate) fn end_heap(&'static self, heap: &'static Heap) {
        self.post_outgoing(heap);
        self.end(heap, || {
            self.empty(heap);
            self.collect(heap);
            self.retire_whole(heap);
        });
        self.tend_freed();
    }

    /// Gives all kept and delayed blocks of a heap back to their spans.
    pub(crate) fn empty(&'static self, heap: &'static Heap) {
        for (block, _) in heap.cache.waits() {
            self.give_batch(heap, self.batch_of(block));
        }
        heap.cache.forget_waiting();
        self.empty_stacks(heap);
    }

    /// Gives all blocks in a heap's stacks back to their spans.
    pub(crate) fn empty_stacks(&'static self, heap: &'static Heap) {
        for class in (1..CLASSES).map(Class::numbered) {
            self.flush(heap, class, usize::MAX);
            while heap.cache.bins.take_back(class) {
                self.flush(heap, class, usize::MAX);
            }
        }
    }

    /// Retires the spans of a heap that have no block in use.
    pub(crate) fn retire_whole(&'static self, heap: &'static Heap) {
        for class in (1..CLASSES).map(Class::numbered) {
            let mut unit = heap.first(class).get();
            while unit != 0 {
                let span = self.map.span(unit);
                unit = span.next.get();
                if span.free.get() == span.carved.get() {
                    self.retire(heap, span);
                }
            }
        }
    }
}
