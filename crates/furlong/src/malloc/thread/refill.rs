//! The slow paths of a heap's blocks: an empty stack, a full stack, and blocks of other heaps.

use crate::malloc::{
    Central, Class, Config, DEPTH, Exchange, GuardedBlocks, Hardening, Misuse, Samples, Seals,
    Span, ThreadHeap, begins_with, clear_block, set_first_word, stop, touch,
};

use super::exchange::HeldHeap;
use super::free_batch::FreeBatch;

impl<C: Config> ThreadHeap<C> {
    /// Allocates a block of a class for the caller, who asked for `size` bytes, without a seal; 0
    /// if out of memory.
    pub(crate) fn allocate(central: &'static Central<C>, class: Class, size: usize) -> usize {
        // A placeholder heap has no blocks either.
        let block = match Self::of_caller(central).heap.cache.bins.pop(class.index()) {
            0 => match Self::bind(central) {
                Some(own) => own.pop_or_refill(class, size),
                None => Self::allocate_late(central, class),
            },
            block => block,
        };
        if block == 0 {
            return central.refuse_memory();
        }
        if C::Hardening::SCRUB {
            Seals(central).inspect(block, class.size());
        } else if C::Hardening::CHECK {
            // SAFETY: a free block, now the caller's; it has at least two words.
            unsafe { set_first_word(block, 0) };
        }
        block
    }

    /// Allocates for a thread whose heap has ended, with a heap taken for this call only.
    fn allocate_late(central: &'static Central<C>, class: Class) -> usize {
        let Some(own) = Self::take(central) else {
            return 0;
        };
        let block = match own.heap.cache.bins.pop(class.index()) {
            0 => {
                own.give_freed_of(class);
                own.refill(class, DEPTH)
            }
            block => block,
        };
        own.end();
        block
    }

    /// A block of a heap that was perhaps just taken over, with the blocks in its stacks.
    fn pop_or_refill(self, class: Class, size: usize) -> usize {
        match self.heap.cache.bins.pop(class.index()) {
            0 => (GuardedBlocks(self.central).is_due(self))
                .then(|| GuardedBlocks(self.central).allocate(class))
                .flatten()
                .unwrap_or_else(|| self.sample_or_refill(class, size)),
            block => block,
        }
    }

    fn sample_or_refill(self, class: Class, size: usize) -> usize {
        if Samples(self.central).are_taken() {
            return Samples(self.central).allocate(self, class, size);
        }
        self.refill(class, DEPTH)
    }

    /// Moves up to `most` blocks from a span to the stack, and one of them to the caller.
    pub(super) fn refill(self, class: Class, most: usize) -> usize {
        let bins = &self.heap.cache.bins;
        if bins.take_back(class) {
            return bins.pop(class.index());
        }
        let kept = self.central.policy.kept(class);
        let mut first = 0;
        let mut fresh = 0..0;
        // Before the latch is taken: this may touch a page for the first time.
        bins.shape(class, kept);
        let (held, span) = self.hold_with_blocks(class);
        if let Some(span) = span {
            let count = (kept / 2).max(1).min(most).min(span.available());
            let carved = span.carved.get();
            if kept < count {
                self.take_from(span, count, |block| first = block);
            } else {
                let mut filling = bins.fill(class, count);
                self.take_from(span, count, |block| filling.put(block));
            }
            if span.is_exhausted() {
                self.unlist_full(span);
            }
            let blocks = [carved, span.carved.get()].map(|at| span.address_of(at.into()));
            fresh = blocks[0]..blocks[1];
        }
        drop(held);
        if C::Hardening::SCRUB {
            // Each is read before it is handed out.
            fresh.step_by(class.size()).for_each(touch);
        }
        if C::Hardening::SHUFFLE {
            bins.shuffle(class, |end| self.heap.cache.random_below(end));
        }
        if first == 0 {
            first = bins.pop(class.index());
        }
        first
    }

