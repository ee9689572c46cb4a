//! The mutation interface shared by [`Maple`](crate::maple::Maple) and
//! [`Session`](crate::maple::Session).

use crate::addr::{Address, Extent};
use crate::forms::Sealed;
use crate::maple::{Config, Entry, Maple, NoMemory, Retire, Session, Split, StoreError, Unlinked};
use crate::rcu::Rcu;
use crate::sync::RawLock;

/// An entry that was removed, with its extent; `None` if there was none.
pub type TakenAt<A, T> = Option<(Extent<A>, T)>;

/// A map that can be changed: one with one owner, or a session beside readers.
pub trait Edit<A: Address, E: Entry>: Sealed {
    /// A removed entry.
    type Taken;

    /// Stores an entry at `at`, over all entries there. Drops or retires the displaced ones.
    ///
    /// # Errors
    /// [`StoreError`], with the entry; nothing has changed.
    fn put(&mut self, at: Extent<A>, entry: E) -> Result<(), StoreError<E>>;

    /// Removes the entry that contains `index`.
    ///
    /// # Errors
    /// [`NoMemory`]; nothing has changed.
    fn take(&mut self, index: A) -> Result<TakenAt<A, Self::Taken>, NoMemory>;

    /// See [`Maple::lowest_gap`].
    fn lowest(&self, size: u64, window: Extent<A>) -> Option<Extent<A>>;

    /// See [`Maple::highest_gap`].
    fn highest(&self, size: u64, window: Extent<A>) -> Option<Extent<A>>;
}

impl<A: Address, E: Entry, C: Config> Sealed for Maple<A, E, C> {}

impl<A: Address, E: Split, C: Config> Edit<A, E> for Maple<A, E, C> {
    type Taken = E;

    fn put(&mut self, at: Extent<A>, entry: E) -> Result<(), StoreError<E>> {
        self.store(at, entry).map(drop)
    }

    fn take(&mut self, index: A) -> Result<TakenAt<A, E>, NoMemory> {
        self.erase(index)
    }

    fn lowest(&self, size: u64, window: Extent<A>) -> Option<Extent<A>> {
        self.lowest_gap(size, window)
    }

    fn highest(&self, size: u64, window: Extent<A>) -> Option<Extent<A>> {
        self.highest_gap(size, window)
    }
}

impl<A: Address, E: Retire, R: Rcu, L: RawLock, C: Config> Sealed for Session<'_, A, E, R, L, C> {}

impl<'m, A, E, R, L, C> Edit<A, E> for Session<'m, A, E, R, L, C>
where
    A: Address,
    E: Retire + Split,
    R: Rcu,
    L: RawLock,
    C: Config,
{
    type Taken = Unlinked<'m, E, R>;

    fn put(&mut self, at: Extent<A>, entry: E) -> Result<(), StoreError<E>> {
        self.store(at, entry).map(drop)
    }

    fn take(&mut self, index: A) -> Result<TakenAt<A, Self::Taken>, NoMemory> {
        self.erase(index)
    }

    fn lowest(&self, size: u64, window: Extent<A>) -> Option<Extent<A>> {
        self.lowest_gap(size, window)
    }

    fn highest(&self, size: u64, window: Extent<A>) -> Option<Extent<A>> {
        self.highest_gap(size, window)
    }
}
