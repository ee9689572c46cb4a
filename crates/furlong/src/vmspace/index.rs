//! The seam `index`: what keeps the areas of a space in order and finds gaps between them.
//!
//! | arm | what it stands for |
//! |---|---|
//! | [`Rbtree`] | Linux until 6.0: a red-black tree of areas, each with the largest gap below it |
//! | [`Maple`] | Linux since 6.1: a B-tree of ranges, with the largest gap below each child |
#![forbid(unsafe_code)]

use core::error::Error;
use core::marker::PhantomData;

use super::maple_index::MapleIndex;
use super::ranges::Copied;
use super::ranges_owned::OwnedRanges;
use super::tree::TreeIndex;
use super::{Attr, Entry, NoMemory, Pages, Piece, Value};
use crate::maple;
use crate::rbtree::{Counters, Off};

/// Areas in order of their pages, of which no two overlap, and the gaps between them.
///
/// The space decides; an index only carries out. Where nothing is said of errors a change cannot
/// fail, for [`prepare`](Index::prepare) has been called for it; and where it has, no change
/// allocates.
pub trait Index<A: Value> {
    /// What is broken in it.
    type Broken: Error;

    /// How many areas there are.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The area that has `page`.
    fn get(&self, page: u64) -> Option<Entry<'_, A>> {
        let area = self.at_or_after(page);
        area.filter(|area| area.pages.first <= page)
    }

    /// The first area that ends at `page` or behind it.
    fn at_or_after(&self, page: u64) -> Option<Entry<'_, A>>;

    /// The last area that begins before `page`.
    fn before(&self, page: u64) -> Option<Entry<'_, A>> {
        self.beside(page)[0]
    }

    /// The last area that begins before `page`, and the first that ends at `page` or behind it: one
    /// and the same if it begins before `page` and has it.
    fn beside(&self, page: u64) -> [Option<Entry<'_, A>>; 2];

    /// The areas of which a page is in `pages`, whole, in order.
    fn iter<'a>(&'a self, pages: Pages) -> impl Iterator<Item = Entry<'a, A>>
    where
        A: 'a;

    /// The lowest `len` pages in `window` that are in no area, or more of the same gap.
    fn lowest(&self, window: Pages, len: u64) -> Option<Pages>;

    /// The highest ones.
    fn highest(&self, window: Pages, len: u64) -> Option<Pages>;

    /// Makes sure that the next `changes` changes need no memory.
    ///
    /// # Errors
    /// [`NoMemory`]; nothing has changed.
    fn prepare(&mut self, changes: usize) -> Result<(), NoMemory>;

    /// Makes sure that `all` changes of attributes need no memory, of which no more than `shaping`
    /// cut an area or make it one with a neighbour.
    ///
    /// # Errors
    /// [`NoMemory`]; nothing has changed.
    fn prepare_changes(&mut self, all: usize, shaping: usize) -> Result<(), NoMemory> {
        self.prepare(all.max(shaping))
    }

    /// Makes sure that taking `over` out, and putting an area there or letting neighbours have it,
    /// needs no memory.
    ///
    /// # Errors
    /// [`NoMemory`]; nothing has changed.
    fn prepare_over(&mut self, over: Pages) -> Result<(), NoMemory>;

    /// Makes `pages`, which are free, an area.
    ///
    /// # Errors
    /// The value, for lack of memory; nothing has changed.
    fn put(&mut self, pages: Pages, attr: Attr, value: A) -> Result<(), A>;

    /// Makes `pages` an area in place of all that is there, which is handed to `removed` piece by
    /// piece.
    ///
    /// # Errors
    /// The value, for lack of memory; nothing has changed.
    fn replace(
        &mut self,
        pages: Pages,
        attr: Attr,
        value: A,
        removed: impl FnMut(Piece<A>),
    ) -> Result<(), A> {
        let room = self.prepare_over(pages);
        if room.and_then(|()| self.erase(pages, removed)).is_err() {
            return Err(value);
        }
        self.put(pages, attr, value)
    }

    /// Takes `pages` out of all areas, and hands what was there to `removed` piece by piece.
    ///
    /// # Errors
    /// [`NoMemory`]; nothing has changed.
    fn erase(&mut self, pages: Pages, removed: impl FnMut(Piece<A>)) -> Result<(), NoMemory>;

    /// Lets the area that has page `of` have free pages beside it too: `pages` are all of it then.
    ///
    /// # Errors
    /// [`NoMemory`]; nothing has changed.
    fn grow(&mut self, of: u64, pages: Pages) -> Result<(), NoMemory>;

    /// Makes the area that has page `of` one of `pages`, which has all of its own, in place of all
    /// that is there; values that nothing is left of are handed to `freed`. Its own is then a clone
    /// perhaps.
    ///
    /// # Errors
    /// [`NoMemory`]; nothing has changed.
    fn extend(&mut self, of: u64, pages: Pages, freed: impl FnMut(A)) -> Result<(), NoMemory>;

    /// Gives `pages`, which are of one area, other attributes. What is left of the area stays as it
    /// was, with a clone of its value.
    ///
    /// # Errors
    /// [`NoMemory`]; nothing has changed.
    fn change(&mut self, pages: Pages, attr: Attr) -> Result<(), NoMemory>;

    /// Copies into `self`, which is empty, the areas of `source` for which `copy` gives a value, in
    /// order.
    ///
    /// # Errors
    /// What `copy` refused, or `None` for lack of memory; `self` has areas before that one.
    fn copy_from<E, S: Index<A>>(
        &mut self,
        source: &S,
        copy: impl FnMut(Entry<'_, A>) -> Result<Option<A>, E>,
    ) -> Result<(), Option<E>>;

    /// Copies into `self`, which is empty, all areas of `source`, with the values that `copy`
    /// makes, in order.
    ///
    /// # Errors
    /// As [`copy_from`](Self::copy_from).
    fn duplicate_from<E, S: Index<A>>(
        &mut self,
        source: &S,
        mut copy: impl FnMut(Entry<'_, A>) -> Result<A, E>,
    ) -> Result<(), Option<E>> {
        self.copy_from(source, |area| copy(area).map(Some))
    }

    /// A copy of the B-tree that it is, if it is one and its nodes are those of `D`.
    #[doc(hidden)]
    fn duplicate<F: maple::Entry, D: maple::Config, X>(
        &self,
        copy: impl FnMut(Entry<'_, A>) -> Result<F, X>,
    ) -> Copied<F, D, X> {
        let _ = copy;
        None
    }

    /// Takes all areas out, and hands each to `removed`, in any order.
    fn clear(&mut self, removed: impl FnMut(Piece<A>));

    /// Walks every invariant.
    ///
    /// # Errors
    /// The first broken one.
    fn check(&self) -> Result<(), Self::Broken>;
}

/// An arm of the seam.
pub trait Structure {
    /// The index for areas with values `A`.
    type Index<A: Value>: Index<A> + Default;
}

/// A tree of areas with the largest gap below each, on [`rbtree`](crate::rbtree): what Linux had
/// until 6.0. `K` counts its work.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rbtree<K = Off>(PhantomData<K>);

impl<K: Counters> Structure for Rbtree<K> {
    type Index<A: Value> = TreeIndex<A, K>;
}

/// A B-tree of ranges, [`maple`](crate::maple): what Linux has since 6.1. `C` has the sizes of its
/// nodes and counts its work.
#[derive(Clone, Copy, Debug, Default)]
pub struct Maple<C = maple::Standard>(PhantomData<C>);

impl<C: maple::Config> Structure for Maple<C> {
    type Index<A: Value> = MapleIndex<A, OwnedRanges<A, C>>;
}
