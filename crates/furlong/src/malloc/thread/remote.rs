//! Remote frees: blocks that a thread frees of another thread's heap, gathered by the sender and
//! exchanged by the word.
#![forbid(unsafe_code)]

use crate::sync::atomic::{AtomicU64, Ordering};

use crate::malloc::{
    central::span::Span,
    class::Class,
    config::Config,
    field::Word,
    front::malloc::Malloc,
    os::{current::CurrentHeap, latch::Latch, source::Misuse, system::stop},
};

use super::{exchange::Exchange, heap::Heap};

/// The most bytes of remote frees that a thread holds back.
const BYTES: usize = 256 << 10;

impl<C: Config> Malloc<C> {
    /// Takes a block of another heap from the caller, to be posted with others of its word.
    pub(crate) fn send(&'static self, heap: &'static Heap, span: &'static Span, block: usize) {
        let outgoing = &heap.cache.outgoing;
        let (word, bit) = (block / 64, 1 << (block % 64));
        let place = outgoing.place(span, word);
        if place.span.is(span) && place.word.get() == word {
            if place.bits.get() & bit != 0 {
                self.stop_twice(span, block);
            }
            place.bits.set(place.bits.get() | bit);
        } else {
            let before = place.span.get();
            let (old, bits) = (place.word.get(), place.bits.get());
            place.span.set(Some(span));
            place.word.set(word);
            place.bits.set(bit);
            if let Some(before) = before {
                self.send_word(before, old, bits);
            }
        }
        let bytes = outgoing.bytes.get() + span.class().size();
        outgoing.bytes.set(bytes);
        if bytes >= BYTES {
            self.post_outgoing(heap);
            self.tend(heap);
        }
    }

    /// Posts blocks of a word, and marks the thread as posting meanwhile. Their span may be retired
    /// before this ends, but its record must stay until then.
    pub(crate) fn send_word(&'static self, span: &'static Span, word: usize, bits: u64) {
        let heap = C::Current::get();
        if heap.is_running() {
            // Relaxed: comes before the first step of post, which the thread that retires the span
            // has seen.
            heap.cache.posting.store(1, Ordering::Relaxed);
            self.post(span, word, bits);
            // Release: pairs with the Acquire in is_posting.
            heap.cache.posting.store(0, Ordering::Release);
        } else {
            // Relaxed: as above.
            self.pool.posting.fetch_add(1, Ordering::Relaxed);
            self.post(span, word, bits);
            // Release: pairs with the Acquire in is_posting.
            self.pool.posting.fetch_sub(1, Ordering::Release);
        }
    }

    /// True if a thread may be between the two steps of posting blocks that have been collected.
    pub(crate) fn is_posting(&'static self) -> bool {
        // Acquire: pairs with the Release in send_word.
        let posts = |heap: &Heap| heap.cache.posting.load(Ordering::Acquire) != 0;
        // Acquire: pairs with the Release in send_word.
        self.pool.posting.load(Ordering::Acquire) != 0 || self.pool.heaps().any(posts)
    }

    /// Posts all remote frees that a heap holds back.
    pub(crate) fn post_outgoing(&'static self, heap: &'static Heap) {
        let outgoing = &heap.cache.outgoing;
        if outgoing.bytes.get() == 0 {
            return;
        }
        outgoing.bytes.set(0);
        for (span, place) in outgoing.each() {
            place.span.set(None);
            self.send_word(span, place.word.get(), place.bits.get());
        }
    }
}

impl<C: Config> Exchange for Malloc<C> {
    fn remote(&'static self, span: &'static Span, word: usize) -> Option<&'static AtomicU64> {
        Some(self.map.words(span)?.remote(span.unit.get(), word))
    }

    fn give_blocks(
        &'static self,
        heap: &'static Heap,
        span: &'static Span,
        word: usize,
        bits: u64,
    ) {
        self.give_to_span(heap, span, word, bits);
    }

    fn under_pool<T>(&'static self, run: impl FnOnce() -> T) -> T {
        self.with_pool(|_| run())
    }

    fn all_heaps(&'static self) -> impl Iterator<Item = &'static Heap> {
        self.pool.heaps()
    }

    fn ended(&'static self) -> &'static Word {
        &self.pool.ended
    }

    fn first_span(&'static self, heap: &'static Heap, class: Class) -> Option<&'static Span> {
        let unit = heap.first(class).get();
        (unit != 0).then(|| self.map.span(unit))
    }

    fn relist(&'static self, span: &'static Span, from: &'static Heap, to: &'static Heap) {
        self.unlist(from, span);
        span.owner.set(Some(to));
        self.list(to, span);
    }

    fn stop_twice(&'static self, span: &'static Span, block: usize) -> ! {
        stop(&self.source, Misuse::DoubleFree, span.address_of(block))
    }

    fn lock(&'static self, latch: &'static Latch) {
        self.lock_latch(latch);
    }

    fn try_lock(&'static self, latch: &'static Latch) -> bool {
        self.try_latch(latch)
    }

    fn unlock(&'static self, latch: &'static Latch) {
        self.unlock_latch(latch);
    }
}
