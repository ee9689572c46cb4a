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
    /// See [`Maple::prepare`].
    ///
    /// # Errors
    /// [`NoMemory`]; nothing has changed.
    fn prepare(&mut self, steps: usize) -> Result<(), NoMemory>;
    /// A record that is in no tree, with what it last held, if there is one.
    fn spare(&mut self) -> Option<RcuBox<Record<A>>>;
    /// Keeps a record for the next area.
    fn keep(&mut self, record: RcuBox<Record<A>>);
    /// How many are kept.
    fn spares(&self) -> usize;
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
    /// See [`Maple::store`] and [`Maple::erase_range`]. `upper` is the record of the upper part of
    /// an entry that is cut in two; `cut` is handed to `removed` before all others.
    ///
    /// # Errors
    /// The record, for lack of memory; nothing has changed.
    fn exchange(
        &mut self,
        at: Extent<VirtAddr>,
        record: Option<RcuBox<Record<A>>>,
        upper: Option<RcuBox<Record<A>>>,
        cut: Option<Piece<A>>,
        removed: impl FnMut(Piece<A>),
    ) -> Result<(), Option<RcuBox<Record<A>>>>;
    /// Takes `at` out, if that is the upper end of one entry and what is free behind it, and takes
    /// no memory; returns where the entry was, and its record.
    fn cut_end(&mut self, at: Extent<VirtAddr>) -> Option<(Extent<VirtAddr>, &Record<A>)>;
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

    fn prepare(&mut self, steps: usize) -> Result<(), NoMemory> {
        Self::prepare(self, steps).map_err(|_| NoMemory)
    }

    fn spare(&mut self) -> Option<Boxed<A>> {
        Self::spare(self)
    }

    fn keep(&mut self, record: Boxed<A>) {
        Self::keep(self, record);
    }

    fn spares(&self) -> usize {
        Self::spares(self)
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
        upper: Option<Boxed<A>>,
        cut: Option<Piece<A>>,
        mut removed: impl FnMut(Piece<A>),
    ) -> Result<(), Option<Boxed<A>>> {
        let taken = Self::exchange(self, at, record, |_| upper)?;
        cut.into_iter().for_each(&mut removed);
        taken.keep_all(|at, record| removed(piece(at, record.attr, record.value.take())));
        Ok(())
    }

    fn load(
        &mut self,
        entries: impl Iterator<Item = (Extent<VirtAddr>, Boxed<A>)>,
    ) -> Result<(), NoMemory> {
        *self = Self::from_sorted(entries).map_err(|_| NoMemory)?;
        Ok(())
    }

    #[inline]
    fn cut_end(&mut self, at: Extent<VirtAddr>) -> Option<(Extent<VirtAddr>, &Record<A>)> {
        Self::cut_end(self, at)
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

    fn prepare(&mut self, steps: usize) -> Result<(), NoMemory> {
        let levels = Self::view(self).levels();
        let nodes = |steps| Reservation::new(steps, levels).map_err(|_| NoMemory);
        // What is left of others may do.
        if self.supply(&mut nodes(0)?, steps).is_ok() {
            return Ok(());
        }
        self.supply(&mut nodes(steps)?, steps).map_err(|_| NoMemory)
    }

    fn spare(&mut self) -> Option<Boxed<A>> {
        Self::spare(self)
    }

    fn keep(&mut self, record: Boxed<A>) {
        Self::keep(self, record);
    }

    fn spares(&self) -> usize {
        Self::spares(self)
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
        upper: Option<Boxed<A>>,
        cut: Option<Piece<A>>,
        mut removed: impl FnMut(Piece<A>),
    ) -> Result<(), Option<Boxed<A>>> {
        let taken = Self::exchange(self, at, record, |_| upper)?;
        cut.into_iter().for_each(&mut removed);
        taken.show(|at, record| removed(piece(at, record.attr, record.value.clone())));
        Ok(())
    }

    #[inline]
    fn cut_end(&mut self, at: Extent<VirtAddr>) -> Option<(Extent<VirtAddr>, &Record<A>)> {
        Self::cut_end(self, at)
    }

    /// The tree is checked when the lock is free: see `Shared`.
    fn check(&self) -> Result<(), Broken> {
        Ok(())
    }
}
