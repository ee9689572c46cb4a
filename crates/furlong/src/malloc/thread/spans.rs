//! The spans of a heap: making, listing, taking blocks, giving blocks back, and retiring. All under
//! the heap's latch.
#![forbid(unsafe_code)]

use crate::malloc::{
    CLASSES, Class, Config, FULL, Half, Hardening, LISTED, MAKING, Misuse, Span, ThreadHeap, Use,
    clear, stop,
};

impl<C: Config> ThreadHeap<C> {
    /// Puts a span in front of the heap's list.
    pub(crate) fn list(self, span: &Span) {
        self.put_in(span, LISTED);
    }

    /// Removes a span without blocks left to give from the list. A zone keeps it in another list:
    /// it drops all its spans at once.
    pub(crate) fn unlist_full(self, span: &Span) {
        self.unlist(span);
        if self.heap.zone.get() == 1 {
            self.put_in(span, FULL);
        }
    }

    /// The first span of the list that a span is in.
    fn first_of(self, span: &Span) -> &'static Half {
        match span.listed.get() {
            FULL => self.heap.full(),
            _ => self.heap.first(span.class()),
        }
    }

    fn put_in(self, span: &Span, list: u8) {
        span.listed.set(list);
        let first = self.first_of(span);
        span.prev.set(0);
        span.next.set(first.get());
        if first.get() != 0 {
            self.central.map.span(first.get()).prev.set(span.unit.get());
        }
        first.set(span.unit.get());
    }

    /// Removes a span from the list that it is in.
    pub(crate) fn unlist(self, span: &Span) {
        let (prev, next) = (span.prev.get(), span.next.get());
        match prev {
            0 => self.first_of(span).set(next),
            _ => self.central.map.span(prev).next.set(next),
        }
        if next != 0 {
            self.central.map.span(next).prev.set(prev);
        }
        span.listed.set(0);
    }

    /// Makes a span of free units. It is in no list yet; no latch is held.
    pub(crate) fn new_span(self, class: Class) -> Option<&'static Span> {
        let units = class.units();
        let (base, _) = self.central.claim_units(units, 1, true, &|base| {
            let span = self.central.map.span_at(base);
            span.cut(base, class, self.central.policy.bin(class));
            span.quiet.set(0);
            span.listed.set(MAKING);
            self.central.map.mark_rest(base, units);
            span.use_for(Use::Blocks);
            let spans = &self.central.pool.spans;
            spans.set(spans.get() + units);
            span.owner.set(Some(self.heap));
        })?;
        let span = self.central.map.span_at(base);
        self.central.touch_words(span);
        Some(span)
    }

    /// Takes `count` blocks from a span, which must have as many: free ones first, then untouched
    /// ones, both in ascending order.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "at most 4096")]
    pub(crate) fn take_from(self, span: &'static Span, count: usize, mut put: impl FnMut(usize)) {
        let Some(words) = self.central.map.words(span) else {
            return;
        };
        let (base, size) = (span.base(), span.class().size());
        let mut left = count;
        let mut summary = span.summary.get();
        while summary != 0 && left > 0 {
            let word = summary.trailing_zeros() as usize;
            let set = words.free(span.unit.get(), word);
            let mut bits = set.get();
            while bits != 0 && left > 0 {
                put(base + (word * 64 + bits.trailing_zeros() as usize) * size);
                bits &= bits - 1;
                left -= 1;
            }
            set.set(bits);
            if bits == 0 {
                summary &= summary - 1;
            }
        }
        span.summary.set(summary);
        span.free.set(span.free.get() - (count - left) as u16);
        let carved = usize::from(span.carved.get());
        let mut block = base + carved * size;
        for _ in 0..left {
            put(block);
            block += size;
        }
        span.carved.set((carved + left) as u16);
    }

    /// Gives free blocks of one word back to their span, whose heap's latch is held. Retires the
    /// span if none of its blocks is in use and it is not the last of its class.
    pub(crate) fn give_blocks(self, span: &'static Span, word: usize, bits: u64) {
        let Some(words) = self.central.map.words(span) else {
            return;
        };
        let set = words.free(span.unit.get(), word);
        let twice = set.get() & bits;
        if twice != 0 {
            let block = word * 64 + twice.trailing_zeros() as usize;
            stop(
                &self.central.source,
                Misuse::DoubleFree,
                span.address_of(block),
            );
        }
        set.set(set.get() | bits);
        span.summary.set(span.summary.get() | 1 << word);
        #[expect(clippy::cast_possible_truncation, reason = "at most 64")]
        span.free.set(span.free.get() + bits.count_ones() as u16);
        if span.listed.get() == FULL {
            self.unlist(span);
        }
        if span.listed.get() == 0 {
            self.list(span);
        }
        let last = span.prev.get() == 0 && span.next.get() == 0;
        if span.free.get() == span.carved.get() && (!last || !self.heap.is_running()) {
            self.retire(span);
        }
    }

    /// Gives a span without used blocks back to the pool.
    pub(crate) fn retire(self, span: &'static Span) {
        self.unlist(span);
        if let Some(words) = self.central.map.words(span) {
            let mut summary = span.summary.get();
            while summary != 0 {
                words
                    .free(span.unit.get(), summary.trailing_zeros() as usize)
                    .set(0);
                summary &= summary - 1;
            }
        }
        span.summary.set(0);
        self.central
            .with_pool(|_| self.central.retire_units(span.base(), span.class().units()));
    }

    /// Retires the spans that have no block in use.
    pub(crate) fn retire_whole(self) {
        for class in (1..CLASSES).map(Class::numbered) {
            let mut unit = self.heap.first(class).get();
            while unit != 0 {
                let span = self.central.map.span(unit);
                unit = span.next.get();
                if span.free.get() == span.carved.get() {
                    self.retire(span);
                }
            }
        }
    }

    /// Retires all spans of a zone, even with blocks in use.
    pub(crate) fn retire_all(self) {
        let lists = (1..CLASSES).map(|class| self.heap.first(Class::numbered(class)));
        for first in lists.chain([self.heap.full()]) {
            while first.get() != 0 {
                let span = self.central.map.span(first.get());
                if C::Hardening::SCRUB {
                    let carved = usize::from(span.carved.get());
                    clear(span.base(), carved * span.class().size());
                }
                self.retire(span);
            }
        }
    }
}
