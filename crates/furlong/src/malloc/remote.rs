//! Remote frees: blocks of one heap that another one's thread frees, collected by the sender and
//! exchanged by the word.
#![forbid(unsafe_code)]

use crate::sync::atomic::AtomicU64;

use super::{
    allocator::Malloc,
    class::Class,
    config::Config,
    exchange::Exchange,
    field::Word,
    group::Group,
    heap::Heap,
    own::OUTGOING,
    source::{Misuse, PageSource},
    span::Span,
    system::stop,
};

impl<C: Config> Malloc<C> {
    /// Takes a block of another heap's from the caller, to be posted with others.
    pub(crate) fn send(&'static self, heap: &'static Heap, address: usize) {
        let len = heap.own.outgoing_len.get();
        heap.own.outgoing[len % OUTGOING].set(address);
        heap.own.outgoing_len.set(len + 1);
        if len + 1 >= OUTGOING {
            self.post_outgoing(heap);
            self.tend(heap);
        }
    }

    /// Posts everything that a heap has collected.
    pub(crate) fn post_outgoing(&'static self, heap: &'static Heap) {
        let len = heap.own.outgoing_len.get().min(OUTGOING);
        heap.own.outgoing_len.set(0);
        let mut open = Group::EMPTY;
        for address in heap.own.outgoing[..len].iter().map(Word::get) {
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

    fn relax(&'static self) {
        self.source.relax();
    }
}
