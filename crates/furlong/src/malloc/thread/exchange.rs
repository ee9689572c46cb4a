//! Exchange between heaps: blocks freed by other threads, spans of ended heaps, and those heaps.
//!
//! The sender of remote frees posts them by the word. First it sets the blocks' bits in the span's
//! remote word; then it sets the word's bit in `posted`. A sender that finds `posted` empty must
//! bring the span to its owner's queue. The owner empties its queue when it needs blocks. For an
//! ended heap the sender does so.
//!
//! Between a sender's two steps the owner may already find the bits, through another sender's work.
//! Then the span may be retired and used by another heap. So a span may turn up in a queue without
//! cause. It is passed on to its owner. It is forgotten only while the pool's latch keeps it from
//! getting an owner. A non-zero `posted` is the span's claim to a place in a queue, and is reset
//! only when the span leaves the queue.
//!
//! An ending heap and a sender must not miss each other. Each first publishes its own change (the
//! state or the latch, the queue), then reads the other's, with a fence between. So at least one
//! sees the other.
#![forbid(unsafe_code)]

use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::fence;

use crate::malloc::{Class, Heap, Latch, Link, Span, State};

/// The number of ended heaps to search for a span before the pool is used.
const LOOKS: usize = 8;

/// A held latch of a heap.
pub(crate) struct HeldHeap<E: Exchange> {
    of: &'static E,
    heap: &'static Heap,
}

impl<E: Exchange> Drop for HeldHeap<E> {
    fn drop(&mut self) {
        self.of.unlock_heap(self.heap);
    }
}

