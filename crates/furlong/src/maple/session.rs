//! A writer beside readers: it holds the lock, and unlinked memory waits to be retired.

use core::marker::PhantomData;

use super::edit::write::Displaced;
use super::{
    Align, Anywhere, Config, End, EraseError, Geometry, InsertError, Multiple, NoMemory, Nodes,
    NotEnough, Pool, RcuMaple, Removed, Reservation, ResizeError, Retire, Slot, Slots, Split,
    StoreError, Unlinked, View, Words, Write, bound, gap, not_inserted, not_resized, not_stored,
};
use crate::addr::{Address, Extent};
use crate::forms::debug_as;
use crate::rcu::Rcu;
use crate::sync::{LockGuard, RawLock};

/// An entry that was removed, with its extent.
pub type OneRemoved<'m, A, E, R> = (Extent<A>, Unlinked<'m, E, R>);

/// The number of given-up nodes and entries, if they are memory alone, that are released together.
const MANY: usize = if cfg!(loom) { 1 } else { 4 };

/// The largest number of nodes and entries that are kept for reuse.
const KEPT_MAX: usize = 24;

/// The right to change an [`RcuMaple`]. Its drop releases the lock. Unlinked entries are retired
/// then. Nodes, and entries that are memory alone, may collect in the tree until there are more of
/// them. Then they are used again if no reader is inside, and otherwise retired.
///
/// If a session is forgotten, the lock stays held for good, and unlinked memory waits until the map
/// is dropped, which takes no lock. Code that runs during the session (an iterator, a `copy`, the
/// drop of an entry) must not take the lock of the same map. With a spin lock it would wait for
/// itself.
#[must_use = "the lock is released as soon as this is dropped"]
pub struct Session<'m, A: Address, E: Retire, R: Rcu, L: RawLock, C: Config> {
    pub(super) map: &'m RcuMaple<A, E, R, L, C>,
    pub(super) pool: LockGuard<'m, L, Pool<C::Geometry, C::Source>>,
}

impl<'m, A: Address, E: Retire, R: Rcu, L: RawLock, C: Config> Session<'m, A, E, R, L, C> {
    /// A read-only view of the tree, which nobody changes meanwhile.
    pub fn view(&self) -> View<'_, A, E, C> {
        View::new(&self.map.tree, &self.map.count)
    }

    /// The length of the largest gap; `u64::MAX` also for the whole space, whose length is one
    /// more.
    pub fn largest_gap(&self) -> u64 {
        self.map.tree.widest_gap(A::LAST.raw())
    }

    /// See [`Maple::lowest_gap`](super::Maple::lowest_gap).
    pub fn lowest_gap(&self, size: u64, window: Extent<A>) -> Option<Extent<A>> {
        self.gap(size, Anywhere, window, End::Lowest)
    }

    /// See [`Maple::highest_gap`](super::Maple::highest_gap).
    pub fn highest_gap(&self, size: u64, window: Extent<A>) -> Option<Extent<A>> {
        self.gap(size, Anywhere, window, End::Highest)
    }

    fn gap(&self, size: u64, align: impl Align, window: Extent<A>, end: End) -> Option<Extent<A>> {
        gap(&self.map.tree, &self.map.count, size, align, window, end)
    }

    /// See [`Maple::lowest_aligned_gap`](super::Maple::lowest_aligned_gap).
    pub fn lowest_aligned_gap(
        &self,
        size: u64,
        align: u64,
        window: Extent<A>,
    ) -> Option<Extent<A>> {
        self.gap(size, Multiple::new(align)?, window, End::Lowest)
    }

    /// See [`Maple::highest_aligned_gap`](super::Maple::highest_aligned_gap).
    pub fn highest_aligned_gap(
        &self,
        size: u64,
        align: u64,
        window: Extent<A>,
    ) -> Option<Extent<A>> {
        self.gap(size, Multiple::new(align)?, window, End::Highest)
    }

    /// See [`Maple::insert`](super::Maple::insert).
    ///
    /// # Errors
    /// [`InsertError`], with the entry; nothing has changed.
    pub fn insert(&mut self, at: Extent<A>, entry: E) -> Result<(), InsertError<A, E>> {
        let word = entry.into_word();
        let (start, last) = (at.start().raw(), at.last().raw());
        let result = self.write().insert(Slot { start, last, word });
        result.map_err(|refused| not_inserted(refused, Words::<A, E>::give_back(word)))
    }

    /// See [`Maple::erase`](super::Maple::erase).
    ///
    /// # Errors
    /// [`NoMemory`]; nothing has changed.
    pub fn erase(&mut self, index: A) -> Result<Option<OneRemoved<'m, A, E, R>>, NoMemory> {
        let slot = self.write().erase(index.raw()).map_err(|_| NoMemory)?;
        let rcu = &self.map.rcu;
        Ok(slot.map(|slot| Unlinked::of(slot, rcu)))
    }

    /// See [`Maple::resize`](super::Maple::resize).
    ///
    /// # Errors
    /// [`ResizeError`]; nothing has changed.
    pub fn resize(&mut self, index: A, to: Extent<A>) -> Result<(), ResizeError<A>> {
        let (start, last) = (to.start().raw(), to.last().raw());
        let result = self.write().resize(index.raw(), start, last);
        result.map_err(not_resized)
    }

    /// Takes the nodes of `reservation`, if they and the nodes left of earlier ones suffice for
    /// `changes`. These changes then neither allocate nor free.
    ///
    /// # Errors
    /// [`NotEnough`] if the tree has grown since; nothing has changed.
    pub fn supply(
        &mut self,
        reservation: &mut Reservation<C>,
        changes: usize,
    ) -> Result<(), NotEnough> {
        let levels = self.map.tree.levels();
        let (mine, more) = (self.pool.ready(), reservation.nodes());
        let all = Nodes {
            leaves: mine.leaves + more.leaves,
            inners: mine.inners + more.inners,
        };
        let is_full = changes > 0 && levels > C::Geometry::DEPTH;
        if is_full || !all.covers(bound::<C::Geometry>(changes, levels)) {
            return Err(NotEnough { levels });
        }
        self.pool.absorb(&mut reservation.pool);
        Ok(())
    }

    /// Returns the nodes that are left, to be kept for the next time or dropped after the lock.
    pub fn unused(&mut self) -> Reservation<C> {
        let mut pool = Pool::new();
        pool.absorb(&mut self.pool);
        Reservation { pool }
    }

    pub(super) fn write(&mut self) -> Write<'_, C, true> {
        Write {
            tree: &self.map.tree,
            pool: &mut self.pool,
            count: &self.map.count,
            displaced: Displaced::new(),
        }
    }

    pub(super) fn removed(
        &mut self,
        start: u64,
        last: u64,
        displaced: Displaced<C>,
    ) -> Removed<'_, 'm, A, E, R, C> {
        Removed {
            rcu: &self.map.rcu,
            typed: PhantomData,
            slots: Slots::new(&self.map.tree, &mut self.pool, displaced, (start, last)),
        }
    }
}