    /// Locks the heap, and finds or makes a span of it with blocks left to give; `None` if out of
    /// memory.
    pub(super) fn hold_with_blocks(
        self,
        class: Class,
    ) -> (HeldHeap<Central<C>>, Option<&'static Span>) {
        let (central, heap) = (self.central, self.heap);
        let held = central.hold_heap(heap);
        central.collect(heap);
        let there = central
            .first_span(heap, class)
            .or_else(|| central.take_ended_spans(heap, class));
        if there.is_some() {
            return (held, there);
        }
        // Most often free units become a span under the same latch. If its words have no memory
        // yet, it is listed after they were touched, without the latch.
        let at_hand = self.span_at_hand(class);
        if let Some(span) = at_hand
            && central.has_words(span)
        {
            self.list_new(span);
            return (held, at_hand);
        }
        drop(held);
        let new = at_hand.or_else(|| {
            self.post_outgoing();
            self.new_span(class)
        });
        if let Some(span) = new {
            central.touch_words(span);
        }
        let held = central.hold_heap(heap);
        if let Some(span) = new {
            self.list_new(span);
        }
        // If out of memory, a trim may have returned this heap's kept blocks to its spans.
        (held, new.or_else(|| central.first_span(heap, class)))
    }

    /// Frees a block of a span, by the caller's heap or, if it has none any more, without one.
    /// Stops the program if no block in use begins there.
    #[inline(always)]
    pub(crate) fn free(central: &'static Central<C>, span: &'static Span, address: usize) {
        let block = central.block_in(span, address);
        let class = span.class();
        if C::Hardening::SCRUB {
            Seals(central).contents(address, class.size());
            clear_block(address, class.size());
        } else if C::Hardening::CHECK {
            // SAFETY: the start of a block.
            let marked = unsafe { begins_with(address, central.pool.mark.get()) };
            if marked && central.is_free(address) {
                stop(&central.source, Misuse::DoubleFree, address);
            }
            // SAFETY: as above.
            unsafe { set_first_word(address, central.pool.mark.get()) };
        }
        // A thread that only frees gets a heap as well: with one it sends many blocks at once.
        let Some(own) = Self::of_caller_or_bound(central) else {
            Samples(central).freed(span, address);
            return Self::send_word(central, span, block / 64, 1 << (block % 64));
        };
        let bin = span.bin.get();
        if !span.owner.is(own.heap) {
            // The heap of sampled blocks is no thread's own.
            match Samples(central).freed(span, address) {
                true => Self::send_word(central, span, block / 64, 1 << (block % 64)),
                false => own.send(span, block),
            }
        } else if C::Hardening::SHUFFLE {
            own.keep_late(bin, address);
        } else {
            own.keep_or_give(bin, address);
        }
    }

    /// Delays the freeing of a block of the heap, and keeps the block that it replaces among the
    /// delayed ones.
    #[inline(always)]
    pub(crate) fn keep_late(self, bin: u8, address: usize) {
        if let Some((out, bin)) = self.heap.cache.delay(address, bin)
            && !self.heap.cache.bins.push(bin, out)
        {
            self.keep_or_give(bin, out);
        }
    }

    /// Pushes a block of the heap on its stack. A full stack is set aside or half emptied first; a
    /// stack that keeps nothing gives the block to its span.
    pub(super) fn keep_or_give(self, bin: u8, address: usize) {
        let (bins, policy) = (&self.heap.cache.bins, &self.central.policy);
        let class = Class::of_bin(bin);
        if bins.push(bin, address) {
            return;
        }
        if bins.put_aside(bin, policy.aside_bytes_max()) {
            bins.push(bin, address);
            return;
        }
        let held = self.central.hold_heap(self.heap);
        self.flush(usize::from(bin), policy.kept(class).div_ceil(2));
        if !bins.push(bin, address) {
            FreeBatch::at(self.central, address).give_to(self);
        }
        drop(held);
        self.maintain();
    }

    /// Gives the oldest blocks of a stack back to their spans. The heap's latch is held.
    pub(crate) fn flush(self, bin: usize, count: usize) {
        let mut open = FreeBatch::EMPTY;
        self.heap.cache.bins.drain(bin, count, |address| {
            if !open.add(address, C::Hardening::CHECK) {
                open.give_to(self);
                open = FreeBatch::at(self.central, address);
            }
        });
        open.give_to(self);
    }
}
