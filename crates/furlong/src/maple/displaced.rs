//! Entries that a store has displaced, handed back.
#![forbid(unsafe_code)]

use core::fmt;

use super::{
    config::Config,
    entry::Entry,
    leaf::{Leaf, Slot},
    link::Ptr,
    pool::Pool,
    tree::Tree,
    typed::{Typed, Words},
};
use crate::addr::{Address, Extent};

/// Slots that a change has taken out, in order.
pub(super) struct Slots<'a, C: Config> {
    pub(super) tree: &'a Tree<C::Geometry>,
    pub(super) pool: &'a mut Pool<C::Geometry, C::Source>,
    /// One that was taken out of a leaf that stays.
    pub(super) one: Option<Slot>,
    /// What was stored over.
    pub(super) start: u64,
    pub(super) last: u64,
    /// The leaf that is being gone through, and how far.
    pub(super) leaf: Option<(Ptr<'a, Leaf<C::Geometry>>, usize)>,
}

impl<C: Config> Slots<'_, C> {
    /// Whether there is surely nothing more.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.one.is_none() && self.leaf.is_none() && !self.pool.has_displaced()
    }
}

impl<C: Config> Iterator for Slots<'_, C> {
    type Item = Slot;

    fn next(&mut self) -> Option<Slot> {
        if let Some(slot) = self.one.take() {
            return Some(slot);
        }
        loop {
            let (leaf, from) = match self.leaf.take() {
                Some(rest) => rest,
                None => (self.pool.next_displaced(self.tree)?, 0),
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

/// The entries that a change has taken out whole, with their extents, in order.
///
/// Entries that it has cut stay, with what is left of them. Dropped, it drops the rest.
#[must_use = "what is displaced is dropped with it: take it, and drop it where that suits"]
pub struct Displaced<'a, A: Address, E: Entry, C: Config> {
    pub(super) slots: Slots<'a, C>,
    pub(super) typed: Typed<A, E>,
}

impl<A: Address, E: Entry, C: Config> Iterator for Displaced<'_, A, E, C> {
    type Item = (Extent<A>, E);

    fn next(&mut self) -> Option<Self::Item> {
        self.slots.next().map(Words::<A, E>::take)
    }
}

impl<A: Address, E: Entry, C: Config> Drop for Displaced<'_, A, E, C> {
    #[inline]
    fn drop(&mut self) {
        if !self.slots.is_empty() {
            self.by_ref().for_each(drop);
        }
        self.slots.pool.end();
    }
}

impl<A: Address, E: Entry, C: Config> fmt::Debug for Displaced<'_, A, E, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Displaced").finish_non_exhaustive()
    }
}
