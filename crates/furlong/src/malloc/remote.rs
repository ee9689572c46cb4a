//! Remote frees: blocks of one heap that another one's thread frees.
//!
//! The sender collects addresses and posts them by the word: it sets the blocks' bits in the
//! span's remote words, then the words' bits in `posted`. Who finds `posted` empty before has to
//! bring the span to its owner's queue. The owner empties its queue when it needs blocks, or, for
//! a heap that has ended, the sender does.
//!
//! Between the two steps of a sender the owner may already find the bits, through the work of
//! another sender, and the span may be retired, and be somebody else's. So a span may turn up in a
//! queue without cause; it is passed on to whom it belongs, and forgotten only while the pool's
//! latch keeps it from having an owner. `posted` is what a span has its place in a queue by, and is
//! never reset but on the way out.
#![forbid(unsafe_code)]

use crate::sync::atomic::Ordering;

use super::{
    allocator::Malloc,
    config::Config,
    field::Word,
    group::Group,
    heap::{Heap, OUTGOING, State},
    source::{Misuse, PageSource},
    span::Span,
    system::stop,
};

impl<C: Config> Malloc<C> {
    /// Takes a block of another heap's from the caller, to be posted with others.
    pub(crate) fn send(&'static self, heap: &'static Heap, address: usize) {
        let len = heap.outgoing_len.get();
        heap.outgoing[len % OUTGOING].set(address);
        heap.outgoing_len.set(len + 1);
        if len + 1 >= OUTGOING {
            self.post_outgoing(heap);
        }
    }

    /// Posts everything that a heap has collected.
    pub(crate) fn post_outgoing(&'static self, heap: &'static Heap) {
        let len = heap.outgoing_len.get().min(OUTGOING);
        heap.outgoing_len.set(0);
        let mut open = Group::EMPTY;
        for address in heap.outgoing[..len].iter().map(Word::get) {
            if !open.add(address) {
                self.post_group(&open);
                open = self.group_of(address);
            }
        }
        self.post_group(&open);
    }

    fn post_group(&'static self, group: &Group) {
        if let Some(span) = group.span {
            self.post(span, group.word, group.bits);
        }
    }

    /// Posts freed blocks of one word of a span.
    pub(crate) fn post(&'static self, span: &'static Span, word: usize, bits: u64) {
        let Some(words) = self.map.words(span) else {
            return;
        };
        // AcqRel: pairs with the swap in collect, so that what was written to the blocks comes
        // before their next use.
        let before = words
            .remote(span.unit.get(), word)
            .fetch_or(bits, Ordering::AcqRel);
        if before & bits != 0 {
            let block = word * 64 + (before & bits).trailing_zeros() as usize;
            stop(&self.source, Misuse::DoubleFree, span.address_of(block));
        }
        // AcqRel: pairs with the swap in collect, so that who finds the bit finds the word.
        if span.posted.fetch_or(1 << word, Ordering::AcqRel) == 0 {
            self.bring(span);
        }
    }

    /// Brings a span, whose place in a queue is the caller's to give, to its owner's queue.
    fn bring(&'static self, span: &'static Span) {
        let owner = span.owner.get().or_else(|| {
            self.with_pool(|_| {
                if span.owner.get().is_none() {
                    // AcqRel: pairs with post. Without an owner there is no block to be lost.
                    span.posted.swap(0, Ordering::AcqRel);
                }
                span.owner.get()
            })
        });
        if let Some(heap) = owner {
            heap.queue.0.push(span, |next| span.link.set(next));
            self.tidy_ended(heap);
        }
    }

    /// Empties the queue of a heap that has no thread to do so.
    pub(crate) fn tidy_ended(&'static self, heap: &'static Heap) {
        while heap.state() == State::Ended && heap.queue.0.get().is_some() {
            // Who holds the latch looks at the queue again after giving it back.
            if !heap.latch.try_lock() {
                return;
            }
            if heap.state() == State::Ended {
                self.collect(heap);
            }
            heap.latch.unlock();
        }
    }

    /// Takes all blocks that others have freed back. The heap's latch is held.
    pub(crate) fn collect(&'static self, heap: &'static Heap) {
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

    fn collect_from(&'static self, heap: &'static Heap, span: &'static Span) {
        let Some(words) = self.map.words(span) else {
            return;
        };
        // AcqRel: pairs with the second step of post.
        let mut posted = span.posted.swap(0, Ordering::AcqRel);
        // A span that was retired on the way has no further block of anybody's.
        while posted != 0 && span.owner.is(heap) {
            let word = posted.trailing_zeros() as usize;
            posted &= posted - 1;
            // AcqRel: pairs with the first step of post.
            let bits = words
                .remote(span.unit.get(), word)
                .swap(0, Ordering::AcqRel);
            if bits != 0 {
                self.give_blocks(heap, span, word, bits);
            }
        }
    }

    /// Locks a heap for what is slow.
    pub(crate) fn lock_heap(&'static self, heap: &'static Heap) {
        heap.latch.lock(|| self.source.relax());
    }

    /// Gives a heap's latch back; if the heap has ended, nobody else may have tidied meanwhile.
    pub(crate) fn unlock_heap(&'static self, heap: &'static Heap) {
        heap.latch.unlock();
        self.tidy_ended(heap);
    }
}
