//! The tree of ranges that areas are in: of one owner, or beside readers.
#![forbid(unsafe_code)]

use super::maple_index::piece;
use super::{Attr, NoMemory, Piece, Value};
use crate::addr::{Extent, VirtAddr};
use crate::check::Check;
use crate::maple::{Broken, Config, InsertError, Maple, Reservation, Session, View};
use crate::rcu::{Rcu, RcuBox};
use crate::sync::RawLock;

/// What an entry of the tree holds. It never changes: readers may have it.
#[derive(Clone, Debug)]
pub struct Record<A> {
    pub(super) attr: Attr,
    /// None in a record that waits to be used.
    pub(super) value: Option<A>,
}

/// A record on the heap.
pub(super) type Boxed<A> = RcuBox<Record<A>>;

/// A tree that can be changed: of one owner, or beside readers.
pub trait Ranges<A: Value> {
    /// The configuration of the tree.
    type Config: Config;

    /// Whether another entry in place of one with the same extent never takes a node.
    const REPLACES_IN_PLACE: bool;

    /// The tree, to be looked at.
    fn view(&self) -> View<'_, VirtAddr, RcuBox<Record<A>>, Self::Config>;
    /// See [`Maple::reserve`].
    ///
    /// # Errors
    /// [`NoMemory`]; nothing has changed.
    fn reserve(&mut self, steps: usize) -> Result<(), NoMemory>;
    /// See [`Maple::lowest_gap`].
    fn lowest_gap(&self, len: u64, window: Extent<VirtAddr>) -> Option<Extent<VirtAddr>>;
    /// See [`Maple::highest_gap`].
    fn highest_gap(&self, len: u64, window: Extent<VirtAddr>) -> Option<Extent<VirtAddr>>;
    /// See [`Maple::insert`]; the place is free.
    ///
    /// # Errors
    /// The record, for lack of memory; nothing has changed.
    fn insert(
        &mut self,
        at: Extent<VirtAddr>,
        record: RcuBox<Record<A>>,
    ) -> Result<(), RcuBox<Record<A>>>;
    /// See [`Maple::resize`]; the place is free.
    ///
    /// # Errors
    /// [`NoMemory`]; nothing has changed.
    fn resize(&mut self, of: VirtAddr, to: Extent<VirtAddr>) -> Result<(), NoMemory>;
    /// See [`Maple::store`] and [`Maple::erase_range`]. `upper` makes the record of the upper part
    /// of an entry that is cut in two; `cut` is handed to `removed` before all others.
    ///
    /// # Errors
    /// The record, for lack of memory; nothing has changed.
    fn exchange(
        &mut self,
        at: Extent<VirtAddr>,
        record: Option<RcuBox<Record<A>>>,
        upper: impl FnOnce(&Record<A>) -> Option<RcuBox<Record<A>>>,
        cut: Option<Piece<A>>,
        removed: impl FnMut(Piece<A>),
    ) -> Result<(), Option<RcuBox<Record<A>>>>;
    /// Puts entries, in ascending order, into the tree, which is empty.
    ///
    /// # Errors
    /// [`NoMemory`]; perhaps none of the entries is there.
    fn load(
        &mut self,
        entries: impl Iterator<Item = (Extent<VirtAddr>, RcuBox<Record<A>>)>,
    ) -> Result<(), NoMemory> {
        for (at, record) in entries {
            self.insert(at, record).map_err(|_| NoMemory)?;
        }
        Ok(())
    }
    /// Walks every invariant.
    ///
    /// # Errors
    /// The first broken one.
    fn check(&self) -> Result<(), Broken>;
}

impl<A: Value, C: Config> Ranges<A> for Maple<VirtAddr, Boxed<A>, C> {
    type Config = C;
    const REPLACES_IN_PLACE: bool = true;

