//! The seam `index`: the ordered set of a space's areas, with a search for gaps.
//!
//! | arm | structure |
//! |---|---|
//! | [`Rbtree`] | Linux until 6.0: a red-black tree of areas, each with the largest gap below it |
//! | [`Maple`] | Linux since 6.1: a B-tree of ranges, with the largest gap below each child |

use core::error::Error;
use core::marker::PhantomData;

use crate::maple;
use crate::rbtree::{Counters, Off};
use crate::vmspace::{
    Attr, Copied, Entry, MapleIndex, NoMemory, OwnedRanges, Pages, Piece, TreeIndex, Value,
};

/// Areas in order of their pages, of which no two overlap, and the gaps between them.
///
/// The space decides; an index only carries out. A change without documented errors cannot fail,
/// because [`prepare`](Index::prepare) has been called for it. After `prepare`, no change
/// allocates.
pub trait Index<A: Value> {
    /// A broken invariant of the index.
    type Broken: Error;

    /// The number of areas.
    fn len(&self) -> usize;

    /// True if there are no areas.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The area that contains `page`.
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

    /// The last area that begins before `page`, and the first that ends at `page` or behind it.
    /// Both are the same area if it begins before `page` and contains it.
    fn beside(&self, page: u64) -> [Option<Entry<'_, A>>; 2];

    /// The areas with a page in `pages`, whole, in order.
    fn iter<'a>(&'a self, pages: Pages) -> impl Iterator<Item = Entry<'a, A>>
    where
        A: 'a;

    /// The lowest `len` free pages in `window`, or more of the same gap.
    fn lowest(&self, window: Pages, len: u64) -> Option<Pages>;

    /// The highest `len` free pages in `window`, or more of the same gap.
    fn highest(&self, window: Pages, len: u64) -> Option<Pages>;

    /// Reserves memory, so that the next `changes` changes need none.
    ///
    /// # Errors
    /// [`NoMemory`]; nothing has changed.
    fn prepare(&mut self, changes: usize) -> Result<(), NoMemory>;

    /// Frees reserved memory that is not in use. By default there is none, or it stays.
    fn trim(&mut self) {}

    /// Reserves memory for `all` changes of attributes. At most `shaping` of them cut an area or
    /// merge it with a neighbour.
    ///
    /// # Errors
    /// [`NoMemory`]; nothing has changed.
    fn prepare_changes(&mut self, all: usize, shaping: usize) -> Result<(), NoMemory> {
        self.prepare(all.max(shaping))
    }

    /// Reserves memory to remove `over` and to put an area there, or to extend neighbours over it.
    ///
    /// # Errors
    /// [`NoMemory`]; nothing has changed.
    fn prepare_over(&mut self, over: Pages) -> Result<(), NoMemory>;

    /// Makes the free pages `pages` an area.
    ///
    /// # Errors
    /// The value, if out of memory; nothing has changed.
    fn put(&mut self, pages: Pages, attr: Attr, value: A) -> Result<(), A>;

    /// Makes `pages` an area in place of all that is there. The removed areas are passed to
    /// `removed` piece by piece.
    ///
    /// # Errors
    /// The value, if out of memory; nothing has changed.
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

    /// Removes `pages` from all areas, and passes the removed pieces to `removed`.
    ///
    /// # Errors
    /// [`NoMemory`]; nothing has changed.
    fn erase(&mut self, pages: Pages, removed: impl FnMut(Piece<A>)) -> Result<(), NoMemory>;

    /// Extends the area that contains page `of` over free pages beside it, so that it covers
    /// `pages`.
    ///
    /// # Errors
    /// [`NoMemory`]; nothing has changed.
    fn grow(&mut self, of: u64, pages: Pages) -> Result<(), NoMemory>;

    /// Extends the area that contains page `of` to `pages`, which include all of its own, in place
    /// of all that is there. Values that are no longer used are passed to `freed`. The area's own
    /// value may be replaced by a clone.
    ///
    /// # Errors
    /// [`NoMemory`]; nothing has changed.
    fn extend(&mut self, of: u64, pages: Pages, freed: impl FnMut(A)) -> Result<(), NoMemory>;

    /// Changes the attributes of `pages`, which lie in one area. The rest of the area keeps its
    /// attributes, with a clone of its value.
    ///
    /// # Errors
    /// [`NoMemory`]; nothing has changed.
    fn change(&mut self, pages: Pages, attr: Attr) -> Result<(), NoMemory>;

    /// Copies the areas of `source` for which `copy` returns a value into `self`, in order. `self`
    /// must be empty.
    ///
    /// # Errors
    /// The refusal of `copy`, or `None` if out of memory. `self` has the areas before that one; if
    /// out of memory perhaps fewer.
    fn copy_from<E, S: Index<A>>(
        &mut self,
        source: &S,
        copy: impl FnMut(Entry<'_, A>) -> Result<Option<A>, E>,
    ) -> Result<(), Option<E>>;

    /// Copies all areas of `source` into `self`, in order, with the values that `copy` makes.
    /// `self` must be empty.
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

    /// A copy of its B-tree; `None` if it has none, or if its nodes differ from those of `D`.
    #[doc(hidden)]
    fn duplicate<F: maple::Entry, D: maple::Config, X>(
        &self,
        copy: impl FnMut(Entry<'_, A>) -> Result<F, X>,
    ) -> Copied<F, D, X> {
        let _ = copy;
        None
    }

    /// Removes all areas, and passes each to `removed`, in any order.
    fn clear(&mut self, removed: impl FnMut(Piece<A>));

    /// Walks every invariant.
    ///
    /// # Errors
    /// The first broken invariant.
    fn check(&self) -> Result<(), Self::Broken>;
}

/// An implementation of the seam.
pub trait Structure {
    /// The index for areas with values `A`.
    type Index<A: Value>: Index<A> + Default;
}

/// A tree of areas with the largest gap below each, on [`rbtree`](crate::rbtree), as in Linux until
/// 6.0. `K` counts its work.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rbtree<K = Off>(PhantomData<K>);

impl<K: Counters> Structure for Rbtree<K> {
    type Index<A: Value> = TreeIndex<A, K>;
}

/// A B-tree of ranges, [`maple`](crate::maple), as in Linux since 6.1. `C` sets the sizes of its
/// nodes and counts its work.
#[derive(Clone, Copy, Debug, Default)]
pub struct Maple<C = maple::Standard>(PhantomData<C>);

impl<C: maple::Config> Structure for Maple<C> {
    type Index<A: Value> = MapleIndex<A, OwnedRanges<A, C>>;
}
