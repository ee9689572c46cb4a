//! `check()`: checks the invariants and names the broken one.
#![forbid(unsafe_code)]

use core::fmt;

use crate::check::Check;

use crate::malloc::{
    class::{CLASSES, Class},
    config::Config,
    front::malloc::Malloc,
    os::current::CurrentHeap,
    thread::heap::Heap,
};

use super::{
    arena::Arena,
    span::{MAKING, Span, Use, unit_of},
};

/// A broken invariant of an allocator, and the address of the unit or block concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BrokenMalloc {
    /// I1: a unit is both free and in use, or neither.
    Unit(usize),
    /// I2: a count of an arena or of the pool is wrong.
    Count(usize),
    /// I3: a span's words, summary and counts disagree.
    Words(usize),
    /// I4: a span is not in its heap's list exactly if it has blocks left to give.
    List(usize),
    /// I5: a block in a heap's stack is also free in its span, or is not a block of the heap.
    Kept(usize),
}

impl fmt::Display for BrokenMalloc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, at) = match self {
            Self::Unit(at) => ("a unit is free and in use, or neither", at),
            Self::Count(at) => ("a count is not what is there", at),
            Self::Words(at) => ("a span's words and numbers do not agree", at),
            Self::List(at) => ("a span is in the wrong list, or in none", at),
            Self::Kept(at) => ("a kept block is free in its span, or not there", at),
        };
        write!(f, "{what}: {at:#x}")
    }
}

impl core::error::Error for BrokenMalloc {}

fn hold(so: bool, broken: BrokenMalloc) -> Result<(), BrokenMalloc> {
    if so { Ok(()) } else { Err(broken) }
}

/// All latches of an allocator.
pub(crate) struct HeldAll<C: Config>(&'static Malloc<C>);

impl<C: Config> Drop for HeldAll<C> {
    fn drop(&mut self) {
        self.0.unlock_all();
    }
}

impl<C: Config> Check for &'static Malloc<C> {
    type Broken = BrokenMalloc;

    /// As [`Malloc::check`].
    fn check(&self) -> Result<(), BrokenMalloc> {
        Malloc::check(self)
    }
}

impl<C: Config> Malloc<C> {
    /// Checks every invariant. No other thread may be in a gate meanwhile; threads in a slow way
    /// are waited for.
    ///
    /// # Errors
    /// See [`BrokenMalloc`].
    ///
    /// # Cost
    /// O(units): it walks all arenas under all latches.
    pub fn check(&'static self) -> Result<(), BrokenMalloc> {
        let _pin = C::Current::pin();
        let _held = self.hold_all();
        self.check_all()
    }

    /// Takes all latches until the result is dropped, also by a panic.
    pub(crate) fn hold_all(&'static self) -> HeldAll<C> {
        self.lock_all();
        HeldAll(self)
    }

    fn check_all(&'static self) -> Result<(), BrokenMalloc> {
        let (mut live, mut dirty) = (0, 0);
        for arena in self.pool.arenas() {
            self.check_arena(arena)?;
            let used = !(arena.free.get() | arena.leaving.get());
            live += used.count_ones() as usize;
            dirty += arena.dirty.get().count_ones() as usize;
        }
        hold(self.pool.counts_are(live, dirty), BrokenMalloc::Count(0))?;
        for heap in self.pool.heaps() {
            for class in (1..CLASSES).map(Class::numbered) {
                self.check_list(heap, class)?;
                self.check_stack(heap, class)?;
            }
        }
        Ok(())
    }

    fn check_arena(&'static self, arena: &'static Arena) -> Result<(), BrokenMalloc> {
        let (free, dirty) = (arena.free.get(), arena.dirty.get());
        let idle = arena.idle.get();
        hold(
            dirty & !free == 0 && idle & !dirty == 0 && free & arena.leaving.get() == 0,
            BrokenMalloc::Count(arena.base.get()),
        )?;
        for at in 0..64 {
            let base = arena.unit_base(at);
            let span = self.map.span_at(base);
            let is_free = (free | arena.leaving.get()) >> at & 1 == 1;
            hold(is_free == span.is(Use::Nothing), BrokenMalloc::Unit(base))?;
            hold(
                !is_free || span.owner.get().is_none(),
                BrokenMalloc::Unit(base),
            )?;
            if span.is(Use::Rest) {
                let first = self.first_unit(base);
                let led = !first.is(Use::Rest) && !first.is(Use::Nothing);
                hold(led && first.base() < base, BrokenMalloc::Unit(base))?;
            } else if !is_free {
                hold(span.unit.get() == unit_of(base), BrokenMalloc::Unit(base))?;
            }
            if span.is(Use::Blocks) {
                self.check_span(span)?;
            }
        }
        Ok(())
    }

    fn check_span(&'static self, span: &'static Span) -> Result<(), BrokenMalloc> {
        let broken = BrokenMalloc::Words(span.base());
        let words = self.map.words(span).ok_or(broken)?;
        let carved = usize::from(span.carved.get());
        hold(carved <= span.class().blocks(), broken)?;
        let mut free = 0;
        for word in 0..64 {
            let bits = words.free(span.unit.get(), word).get();
            hold((bits != 0) == (span.summary.get() >> word & 1 == 1), broken)?;
            let past = carved.saturating_sub(word * 64).min(64);
            let inside = u64::MAX.checked_shr(64 - past as u32).unwrap_or(0);
            hold(bits & !inside == 0, broken)?;
            free += bits.count_ones();
        }
        hold(free == u32::from(span.free.get()), broken)?;
        if span.listed.get() == MAKING {
            return Ok(());
        }
        let listed = span.listed.get() == 1;
        let owned = span.owner.get().is_some();
        hold(
            owned && listed != Self::is_exhausted(span),
            BrokenMalloc::List(span.base()),
        )
    }

    fn check_list(&'static self, heap: &'static Heap, class: Class) -> Result<(), BrokenMalloc> {
        let (mut prev, mut unit) = (0, heap.first(class).get());
        while unit != 0 {
            let span = self.map.span(unit);
            let right = span.owner.is(heap) && span.class() == class && span.listed.get() == 1;
            hold(
                right && span.prev.get() == prev,
                BrokenMalloc::List(span.base()),
            )?;
            (prev, unit) = (unit, span.next.get());
        }
        Ok(())
    }

    fn check_stack(&'static self, heap: &'static Heap, class: Class) -> Result<(), BrokenMalloc> {
        let mut found = Ok(());
        heap.cache.bins.each(class, |address| {
            let span = self.first_unit(address);
            let block = span.block_at(address).filter(|_| span.owner.is(heap));
            let words = self.map.words(span);
            let kept = block.zip(words).is_some_and(|(block, words)| {
                let bits = words.free(span.unit.get(), block / 64).get();
                span.class() == class && bits >> (block % 64) & 1 == 0
            });
            if !kept {
                found = Err(BrokenMalloc::Kept(address));
            }
        });
        found
    }
}
