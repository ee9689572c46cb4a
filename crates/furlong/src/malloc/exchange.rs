//! What heaps exchange: blocks that others freed, the spans of ended heaps, and those heaps.
//!
//! The sender of remote frees posts them by the word: it sets the blocks' bits in the span's remote
//! words, then the words' bits in `posted`. Who finds `posted` empty before has to bring the span
//! to its owner's queue. The owner empties its queue when it needs blocks, or, for a heap that has
//! ended, the sender does.
//!
//! Between the two steps of a sender the owner may already find the bits, through the work of
//! another sender, and the span may be retired, and be somebody else's. So a span may turn up in a
//! queue without cause; it is passed on to whom it belongs, and forgotten only while the pool's
//! latch keeps it from having an owner. `posted` is what a span has its place in a queue by, and is
//! never reset but on the way out.
//!
//! A heap that ends and a sender must not miss each other. Each of them first says what it did (the
//! state or the latch, the queue) and then looks at what the other said, with a fence between: one
//! of the two sees the other.
#![forbid(unsafe_code)]

use crate::sync::{
    atomic::{AtomicU64, Ordering},
    fence,
};

use super::{
    class::Class,
    field::Word,
    heap::{Heap, State},
    latch::Latch,
    span::Span,
};

/// Ended heaps that are looked at for a span before the pool is asked.
const LOOKS: usize = 8;

/// A heap's latch.
pub(crate) struct HeldHeap<E: Exchange> {
    of: &'static E,
    heap: &'static Heap,
}

impl<E: Exchange> Drop for HeldHeap<E> {
    fn drop(&mut self) {
        self.of.unlock_heap(self.heap);
    }
}

