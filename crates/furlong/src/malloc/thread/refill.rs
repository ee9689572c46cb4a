//! The slow ways in and out: an empty stack, a full stack, and all cases that the gates do not
//! handle.

use crate::malloc::{
    central::{
        pool::Pool,
        span::{Span, Use},
    },
    class::Class,
    config::{Config, Hardening},
    front::malloc::Malloc,
    os::{
        block::{begins_with, pointer, set_first_word},
        current::CurrentHeap,
        source::{Misuse, PageSource},
        system::{clear, stop},
    },
};

use super::{
    exchange::{Exchange, HeldHeap},
    heap::Heap,
};

impl<C: Config> Malloc<C> {
    /// Allocates a block of any size; null if out of memory.
    #[cold]
    #[inline(never)]
    pub(crate) fn allocate_slow(&'static self, size: usize) -> *mut u8 {
        pointer(match Class::of(Self::with_seal(size)) {
            Some(class) => self.sealed(self.allocate_class(class), class.size(), size),
            None => self.allocate_units(size, 1).0,
        })
    }

    /// Reports that memory is short.
    #[cold]
    pub(crate) fn refuse_memory(&'static self) -> usize {
        self.source.refused();
        0
    }

    /// Allocates a block of a class; 0 if out of memory.
    pub(crate) fn allocate_class(&'static self, class: Class) -> usize {
        // A placeholder heap has no blocks either.
        let block = match C::Current::get().cache.bins.pop(class.index()) {
            0 => match self.bind() {
                Some(heap) => self.refill(heap, class),
                None => self.allocate_late(class),
            },
            block => block,
        };
        if block == 0 {
            return self.refuse_memory();
        }
        if C::Hardening::SCRUB {
            self.inspect(block, class.size());
        }
        if C::Hardening::CHECK {
            // SAFETY: a free block, now the caller's; it has at least two words.
            unsafe { set_first_word(block, 0) };
        }
        block
    }

    /// Moves blocks from a span to a heap's stack, and one of them to the caller.
    fn refill(&'static self, heap: &'static Heap, class: Class) -> usize {
        let bins = &heap.cache.bins;
        if bins.take_back(class) {
            return bins.pop(class.index());
        }
        let kept = self.policy.kept(class);
        let mut first = 0;
        // Before the latch is taken: this may touch a page for the first time.
        bins.shape(class, kept);
        let (held, span) = self.hold_with_blocks(heap, class);
        if let Some(span) = span {
            let count = (kept / 2).max(1).min(Self::available(span));
            if kept < count {
                self.take_from(span, count, |block| first = block);
            } else {
                let mut filling = bins.fill(class, count);
                self.take_from(span, count, |block| filling.put(block));
            }
            if Self::is_exhausted(span) {
                self.unlist(heap, span);
            }
        }
        drop(held);
        if C::Hardening::SHUFFLE {
            bins.shuffle(class, |end| heap.cache.next_random() % end);
        }
        if first == 0 {
            first = bins.pop(class.index());
        }
        first
    }

    /// Locks a heap, and finds or makes a span of it with blocks left to give; `None` if out of
    /// memory.
    fn hold_with_blocks(
        &'static self,
        heap: &'static Heap,
        class: Class,
    ) -> (HeldHeap<Self>, Option<&'static Span>) {
        let held = self.hold_heap(heap);
        self.collect(heap);
        let there = self
            .first_span(heap, class)
            .or_else(|| self.take_ended_spans(heap, class));
        if there.is_some() {
            return (held, there);
        }
        drop(held);
        self.post_outgoing(heap);
        let new = self.new_span(heap, class);
        let held = self.hold_heap(heap);
        if let Some(span) = new {
            self.list(heap, span);
        }
        // If out of memory, a trim may have returned this heap's kept blocks to its spans.
        (held, new.or_else(|| self.first_span(heap, class)))
    }

    /// Allocates for a thread whose heap has ended, with a heap taken for this call only.
    fn allocate_late(&'static self, class: Class) -> usize {
        let Some(heap) = self.take_heap() else {
            return 0;
        };
        let block = self.refill(heap, class);
        self.end_heap(heap);
        block
    }

