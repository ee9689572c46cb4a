//! Stores and erasures for which the caller supplies the upper part of an entry that is cut in two.
//! If the caller prepares that part beforehand, they need no memory for it.

use crate::addr::{Address, Extent};
use crate::maple::{Config, Displaced, Entry, Maple, Removed, Retire, Session, Words};
use crate::rcu::Rcu;
use crate::sync::RawLock;

impl<A: Address, E: Entry, C: Config> Maple<A, E, C> {
    /// Stores an entry in an extent, or clears the extent, over all entries there. `upper` makes
    /// the entry for the upper part of one that is cut in two; `None` if out of memory.
    ///
    /// # Errors
    /// The entry, if out of memory; nothing has changed.
    pub(crate) fn exchange(
        &mut self,
        at: Extent<A>,
        entry: Option<E>,
        upper: impl FnOnce(E::Ref<'_>) -> Option<E>,
    ) -> Result<Displaced<'_, A, E, C>, Option<E>> {
        let word = entry.map(Entry::into_word);
        let (start, last) = (at.start().raw(), at.last().raw());
        let mut write = self.write();
        let split = |word| Words::<A, E>::split_with(word, upper);
        let stored = write.store(start, last, word, split);
        let displaced = write.displaced;
        if stored.is_ok() {
            return Ok(self.displaced(start, last, displaced));
        }
        let entry = word.map(Words::<A, E>::give_back);
        self.end();
        Err(entry)
    }
}

/// The entry whose end was cut, as it was before; or, if nothing was cut, the first one there.
type CutEnd<A, R> = Result<(Extent<A>, R), Option<(Extent<A>, R)>>;

impl<A: Address, E: Entry, C: Config> Maple<A, E, C> {
    /// Removes `at`, if it is the upper end of one entry and free indices behind it, and if one
    /// store of a word suffices. Returns the entry and its old extent.
    ///
    /// # Errors
    /// The first entry in `at` or behind it, if it was found on the way. Nothing has changed.
    #[inline]
    pub(crate) fn cut_end(&mut self, at: Extent<A>) -> CutEnd<A, E::Ref<'_>> {
        let (start, last) = (at.start().raw(), at.last().raw());
        let old = self.write().cut_end(start, last);
        let lend = Words::<A, E>::lend;
        old.map(lend).map_err(|first| first.map(lend))
    }
}

impl<'m, A: Address, E: Retire, R: Rcu, L: RawLock, C: Config> Session<'m, A, E, R, L, C> {
    /// See [`Maple::cut_end`].
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub(crate) fn cut_end(&mut self, at: Extent<A>) -> CutEnd<A, E::Ref<'_>> {
        let (start, last) = (at.start().raw(), at.last().raw());
        let old = self.write().cut_end(start, last);
        let lend = Words::<A, E>::lend;
        old.map(lend).map_err(|first| first.map(lend))
    }

    /// See [`Maple::exchange`]. Readers see the old state or the new one, never a mix.
    ///
    /// # Errors
    /// The entry, if out of memory; nothing has changed.
    pub(crate) fn exchange(
        &mut self,
        at: Extent<A>,
        entry: Option<E>,
        upper: impl FnOnce(E::Ref<'_>) -> Option<E>,
    ) -> Result<Removed<'_, 'm, A, E, R, C>, Option<E>> {
        let word = entry.map(Entry::into_word);
        let (start, last) = (at.start().raw(), at.last().raw());
        let mut write = self.write();
        let split = |word| Words::<A, E>::split_with(word, upper);
        let stored = write.store(start, last, word, split);
        let displaced = write.displaced;
        if stored.is_ok() {
            return Ok(self.removed(start, last, displaced));
        }
        Err(word.map(Words::<A, E>::give_back))
    }
}