/// What the exchange needs around it, and what it then does.
pub(crate) trait Exchange: Sized + 'static {
    /// A word of the blocks of a span that others freed; none for what is no span of blocks.
    fn remote(&'static self, span: &'static Span, word: usize) -> Option<&'static AtomicU64>;

    /// Gives free blocks of one word back to their span, whose heap's latch is held; the span may
    /// be retired by it.
    fn give_blocks(&'static self, heap: &'static Heap, span: &'static Span, word: usize, bits: u64);

    /// Runs something under the pool's latch.
    fn under_pool<T>(&'static self, run: impl FnOnce() -> T) -> T;

    /// All heaps.
    fn all_heaps(&'static self) -> impl Iterator<Item = &'static Heap>;

    /// How many of them have ended and not been taken over; it is the pool's.
    fn ended(&'static self) -> &'static Word;

    /// The first span of a class that a heap has something to give from.
    fn first_span(&'static self, heap: &'static Heap, class: Class) -> Option<&'static Span>;

    /// Takes such a span out of one heap's list and puts it in another's. Both latches are held.
    fn relist(&'static self, span: &'static Span, from: &'static Heap, to: &'static Heap);

    /// Stops the program: a block was freed that others had freed already.
    fn stop_twice(&'static self, span: &'static Span, block: usize) -> !;

    /// Takes a latch.
    fn lock(&'static self, latch: &'static Latch);

    /// Takes a latch if nobody has it.
    fn try_lock(&'static self, latch: &'static Latch) -> bool;

    /// Gives a latch back.
    fn unlock(&'static self, latch: &'static Latch);

    /// Posts freed blocks of one word of a span.
    fn post(&'static self, span: &'static Span, word: usize, bits: u64) {
        let Some(remote) = self.remote(span, word) else {
            return;
        };
        // AcqRel: pairs with the swap in collect_from, so that what was written to the blocks comes
        // before their next use.
        let before = remote.fetch_or(bits, Ordering::AcqRel);
        if before & bits != 0 {
            self.stop_twice(span, word * 64 + (before & bits).trailing_zeros() as usize);
        }
        // AcqRel: pairs with the swap in collect_from, so that who finds the bit finds the word.
        if span.posted.fetch_or(1 << word, Ordering::AcqRel) == 0 {
            self.bring(span);
        }
    }

    /// Brings a span, whose place in a queue is the caller's to give, to its owner's queue.
    fn bring(&'static self, span: &'static Span) {
        let owner = span.owner.get().or_else(|| {
            self.under_pool(|| {
                if span.owner.get().is_none() {
                    // AcqRel: pairs with post. Without an owner there is no block to be lost.
                    span.posted.swap(0, Ordering::AcqRel);
                }
                span.owner.get()
            })
        });
        if let Some(heap) = owner {
            heap.queue.0.push(span, |next| span.link.set(next));
            // SeqCst: pairs with the fences in unlock_heap and tidy_ended.
            fence(Ordering::SeqCst);
            self.tidy_ended(heap);
        }
    }

    /// Empties the queue of a heap that has no thread to do so.
    fn tidy_ended(&'static self, heap: &'static Heap) {
        while heap.state() == State::Ended && heap.queue.0.get().is_some() {
            // Who holds the latch looks at the queue again after giving it back.
            if !self.try_lock(&heap.latch) {
                return;
            }
            if heap.state() == State::Ended {
                self.collect(heap);
            }
            self.unlock(&heap.latch);
            // SeqCst: as in unlock_heap.
            fence(Ordering::SeqCst);
        }
    }

    /// Takes all blocks that others have freed back. The heap's latch is held.
    fn collect(&'static self, heap: &'static Heap) {
        if heap.queue.0.get().is_none() {
            return;
        }
        let mut next = heap.queue.0.take();
        while let Some(span) = next {
            next = span.link.get();
            if span.owner.is(heap) {
                self.collect_from(heap, span);
            } else {
                self.bring(span);
            }
        }
    }

    /// Takes the blocks of one span back.
    fn collect_from(&'static self, heap: &'static Heap, span: &'static Span) {
        // AcqRel: pairs with the second step of post.
        let mut posted = span.posted.swap(0, Ordering::AcqRel);
        // A span that was retired on the way has no further block of anybody's.
        while posted != 0 && span.owner.is(heap) {
            let word = posted.trailing_zeros() as usize;
            posted &= posted - 1;
            let Some(remote) = self.remote(span, word) else {
                return;
            };
            // AcqRel: pairs with the first step of post.
            let bits = remote.swap(0, Ordering::AcqRel);
            if bits != 0 {
                self.give_blocks(heap, span, word, bits);
            }
        }
    }

    /// Locks a heap for what is slow.
    fn lock_heap(&'static self, heap: &'static Heap) {
        self.lock(&heap.latch);
    }

    /// Gives a heap's latch back; if the heap has ended, nobody else may have tidied meanwhile.
    fn unlock_heap(&'static self, heap: &'static Heap) {
        self.unlock(&heap.latch);
        if heap.state() == State::Ended {
            // SeqCst: pairs with the fence in bring.
            fence(Ordering::SeqCst);
            self.tidy_ended(heap);
        }
    }

    /// Locks a heap until the answer is dropped, also by a panic.
    fn hold_heap(&'static self, heap: &'static Heap) -> HeldHeap<Self> {
        self.lock_heap(heap);
        HeldHeap { of: self, heap }
    }

    /// A heap that has ended and is the caller's from now on.
    fn take_over(&'static self) -> Option<&'static Heap> {
        if self.ended().get() == 0 {
            return None;
        }
        let free =
            |heap: &&'static Heap| heap.state() == State::Ended && self.try_lock(&heap.latch);
        for heap in self.all_heaps().filter(free) {
            let ended = heap.state() == State::Ended;
            if ended {
                heap.set_state(State::Running);
                self.under_pool(|| self.ended().set(self.ended().get() - 1));
            }
            self.unlock_heap(heap);
            if ended {
                return Some(heap);
            }
        }
        None
    }

    /// Ends a heap, after `give_back` has given back what its thread kept. The caller has it to
    /// itself.
    fn end(&'static self, heap: &'static Heap, give_back: impl FnOnce()) {
        let _held = self.hold_heap(heap);
        heap.set_state(State::Ended);
        give_back();
        self.under_pool(|| self.ended().set(self.ended().get() + 1));
    }

    /// Takes over the spans of a class that ended heaps still have something to give from. The
    /// heap's own latch is held. A zone has no blocks but its own: they go all at once.
    fn adopt(&'static self, heap: &'static Heap, class: Class) -> Option<&'static Span> {
        if self.ended().get() == 0 || heap.zone.get() == 1 {
            return None;
        }
        let ended = |other: &&Heap| other.state() == State::Ended;
        for other in self.all_heaps().filter(ended).take(LOOKS) {
            if self.first_span(other, class).is_none() || !self.try_lock(&other.latch) {
                continue;
            }
            if other.state() == State::Ended {
                while let Some(span) = self.first_span(other, class) {
                    self.relist(span, other, heap);
                }
            }
            self.unlock_heap(other);
            let adopted = self.first_span(heap, class);
            if adopted.is_some() {
                return adopted;
            }
        }
        None
    }
}
