//! The tree of ranges that areas are in: of one owner, or beside readers.
#![forbid(unsafe_code)]

use super::{Attr, Entry, Index, NoMemory, Pages, Piece, Value};
use crate::addr::{Address, Extent, VirtAddr};
use crate::maple::{self, Broken, DuplicateError, Maple};

/// What is known of an area beside its pages. Where there are readers it never changes.
#[derive(Clone, Debug)]
pub struct Record<A> {
    pub(super) attr: Attr,
    /// None in a record that waits to be used.
    pub(super) value: Option<A>,
}

/// What a record in use has.
const IN_USE: &str = "a record in use has a value";

/// Pages as the tree has them.
#[inline(always)]
pub(super) fn extent(pages: Pages) -> Extent<VirtAddr> {
    let [first, last] = [pages.first, pages.last].map(VirtAddr::new);
    Extent::from_last(first, last).expect("pages are in order")
}

#[inline(always)]
pub(super) fn pages(extent: Extent<VirtAddr>) -> Pages {
    Pages {
        first: extent.start().raw(),
        last: extent.last().raw(),
    }
}

#[inline(always)]
pub(super) fn entry<A>((at, record): (Extent<VirtAddr>, &Record<A>)) -> Entry<'_, A> {
    Entry {
        pages: pages(at),
        attr: record.attr,
        value: record.value.as_ref().expect(IN_USE),
    }
}

/// A copy of a tree, whose entries are `F`; none where its nodes are of another geometry.
pub type Copied<F, D, X> = Option<Result<Maple<VirtAddr, F, D>, DuplicateError<X>>>;

/// A tree that can be changed, and the records of its areas.
pub trait Ranges<A: Value> {
    /// A record that is in no tree.
    type Record;

    /// Whether another entry in place of one with the same extent never takes a node.
    const REPLACES_IN_PLACE: bool;

    /// The number of areas.
    fn len(&self) -> usize;

    /// Whether there are no areas.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The area that has `page`.
    fn get(&self, page: u64) -> Option<Entry<'_, A>>;

    /// The first area that has `page` or lies behind it.
    fn find(&self, page: u64) -> Option<Entry<'_, A>>;

    /// The last area that has `page` or lies before it.
    fn find_back(&self, page: u64) -> Option<Entry<'_, A>>;

    /// See [`View::beside`](maple::View::beside).
    fn beside(&self, page: u64) -> [Option<Entry<'_, A>>; 2];

    /// The areas that have one of `pages`, in order.
    fn range<'a>(&'a self, pages: Pages) -> impl Iterator<Item = Entry<'a, A>>
    where
        A: 'a;

    /// A copy of the tree, node by node.
    fn duplicate<F: maple::Entry, D: maple::Config, X>(
        &self,
        copy: impl FnMut(Entry<'_, A>) -> Result<F, X>,
    ) -> Copied<F, D, X>;

    /// Makes sure that so many records and so many changes of the tree need no memory.
    ///
    /// # Errors
    /// [`NoMemory`]; nothing has changed.
    fn prepare(&mut self, records: usize, steps: usize) -> Result<(), NoMemory>;

    /// A record in no tree.
    ///
    /// # Errors
    /// The value, for lack of memory.
    fn record(&mut self, attr: Attr, value: A) -> Result<Self::Record, A>;

    /// The value of a record that is in no tree.
    fn unrecord(&mut self, record: Self::Record) -> A;

    /// Bytes of the records, in use or not.
    fn record_bytes(&self) -> usize;

    /// See [`Maple::lowest_gap`].
    fn lowest_gap(&self, len: u64, window: Extent<VirtAddr>) -> Option<Extent<VirtAddr>>;

    /// See [`Maple::highest_gap`].
    fn highest_gap(&self, len: u64, window: Extent<VirtAddr>) -> Option<Extent<VirtAddr>>;

    /// See [`Maple::insert`]; the place is free.
    ///
    /// # Errors
    /// The record, for lack of memory; nothing has changed.
    fn insert(&mut self, at: Extent<VirtAddr>, record: Self::Record) -> Result<(), Self::Record>;

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
        record: Option<Self::Record>,
        upper: Option<Self::Record>,
        cut: Option<Piece<A>>,
        removed: impl FnMut(Piece<A>),
    ) -> Result<(), Option<Self::Record>>;

    /// Takes all areas out, without memory.
    fn take_all(&mut self, removed: impl FnMut(Piece<A>));

    /// Takes `at` out, if that is the upper end of one entry and what is free behind it, and takes
    /// no memory; returns the area as it was.
    ///
    /// # Errors
    /// The first area there or behind, if it was found on the way. Nothing has changed.
    fn cut_end(&mut self, at: Extent<VirtAddr>) -> Result<Entry<'_, A>, Option<Entry<'_, A>>>;

    /// Gives the area of `pages`, all of it, other attributes where its record stands.
    ///
    /// # Errors
    /// The area that has the first of `pages`, where these are not all of it, or readers may have
    /// its record; nothing has changed.
    fn revise(&mut self, pages: Pages, attr: Attr) -> Result<(), Entry<'_, A>>;

    /// See [`Index::copy_from`].
    ///
    /// # Errors
    /// As there.
    fn copy_from<E, S: Index<A>>(
        &mut self,
        source: &S,
        copy: impl FnMut(Entry<'_, A>) -> Result<Option<A>, E>,
    ) -> Result<(), Option<E>>;

    /// See [`Index::duplicate_from`].
    ///
    /// # Errors
    /// As there.
    fn duplicate_from<E, S: Index<A>>(
        &mut self,
        source: &S,
        copy: impl FnMut(Entry<'_, A>) -> Result<A, E>,
    ) -> Result<(), Option<E>>;

    /// Walks every invariant.
    ///
    /// # Errors
    /// The first broken one.
    fn check(&self) -> Result<(), Broken>;
}
