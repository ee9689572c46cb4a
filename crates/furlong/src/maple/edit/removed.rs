//! Entries that were removed beside readers, handed back.

use core::{fmt, marker::PhantomData, ops::Deref};

use crate::addr::{Address, Extent};
use crate::forms::debug_as;
use crate::maple::{Config, Plain, Retire, Slot, Slots, Typed, Words};
use crate::rcu::{Batch, Rcu};

/// An entry that was removed, and that readers may still use.
///
/// Its drop, under the lock or after it, retires the entry. The entry itself is dropped after the
/// grace period, by a thread that polls the domain. Forgetting this leaks the entry.
pub struct Unlinked<'m, E: Retire, R: Rcu> {
    /// `Some` until the drop.
    entry: Option<E>,
    rcu: &'m R,
    /// Readers may use the entry as well: who has this shares it with them.
    shared: PhantomData<&'m E>,
}

impl<'m, E: Retire, R: Rcu> Unlinked<'m, E, R> {
    /// The entry of a slot that was removed from the tree.
    pub(crate) fn of<A: Address>(slot: Slot, rcu: &'m R) -> (Extent<A>, Self) {
        let (at, entry) = Words::<A, E>::take(slot);
        let unlinked = Self {
            entry: Some(entry),
            rcu,
            shared: PhantomData,
        };
        (at, unlinked)
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
    /// The entry, which has nothing to drop.
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

debug_as! { Unlinked<'_, E, R> where [E: Retire + fmt::Debug, R: Rcu]: |it| Unlinked(**it) }

/// The entries that a change beside readers has removed whole, with their extents, in order.
///
/// Entries that were only cut keep their rest in the map. Dropping this retires the remaining
/// entries. Forgetting it leaks them and their nodes; the map no longer has them.
#[must_use = "dropping this retires the removed entry: take it to keep it"]
pub struct Removed<'w, 'm, A: Address, E: Retire, R: Rcu, C: Config> {
    pub(crate) slots: Slots<'w, C>,
    pub(crate) rcu: &'m R,
    pub(crate) typed: Typed<A, E>,
}

impl<A: Address, E: Retire, R: Rcu, C: Config> Removed<'_, '_, A, E, R, C> {
    /// Passes every entry to `see`, and retires them all at once, with the nodes.
    #[cfg(feature = "alloc")]
    pub(crate) fn show(mut self, see: impl FnMut(Extent<A>, E::Ref<'_>)) {
        self.retire_all(see);
    }

    fn retire_all(&mut self, mut see: impl FnMut(Extent<A>, E::Ref<'_>)) {
        while let Some(slot) = self.slots.next() {
            // Retired before `see` gets it: if `see` panics, readers may still use the entry.
            let (at, entry) = Words::<A, E>::retire(slot, self.slots.pool.entries());
            see(at, entry);
        }
    }
}

impl<'m, A: Address, E: Retire + 'm, R: Rcu, C: Config> Iterator for Removed<'_, 'm, A, E, R, C> {
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

debug_as! { Removed<'_, '_, A, E, R, C> where [A: Address, E: Retire, R: Rcu, C: Config]:
    Removed { .. }
}