    /// Frees everything that the gate does not: remote blocks, blocks for full stacks, objects of
    /// their own units, and invalid pointers.
    #[cold]
    #[inline(never)]
    pub(crate) fn free_slow(&'static self, address: usize, span: &'static Span) {
        if address == 0 {
            return;
        }
        let span = self.first_of(span);
        if span.is(Use::Blocks) {
            self.free_block(span, address);
        } else {
            self.free_units(address);
        }
    }

    #[inline(always)]
    fn free_block(&'static self, span: &'static Span, address: usize) {
        let block = self.block_in(span, address);
        let class = span.class();
        let heap = C::Current::get();
        let running = heap.is_running();
        if C::Hardening::CHECK {
            // SAFETY: the start of a block.
            let marked = unsafe { begins_with(address, self.pool.mark.get()) };
            if marked && self.is_free(address) {
                stop(&self.source, Misuse::DoubleFree, address);
            }
            if C::Hardening::SCRUB {
                self.contents(address, class.size());
                clear(address, class.size());
            }
            // SAFETY: as above.
            unsafe { set_first_word(address, self.pool.mark.get()) };
        }
        if !running {
            self.send_word(span, block / 64, 1 << (block % 64));
        } else if !span.owner.is(heap) {
            self.send(heap, span, block);
        } else if C::Hardening::SHUFFLE {
            self.keep_late(heap, class, address);
        } else {
            self.keep_or_give(heap, class, address);
        }
    }

    /// Delays the freeing of a block of the heap, and keeps the block that it replaces among the
    /// delayed ones.
    #[inline(always)]
    pub(crate) fn keep_late(&'static self, heap: &'static Heap, class: Class, address: usize) {
        if let Some((out, class)) = heap.cache.delay(address, class)
            && !heap.cache.bins.push(class.number(), out)
        {
            self.keep_or_give(heap, class, out);
        }
    }

    /// Pushes a block of the heap on its stack. A full stack is set aside or half emptied first; a
    /// stack that keeps nothing gives the block to its span.
    fn keep_or_give(&'static self, heap: &'static Heap, class: Class, address: usize) {
        let bins = &heap.cache.bins;
        if bins.push(class.number(), address) {
            return;
        }
        if !C::Hardening::SHUFFLE && bins.put_aside(class, self.policy.aside_bytes_max()) {
            bins.push(class.number(), address);
            return;
        }
        let held = self.hold_heap(heap);
        self.flush(heap, class, self.policy.kept(class).div_ceil(2));
        if !bins.push(class.number(), address) {
            self.give_batch(heap, self.batch_of(address));
        }
        drop(held);
        self.tend(heap);
    }

    /// True if a block with the mark is really free.
    #[cold]
    fn is_free(&'static self, address: usize) -> bool {
        let (span, block) = self.find_block(address);
        let (unit, word, bit) = (span.unit.get(), block / 64, 1_u64 << (block % 64));
        self.map.words(span).is_some_and(|words| {
            let free = words.free(unit, word).get() & bit != 0;
            let remote = words
                .remote(unit, word)
                .load(crate::sync::atomic::Ordering::SeqCst);
            free || remote & bit != 0
        }) || self
            .pool
            .heaps()
            .any(|heap| heap.cache.has(span, block, address))
    }

    /// Gives back the blocks that the caller's heap keeps, and all free memory to the system.
    /// Returns `true` if the system got any.
    pub fn trim(&'static self) -> bool {
        let _pin = C::Current::pin();
        let heap = C::Current::get();
        if heap.is_running() {
            self.post_outgoing(heap);
            let _held = self.hold_heap(heap);
            self.collect(heap);
            self.empty(heap);
            self.retire_whole(heap);
        }
        let before = self.with_pool(|pool| pool.mappings.bytes() + pool.dirty_bytes());
        self.purge_down_to(0);
        self.unmap_mappings(|| 0);
        let unmapped = self.unmap_empty();
        // All of it was given back on request, so taking it again is no sign that the lower bound
        // is too low.
        self.with_pool(Pool::forget_gone);
        unmapped || before > 0
    }
}