/// The operations that the exchange needs, and those that it provides.
pub(crate) trait Exchange: Sized + 'static {
    /// A remote word of a span: the blocks freed by other threads. `None` if it has no words.
    fn remote(&'static self, span: &'static Span, word: usize) -> Option<&'static AtomicU64>;

    /// Gives free blocks of one word back to their span, whose heap's latch is held. This may
    /// retire the span.
    fn give_blocks(&'static self, heap: &'static Heap, span: &'static Span, word: usize, bits: u64);

    /// Runs a closure under the pool's latch.
    fn under_pool<T>(&'static self, run: impl FnOnce() -> T) -> T;

    /// The ended heaps that have not been taken over, the last one first; written under the pool's
    /// latch.
    fn ended(&'static self) -> &'static Link<Heap>;

    /// The first span of a class in a heap that has blocks left to give.
    fn first_span(&'static self, heap: &'static Heap, class: Class) -> Option<&'static Span>;

    /// Moves such a span from one heap's list to another's. Both latches are held.
    fn relist(&'static self, span: &'static Span, from: &'static Heap, to: &'static Heap);

    /// Gives back the blocks of a class that an ended heap has left in its stacks. Its latch is
    /// held.
    fn give_left_of(&'static self, heap: &'static Heap, class: Class);

    /// Stops the program: a block was freed twice.
    fn stop_twice(&'static self, span: &'static Span, block: usize) -> !;

    /// Takes a latch.
    fn lock(&'static self, latch: &'static Latch);

    /// Takes a latch if it is free.
    fn try_lock(&'static self, latch: &'static Latch) -> bool;

    /// Releases a latch.
    fn unlock(&'static self, latch: &'static Latch);

    /// Posts freed blocks of one word of a span.
    fn post(&'static self, span: &'static Span, word: usize, bits: u64) {
        let Some(remote) = self.remote(span, word) else {
            return;
        };
        // AcqRel: pairs with the swap in collect_from, so that writes to the blocks come before
        // their next use.
        let before = remote.fetch_or(bits, Ordering::AcqRel);
        if before & bits != 0 {
            self.stop_twice(span, word * 64 + (before & bits).trailing_zeros() as usize);
        }
        // AcqRel: pairs with the swap in collect_from, so that a reader of the bit sees the word.
        if span.posted.fetch_or(1 << word, Ordering::AcqRel) == 0 {
            self.enqueue(span);
        }
    }

    /// Brings a span to its owner's queue. The caller holds the span's claim to a place in a queue.
    fn enqueue(&'static self, span: &'static Span) {
        let owner = span.owner.get().or_else(|| {
            self.under_pool(|| {
                if span.owner.get().is_none() {
                    // AcqRel: pairs with post. A span without an owner has no block that could be
                    // lost.
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

    /// Empties the queue of an ended heap, whose thread is gone.
    fn tidy_ended(&'static self, heap: &'static Heap) {
        while heap.state() == State::Ended && heap.queue.0.get().is_some() {
            // The holder of the latch checks the queue again after releasing it.
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

    /// Takes back all blocks freed by other threads. The heap's latch is held.
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
                self.enqueue(span);
            }
        }
    }

    /// Takes back the blocks of one span.
    fn collect_from(&'static self, heap: &'static Heap, span: &'static Span) {
        // AcqRel: pairs with the second step of post.
        let mut posted = span.posted.swap(0, Ordering::AcqRel);
        // A span that was retired in this loop has no more blocks of anybody's.
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

    /// Locks a heap for slow operations.
    fn lock_heap(&'static self, heap: &'static Heap) {
        self.lock(&heap.latch);
    }

    /// Releases a heap's latch. If the heap has ended, senders may have left it work meanwhile.
    fn unlock_heap(&'static self, heap: &'static Heap) {
        self.unlock(&heap.latch);
        if heap.state() == State::Ended {
            // SeqCst: pairs with the fence in enqueue.
            fence(Ordering::SeqCst);
            self.tidy_ended(heap);
        }
    }

    /// Locks a heap until the result is dropped, also by a panic.
    fn hold_heap(&'static self, heap: &'static Heap) -> HeldHeap<Self> {
        self.lock_heap(heap);
        HeldHeap { of: self, heap }
    }

    /// The heap that ended last, which belongs to the caller from now on. `note` records that under
    /// the pool's latch.
    fn take_over(&'static self, note: impl FnOnce(&'static Heap)) -> Option<&'static Heap> {
        self.ended().get()?;
        let heap = self.under_pool(|| {
            let heap = self.ended().get()?;
            self.ended().set(heap.next_vacant.get());
            note(heap);
            Some(heap)
        })?;
        // Others may be taking its spans or its remote frees.
        let _held = self.hold_heap(heap);
        heap.set_state(State::Running);
        Some(heap)
    }

    /// Puts an ended heap in the list, under the pool's latch.
    fn note_ended(&'static self, heap: &'static Heap) {
        heap.next_vacant.set(self.ended().get());
        self.ended().set(Some(heap));
    }

    /// Ends a heap, after `give_back` has returned its thread's blocks. `note` records the result
    /// under the pool's latch. Only the caller uses the heap.
    fn end<T>(
        &'static self,
        heap: &'static Heap,
        give_back: impl FnOnce() -> T,
        note: impl FnOnce(T),
    ) {
        let _held = self.hold_heap(heap);
        heap.set_state(State::Ended);
        let given = give_back();
        self.under_pool(|| {
            note(given);
            self.note_ended(heap);
        });
    }

    /// Takes over spans of a class with blocks left to give from ended heaps. The heap's own latch
    /// is held. A zone takes none: all its spans are freed at once.
    fn take_ended_spans(&'static self, heap: &'static Heap, class: Class) -> Option<&'static Span> {
        if heap.zone.get() == 1 {
            return None;
        }
        // The list may change meanwhile: then the walk ends elsewhere, among heaps too.
        let first = self.ended().get();
        for other in core::iter::successors(first, |heap| heap.next_vacant.get()).take(LOOKS) {
            if self.first_span(other, class).is_none() || !self.try_lock(&other.latch) {
                continue;
            }
            if other.state() == State::Ended {
                self.give_left_of(other, class);
                while let Some(span) = self.first_span(other, class) {
                    self.relist(span, other, heap);
                }
            }
            self.unlock_heap(other);
            let taken = self.first_span(heap, class);
            if taken.is_some() {
                return taken;
            }
        }
        None
    }
}
