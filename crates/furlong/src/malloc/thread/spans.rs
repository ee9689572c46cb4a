//! The spans of a heap: making, listing, taking blocks, giving blocks back, and retiring. All under
//! the heap's latch, except the making of a span that needs a system call.
#![forbid(unsafe_code)]

use crate::malloc::{
    CLASSES, Class, Config, FULL, Half, Hardening, LISTED, MAKING, Misuse, Span, ThreadHeap, UNIT,
    UnitRequest, Use, clear, stop,
};

/// The least units of a heap whose spans have huge pages: 2 MiB. The last huge page of a smaller
/// heap would be most of its memory.
const LARGE: usize = (2 << 20) / UNIT;

/// The least spans of a class that has huge pages.
const MANY: usize = 4;

/// The most spans of a zone that are retired under the pool's latch at once.
const AT_ONCE: usize = 16;

impl<C: Config> ThreadHeap<C> {
    /// Puts a span in front of the heap's list.
    pub(crate) fn list(self, span: &Span) {
        self.put_in(span, LISTED);
    }

    /// Puts a new span in front of the heap's list, and counts it.
    pub(crate) fn list_new(self, span: &Span) {
        self.heap.count(span.class());
        self.list(span);
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

    /// True if the next span of a class is to have huge pages: the heap is large, and has so many
    /// spans of the class that it will probably use all blocks of one more. With guards, the pages
    /// of an arena become accessible a few at a time.
    fn is_dense(self, class: Class) -> bool {
        let (all, of_class) = self.heap.units(class);
        !C::Hardening::GUARD && all >= LARGE && of_class >= MANY * class.units()
    }

    /// Makes a span of free units if that needs no system call, and if the heap holds no remote
    /// frees back: they are posted first, without its latch. The span is in no list yet.
    pub(crate) fn span_at_hand(self, class: Class) -> Option<&'static Span> {
        if C::Hardening::GUARD || self.heap.cache.outgoing.bytes.get() > 0 {
            return None;
        }
        let cut = |base| self.cut_span(base, class);
        let rooms = self.central.rooms(self.is_dense(class));
        let (base, _) = self.central.take_units(rooms, class.units(), 1, &cut)?;
        Some(self.central.map.span_at(base))
    }

    /// Makes a span of free units. It is in no list yet; no latch is held.
    pub(crate) fn new_span(self, class: Class) -> Option<&'static Span> {
        let cut = |base| self.cut_span(base, class);
        let wanted = UnitRequest {
            dense: self.is_dense(class),
            fence: true,
            ..UnitRequest::units(class.units())
        };
        let (base, _) = self.central.claim_units(wanted, &cut)?;
        let span = self.central.map.span_at(base);
        span.fence.set(self.central.fence_of(base, class.units()));
        Some(span)
    }

    /// Writes the record of a span of units that have just been taken, under the pool's latch.
    fn cut_span(self, base: usize, class: Class) {
        let span = self.central.map.span_at(base);
        span.cut(base, class, self.central.policy.bin(class));
        span.quiet.set(0);
        span.listed.set(MAKING);
        self.central.map.mark_rest(base, class.units());
        span.use_for(Use::Blocks);
        span.owner.set(Some(self.heap));
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
        // It is in use, whatever its free count is at the next round.
        span.quiet.set(u16::MAX);
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
        self.forget_free(span);
        self.central.with_pool(|_| self.retire_units_of(span));
    }

    /// Empties the words of a span.
    fn forget_free(self, span: &'static Span) {
        let mut summary = span.summary.get();
        if summary == 0 {
            return;
        }
        if let Some(words) = self.central.map.words(span) {
            while summary != 0 {
                words
                    .free(span.unit.get(), summary.trailing_zeros() as usize)
                    .set(0);
                summary &= summary - 1;
            }
        }
        span.summary.set(0);
    }

    /// Gives the units of a span back, under the pool's latch as well.
    fn retire_units_of(self, span: &'static Span) {
        self.heap.discount(span.class());
        self.central.retire_units(span.base(), span.class().units());
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
        let span_at = |unit| (unit != 0).then(|| self.central.map.span(unit));
        for first in self.heap.lists() {
            let next = |span: &&Span| span_at(span.next.get());
            for span in core::iter::successors(span_at(first.get()), next) {
                if C::Hardening::SCRUB {
                    let carved = usize::from(span.carved.get());
                    clear(span.base(), carved * span.class().size());
                }
                self.forget_free(span);
            }
        }
        // The first span of a list, until the list is empty.
        let mut spans =
            (self.heap.lists()).flat_map(|first| core::iter::from_fn(move || span_at(first.get())));
        let mut count = AT_ONCE;
        while count == AT_ONCE {
            count = 0;
            self.central.with_pool(|_| {
                for span in spans.by_ref().take(AT_ONCE) {
                    self.unlist(span);
                    self.retire_units_of(span);
                    count += 1;
                }
            });
        }
    }
}
