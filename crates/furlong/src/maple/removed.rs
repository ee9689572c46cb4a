//! Entries that were taken out beside readers, handed back.
#![forbid(unsafe_code)]

use core::{fmt, ops::Deref};

use super::config::Config;
use super::displaced::Slots;
use super::entry::{Plain, Retire};
use super::leaf::Slot;
use super::typed::{Typed, Words};
use crate::addr::{Address, Extent};
use crate::rcu::{Batch, Rcu};

/// An entry that was taken out, and that readers may still have.
///
/// Dropped, under the lock or after it, it is retired: the entry is dropped after the grace period,
/// when whoever polls the domain says so. Forgotten, it leaks the entry.
pub struct Unlinked<'m, E: Retire, R: Rcu> {
    /// There until it is dropped.
    entry: Option<E>,
    rcu: &'m R,
}

impl<'m, E: Retire, R: Rcu> Unlinked<'m, E, R> {
    /// What a slot held that was taken out of the tree.
    pub(super) fn of<A: Address>(slot: Slot, rcu: &'m R) -> (Extent<A>, Self) {
        let (at, entry) = Words::<A, E>::take(slot);
        let entry = Some(entry);
        (at, Self { entry, rcu })
    }
}

impl<E: Retire, R: Rcu> Deref for Unlinked<'_, E, R> {
    type Target = E;

    fn deref(&self) -> &E {
        self.entry
            .as_ref()
            .expect("it is there until it is dropped")
    }
}

impl<E: Retire + Plain, R: Rcu> Unlinked<'_, E, R> {
    /// The entry, which has nothing to be dropped.
    pub fn into_inner(self) -> E {
        *self
    }
}

impl<E: Retire, R: Rcu> Drop for Unlinked<'_, E, R> {
    #[inline]
    fn drop(&mut self) {
        let mut batch = Batch::new();
        if let Some(entry) = self.entry.take() {
            entry.retire(&mut batch);
        }
        if !batch.is_empty() {
            self.rcu.retire(batch);
        }
    }
}

impl<E: Retire + fmt::Debug, R: Rcu> fmt::Debug for Unlinked<'_, E, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Unlinked").field(&**self).finish()
    }
}

/// The entries that a change beside readers has taken out whole, with their extents, in order.
///
/// Entries that it has cut stay, with what is left of them. Dropped, it retires the rest.
/// Forgotten, it leaks the rest and the nodes that they are in; the map does not have them any
/// more.
#[must_use = "what was removed is retired with it: take it, if it is wanted"]
pub struct Removed<'w, 'm, A: Address, E: Retire, R: Rcu, C: Config> {
    pub(super) slots: Slots<'w, C>,
    pub(super) rcu: &'m R,
    pub(super) typed: Typed<A, E>,
}

impl<A: Address, E: Retire, R: Rcu, C: Config> Removed<'_, '_, A, E, R, C> {
    /// Shows every entry to `see`, and retires them all at once, with the nodes.
    #[cfg(feature = "alloc")]
    pub(crate) fn show(mut self, see: impl FnMut(Extent<A>, E::Ref<'_>)) {
        self.retire_all(see);
    }

    fn retire_all(&mut self, mut see: impl FnMut(Extent<A>, E::Ref<'_>)) {
        while let Some(slot) = self.slots.next() {
            // Retired before it is shown: if `see` panics, its readers still have it.
            let (at, entry) = Words::<A, E>::retire(slot, self.slots.pool.entries());
            see(at, entry);
        }
    }
}

impl<'m, A: Address, E: Retire, R: Rcu, C: Config> Iterator for Removed<'_, 'm, A, E, R, C> {
    type Item = (Extent<A>, Unlinked<'m, E, R>);

    fn next(&mut self) -> Option<Self::Item> {
        self.slots.next().map(|slot| Unlinked::of(slot, self.rcu))
    }
}

impl<A: Address, E: Retire, R: Rcu, C: Config> Drop for Removed<'_, '_, A, E, R, C> {
    fn drop(&mut self) {
        if !self.slots.is_empty() {
            self.retire_all(|_, _| ());
        }
    }
}

impl<A: Address, E: Retire, R: Rcu, C: Config> fmt::Debug for Removed<'_, '_, A, E, R, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Removed").finish_non_exhaustive()
    }
}
