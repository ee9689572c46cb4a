//! Blocks of no bytes: addresses in inaccessible memory, so that every access to one faults.
//!
//! They lie in units of their own, which are kept once they are made. All are under the pool's
//! latch, since requests for nothing are rare.
#![forbid(unsafe_code)]

use crate::forms::copies;
use crate::malloc::{
    Central, Class, Config, Misuse, Pool, Span, System, ThreadHeap, UNIT, UnitRequest, Use, stop,
};

/// The distance between two of them. A unit's records of free ones then fit in one cache line.
const APART: usize = 128;

/// The blocks of no bytes of an allocator.
pub(crate) struct EmptyBlocks<C: Config>(pub(crate) &'static Central<C>);

copies! { EmptyBlocks<C> where [C: Config]; }

impl<C: Config> EmptyBlocks<C> {
    /// Allocates one; 0 if out of memory.
    pub(crate) fn allocate(self) -> usize {
        loop {
            if let Some(block) = self.0.with_pool(|pool| self.take(pool)) {
                return block;
            }
            if self.make_unit().is_none() {
                return self.0.refuse_memory();
            }
        }
    }

    fn take(self, pool: &'static Pool) -> Option<usize> {
        let unit = pool.empties.get();
        let span = (unit != 0).then(|| self.0.map.span(unit))?;
        let mut block = 0;
        ThreadHeap::of_caller(self.0).take_from(span, 1, |address| block = address);
        if span.is_exhausted() {
            pool.empties.set(span.next.get());
        }
        Some(block)
    }

    /// Makes a unit of them, and lists it.
    fn make_unit(self) -> Option<()> {
        let class = Class::of(APART)?;
        let (base, zero) = self.0.claim_units(UnitRequest::units(1), &|base| {
            let span = self.0.map.span_at(base);
            span.cut(base, class, class.number());
            span.use_for(Use::Empty);
        })?;
        let span = self.0.map.span_at(base);
        self.0.touch_words(span);
        if !zero {
            self.0.purge_part(base, UNIT);
        }
        self.0.source.guard_at(base, UNIT);
        self.0.with_pool(|pool| Self::list(pool, span));
        Some(())
    }

    fn list(pool: &'static Pool, span: &'static Span) {
        span.next.set(pool.empties.get());
        pool.empties.set(span.unit.get());
    }

    /// Frees one. Stops the program if it is free, or if none begins there.
    pub(crate) fn free(self, span: &'static Span, address: usize) {
        self.0.with_pool(|pool| {
            let block = self.0.block_in(span, address);
            let Some(words) = self.0.map.words(span) else {
                return;
            };
            let (word, bit) = (block / 64, 1 << (block % 64));
            let set = words.free(span.unit.get(), word);
            if set.get() & bit != 0 {
                stop(&self.0.source, Misuse::DoubleFree, address);
            }
            if span.is_exhausted() {
                Self::list(pool, span);
            }
            set.set(set.get() | bit);
            span.summary.set(span.summary.get() | 1 << word);
            span.free.set(span.free.get() + 1);
        });
    }
}