    #[inline]
    fn view(&self) -> View<'_, VirtAddr, Boxed<A>, C> {
        Self::view(self)
    }

    fn reserve(&mut self, steps: usize) -> Result<(), NoMemory> {
        Self::reserve(self, steps).map_err(|_| NoMemory)
    }

    fn lowest_gap(&self, len: u64, window: Extent<VirtAddr>) -> Option<Extent<VirtAddr>> {
        Self::lowest_gap(self, len, window)
    }

    fn highest_gap(&self, len: u64, window: Extent<VirtAddr>) -> Option<Extent<VirtAddr>> {
        Self::highest_gap(self, len, window)
    }

    #[inline]
    fn insert(&mut self, at: Extent<VirtAddr>, record: Boxed<A>) -> Result<(), Boxed<A>> {
        Self::insert(self, at, record).map_err(InsertError::into_entry)
    }

    #[inline]
    fn resize(&mut self, of: VirtAddr, to: Extent<VirtAddr>) -> Result<(), NoMemory> {
        Self::resize(self, of, to).map_err(|_| NoMemory)
    }

    #[inline]
    fn exchange(
        &mut self,
        at: Extent<VirtAddr>,
        record: Option<Boxed<A>>,
        upper: impl FnOnce(&Record<A>) -> Option<Boxed<A>>,
        cut: Option<Piece<A>>,
        removed: impl FnMut(Piece<A>),
    ) -> Result<(), Option<Boxed<A>>> {
        let taken = Self::exchange(self, at, record, upper)?;
        let taken = taken.map(|(at, record)| piece(at, record.into_inner()));
        cut.into_iter().chain(taken).for_each(removed);
        Ok(())
    }

    fn load(
        &mut self,
        entries: impl Iterator<Item = (Extent<VirtAddr>, Boxed<A>)>,
    ) -> Result<(), NoMemory> {
        *self = Self::from_sorted(entries).map_err(|_| NoMemory)?;
        Ok(())
    }

    fn check(&self) -> Result<(), Broken> {
        Check::check(self)
    }
}

/// What is handed back is a clone: readers may have the record, whose value is dropped after them.
impl<A, R, L, C> Ranges<A> for Session<'_, VirtAddr, Boxed<A>, R, L, C>
where
    A: Value,
    R: Rcu,
    L: RawLock,
    C: Config,
{
    type Config = C;
    const REPLACES_IN_PLACE: bool = false;

    #[inline]
    fn view(&self) -> View<'_, VirtAddr, Boxed<A>, C> {
        Self::view(self)
    }

    fn reserve(&mut self, steps: usize) -> Result<(), NoMemory> {
        let levels = Self::view(self).levels();
        let nodes = |steps| Reservation::new(steps, levels).map_err(|_| NoMemory);
        // What is left of others may do.
        if self.supply(&mut nodes(0)?, steps).is_ok() {
            return Ok(());
        }
        self.supply(&mut nodes(steps)?, steps).map_err(|_| NoMemory)
    }

    fn lowest_gap(&self, len: u64, window: Extent<VirtAddr>) -> Option<Extent<VirtAddr>> {
        Self::lowest_gap(self, len, window)
    }

    fn highest_gap(&self, len: u64, window: Extent<VirtAddr>) -> Option<Extent<VirtAddr>> {
        Self::highest_gap(self, len, window)
    }

    #[inline]
    fn insert(&mut self, at: Extent<VirtAddr>, record: Boxed<A>) -> Result<(), Boxed<A>> {
        Self::insert(self, at, record).map_err(InsertError::into_entry)
    }

    #[inline]
    fn resize(&mut self, of: VirtAddr, to: Extent<VirtAddr>) -> Result<(), NoMemory> {
        Self::resize(self, of, to).map_err(|_| NoMemory)
    }

    #[inline]
    fn exchange(
        &mut self,
        at: Extent<VirtAddr>,
        record: Option<Boxed<A>>,
        upper: impl FnOnce(&Record<A>) -> Option<Boxed<A>>,
        cut: Option<Piece<A>>,
        mut removed: impl FnMut(Piece<A>),
    ) -> Result<(), Option<Boxed<A>>> {
        let taken = Self::exchange(self, at, record, upper)?;
        cut.into_iter().for_each(&mut removed);
        taken.show(|at, record| removed(piece(at, Record::clone(record))));
        Ok(())
    }

    /// The tree is checked when the lock is free: see `Shared`.
    fn check(&self) -> Result<(), Broken> {
        Ok(())
    }
}