impl<'m, A: Address, E: Retire + Split, R: Rcu, L: RawLock, C: Config> Session<'m, A, E, R, L, C> {
    /// See [`Maple::store`](super::Maple::store). Readers see the old state or the new one, never a
    /// mix.
    ///
    /// # Errors
    /// [`StoreError`], with the entry; nothing has changed. If [`Split::split`] panics, nothing has
    /// changed either, and the entry is dropped.
    pub fn store(
        &mut self,
        at: Extent<A>,
        entry: E,
    ) -> Result<Removed<'_, 'm, A, E, R, C>, StoreError<E>> {
        let word = entry.into_word();
        let (start, last) = (at.start().raw(), at.last().raw());
        let mut write = self.write();
        let stored = write.store(start, last, Some(word), Words::<A, E>::split_for(word));
        let displaced = write.displaced;
        match stored {
            Ok(()) => Ok(self.removed(start, last, displaced)),
            Err(refused) => Err(not_stored(refused, Words::<A, E>::give_back(word))),
        }
    }

    /// See [`Maple::erase_range`](super::Maple::erase_range). Readers see all of the old entries or
    /// none.
    ///
    /// # Errors
    /// [`EraseError`]; nothing has changed.
    pub fn erase_range(
        &mut self,
        at: Extent<A>,
    ) -> Result<Removed<'_, 'm, A, E, R, C>, EraseError> {
        let (start, last) = (at.start().raw(), at.last().raw());
        let mut write = self.write();
        let erased = write.store(start, last, None, Words::<A, E>::split);
        let displaced = write.displaced;
        erased?;
        Ok(self.removed(start, last, displaced))
    }
}

impl<'m, A: Address, E: Retire, R: Rcu, L: RawLock, C: Config> Session<'m, A, E, R, L, C> {
    /// Removes all entries. It obtains no node. Readers see all of the old entries or none.
    #[cfg(feature = "alloc")]
    pub(crate) fn take_all(&mut self) -> Removed<'_, 'm, A, E, R, C> {
        let mut write = self.write();
        write.unlink_subtree();
        let displaced = write.displaced;
        self.removed(0, u64::MAX, displaced)
    }

    /// Keeps the given-up memory if no reader is inside; otherwise retires it.
    fn let_go(&mut self, given_up: usize, is_urgent: bool) {
        let ready = self.pool.ready();
        let kept = ready.leaves + ready.inners + self.pool.spares();
        let is_kept = !is_urgent && kept + given_up <= KEPT_MAX;
        if is_kept && self.pool.asks() {
            if self.map.rcu.is_quiet() {
                // Entries that nothing would take again would only fill the pool.
                let unused = self.pool.take_unused();
                if !unused.is_empty() {
                    self.map.rcu.retire(unused);
                }
                return self.pool.recycle_all();
            }
            self.pool.ask_later();
        }
        self.map.rcu.retire(self.pool.take_old());
    }
}

impl<A: Address, E: Retire, R: Rcu, L: RawLock, C: Config> Drop for Session<'_, A, E, R, L, C> {
    fn drop(&mut self) {
        let (nodes, entries) = self.pool.given_up();
        let is_urgent = entries > 0 && !E::IS_MEMORY;
        if nodes + entries >= MANY || is_urgent {
            self.let_go(nodes + entries, is_urgent);
        }
    }
}

debug_as! {
    Session<'_, A, E, R, L, C> where [A: Address, E: Retire, R: Rcu, L: RawLock, C: Config]:
    Session { .. }
}
