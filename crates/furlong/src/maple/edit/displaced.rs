//! Entries that a store has displaced, handed back.

use core::{marker::PhantomData, mem::needs_drop};

use super::write;
use crate::addr::{Address, Extent};
use crate::forms::debug_as;
use crate::maple::{Config, Entry, Leaf, Pool, Ptr, Slot, Tree, Typed, Words};

/// Slots that a change has removed, in order. If it is forgotten, their entries leak.
pub(crate) struct Slots<'a, C: Config> {
    tree: &'a Tree<C::Geometry>,
    pub(crate) pool: &'a mut Pool<C::Geometry, C::Source>,
    displaced: write::Displaced<C>,
    /// The range of the store.
    start: u64,
    last: u64,
    /// The leaf that is being walked, and the next slot in it.
    leaf: Option<(Ptr<'a, Leaf<C::Geometry>>, usize)>,
}

impl<'a, C: Config> Slots<'a, C> {
    /// The slots that a change from `start` to `last` has displaced.
    #[inline]
    pub(crate) fn new(
        tree: &'a Tree<C::Geometry>,
        pool: &'a mut Pool<C::Geometry, C::Source>,
        displaced: write::Displaced<C>,
        (start, last): (u64, u64),
    ) -> Self {
        Self {
            tree,
            pool,
            displaced,
            start,
            last,
            leaf: None,
        }
    }

    /// True only if there are no more slots.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        let Self {
            displaced, leaf, ..
        } = self;
        displaced.one.is_none() && leaf.is_none() && displaced.leaves.is_empty()
    }

    /// Gives the nodes up without a look at their entries, which need no drop.
    fn give_up(&mut self) {
        self.pool.give_up_all(&mut self.displaced.leaves);
    }
}

impl<C: Config> Iterator for Slots<'_, C> {
    type Item = Slot;

    fn next(&mut self) -> Option<Slot> {
        if let Some(slot) = self.displaced.one.take() {
            return Some(slot);
        }
        loop {
            let (leaf, from) = match self.leaf.take() {
                Some(rest) => rest,
                None => {
                    let leaves = &mut self.displaced.leaves;
                    (self.pool.give_up_next(leaves, self.tree)?, 0)
                }
            };
            let covered = |slot: &Slot| self.start <= slot.start && slot.last <= self.last;
            let next = (from..leaf.len()).find_map(|at| Some((at, leaf.read(at).filter(covered)?)));
            if let Some((at, slot)) = next {
                self.leaf = Some((leaf, at + 1));
                return Some(slot);
            }
        }
    }
}

/// The entries that a change has removed whole, with their extents, in order.
///
/// Entries that were only cut keep their rest in the map. Dropping this drops the remaining
/// entries; if the drop of one panics, the others are still dropped. Forgetting it leaks them and
/// their nodes; the map no longer has them.
#[must_use = "dropping this drops the displaced entries: take them to drop them elsewhere"]
pub struct Displaced<'a, A: Address, E: Entry, C: Config> {
    pub(crate) slots: Slots<'a, C>,
    typed: Typed<A, E>,
}

impl<'a, A: Address, E: Entry, C: Config> Displaced<'a, A, E, C> {
    #[inline]
    pub(crate) fn of(slots: Slots<'a, C>) -> Self {
        Self {
            slots,
            typed: PhantomData,
        }
    }
}

impl<A: Address, E: Entry, C: Config> Iterator for Displaced<'_, A, E, C> {
    type Item = (Extent<A>, E);

    fn next(&mut self) -> Option<Self::Item> {
        self.slots.next().map(Words::<A, E>::take)
    }
}

/// Drops the remaining entries, even if the drop of one panics, and ends the change.
struct Rest<'r, 'a, A: Address, E: Entry, C: Config>(&'r mut Displaced<'a, A, E, C>);

impl<A: Address, E: Entry, C: Config> Drop for Rest<'_, '_, A, E, C> {
    fn drop(&mut self) {
        self.0.by_ref().for_each(drop);
        self.0.slots.pool.end();
    }
}

impl<A: Address, E: Entry, C: Config> Drop for Displaced<'_, A, E, C> {
    #[inline]
    fn drop(&mut self) {
        if needs_drop::<E>() && !self.slots.is_empty() {
            Rest(self).0.by_ref().for_each(drop);
        } else {
            self.slots.give_up();
            self.slots.pool.end();
        }
    }
}

debug_as! { Displaced<'_, A, E, C> where [A: Address, E: Entry, C: Config]: Displaced { .. } }
