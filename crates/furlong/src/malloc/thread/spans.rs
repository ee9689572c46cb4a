//! The spans of a heap: making, listing, taking blocks, giving blocks back, and retiring. All under
//! the heap's latch.
#![forbid(unsafe_code)]

use crate::malloc::{
    central::span::{MAKING, Span, Use, unit_of},
    class::{Class, UNIT},
    config::{Config, Hardening},
    front::malloc::Malloc,
    os::{
        source::Misuse,
        system::{clear, stop},
    },
};

use super::heap::Heap;

impl<C: Config> Malloc<C> {
    /// Puts a span in front of its heap's list.
    pub(crate) fn list(&'static self, heap: &Heap, span: &Span) {
        let first = heap.first(span.class());
        span.prev.set(0);
        span.next.set(first.get());
        if first.get() != 0 {
            self.map.span(first.get()).prev.set(span.unit.get());
        }
        first.set(span.unit.get());
        span.listed.set(1);
    }

    /// Removes a span from its heap's list.
    pub(crate) fn unlist(&'static self, heap: &Heap, span: &Span) {
        let (prev, next) = (span.prev.get(), span.next.get());
        match prev {
            0 => heap.first(span.class()).set(next),
            _ => self.map.span(prev).next.set(next),
        }
        if next != 0 {
            self.map.span(next).prev.set(prev);
        }
        span.listed.set(0);
    }

    /// Makes a span of free units. It is in no list yet; no latch is held.
    pub(crate) fn new_span(
        &'static self,
        heap: &'static Heap,
        class: Class,
    ) -> Option<&'static Span> {
        let units = class.units();
        let (base, zero) = self.claim_units(units, 1, |base| {
            let span = self.map.span_at(base);
            span.unit.set(unit_of(base));
            span.class.set(class.number());
            span.magic.set(class.magic());
            span.limit.set(class.magic());
            span.carved.set(0);
            span.free.set(0);
            span.summary.set(0);
            span.quiet.set(0);
            span.listed.set(MAKING);
            self.mark_rest(base, units);
            span.use_for(Use::Blocks);
            span.owner.set(Some(heap));
        })?;
        if C::Hardening::SCRUB && !zero {
            clear(base, units * UNIT);
        }
        let span = self.map.span_at(base);
        self.touch_words(span);
        Some(span)
    }

    /// Makes the records of the later units lead to the first.
    pub(crate) fn mark_rest(&'static self, base: usize, units: usize) {
        for unit in 1..units {
            let rest = self.map.span_at(base + unit * UNIT);
            rest.unit.set(unit_of(base + unit * UNIT));
            rest.summary.set(u64::from(unit_of(base)));
            rest.use_for(Use::Rest);
        }
    }

    /// Gives all units of a span or of a large object back. Under the pool's latch.
    pub(crate) fn retire_units(&'static self, base: usize, units: usize) {
        for unit in 0..units {
            let span = self.map.span_at(base + unit * UNIT);
            span.owner.set(None);
            span.use_for(Use::Nothing);
        }
        self.give_units(base, units);
    }

    /// The number of blocks that a span has left to give.
    pub(crate) fn available(span: &Span) -> usize {
        let untouched = span.class().blocks() - usize::from(span.carved.get());
        usize::from(span.free.get()) + untouched
    }

    /// Takes `count` blocks from a span, which must have as many: free ones first, then untouched
    /// ones, both in ascending order.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "at most 4096")]
    pub(crate) fn take_from(
        &'static self,
        span: &'static Span,
        count: usize,
        mut put: impl FnMut(usize),
    ) {
        let Some(words) = self.map.words(span) else {
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

    /// True if a span has no blocks left to give.
    pub(crate) fn is_exhausted(span: &Span) -> bool {
        span.summary.get() == 0 && usize::from(span.carved.get()) == span.class().blocks()
    }

    /// Gives free blocks of one word back to their span, whose heap's latch is held. Retires the
    /// span if none of its blocks is in use and it is not the last of its class.
    pub(crate) fn give_to_span(
        &'static self,
        heap: &'static Heap,
        span: &'static Span,
        word: usize,
        bits: u64,
    ) {
        let Some(words) = self.map.words(span) else {
            return;
        };
        let set = words.free(span.unit.get(), word);
        let twice = set.get() & bits;
        if twice != 0 {
            let block = word * 64 + twice.trailing_zeros() as usize;
            stop(&self.source, Misuse::DoubleFree, span.address_of(block));
        }
        set.set(set.get() | bits);
        span.summary.set(span.summary.get() | 1 << word);
        #[expect(clippy::cast_possible_truncation, reason = "at most 64")]
        span.free.set(span.free.get() + bits.count_ones() as u16);
        if span.listed.get() == 0 {
            self.list(heap, span);
        }
        let last = span.prev.get() == 0 && span.next.get() == 0;
        if span.free.get() == span.carved.get() && (!last || !heap.is_running()) {
            self.retire(heap, span);
        }
    }

    /// Gives a span without used blocks back to the pool.
    pub(crate) fn retire(&'static self, heap: &'static Heap, span: &'static Span) {
        self.unlist(heap, span);
        if let Some(words) = self.map.words(span) {
            let mut summary = span.summary.get();
            while summary != 0 {
                words
                    .free(span.unit.get(), summary.trailing_zeros() as usize)
                    .set(0);
                summary &= summary - 1;
            }
        }
        span.summary.set(0);
        self.with_pool(|_| self.retire_units(span.base(), span.class().units()));
    }

    /// The first unit's record for an address in a span of blocks, and the block's number.
    ///
    /// Stops the program if no block begins there.
    pub(crate) fn find_block(&'static self, address: usize) -> (&'static Span, usize) {
        let span = self.first_unit(address);
        if !span.is(Use::Blocks) {
            self.stop_at(address);
        }
        (span, self.block_in(span, address))
    }

    /// The number of the block that begins at an address in this span.
    ///
    /// Stops the program if none does.
    #[inline]
    pub(crate) fn block_in(&'static self, span: &'static Span, address: usize) -> usize {
        match span.block_at(address) {
            Some(block) => block,
            None => stop(&self.source, Misuse::NotABlock, address),
        }
    }

    /// The record of the first unit of the span or object at an address.
    pub(crate) fn first_unit(&'static self, address: usize) -> &'static Span {
        self.first_of(self.map.span_at(address))
    }

    /// As [`first_unit`](Self::first_unit), from the record of any of its units.
    #[inline]
    pub(crate) fn first_of(&'static self, span: &'static Span) -> &'static Span {
        if !span.is(Use::Rest) {
            return span;
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "later units have 32 bits there"
        )]
        self.map.span(span.summary.get() as u32)
    }

    /// Stops the program: no block is at this address.
    #[cold]
    pub(crate) fn stop_at(&'static self, address: usize) -> ! {
        let ours = self
            .map
            .arena(unit_of(address))
            .is_some_and(|arena| arena.base.get() != 0);
        let misuse = if ours {
            Misuse::NotABlock
        } else {
            Misuse::Foreign
        };
        stop(&self.source, misuse, address)
    }
}
