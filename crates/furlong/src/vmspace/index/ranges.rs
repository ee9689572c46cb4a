//! The interface to the tree of ranges that holds the areas: with one owner, or beside readers.

use crate::addr::{Address, Extent, VirtAddr};
use crate::maple::{self, Broken, DuplicateError, Maple, View};
use crate::vmspace::{Attr, Entry, Index, NoMemory, Pages, Piece, Value};

/// The attributes and the value of an area. Beside readers it never changes.
#[derive(Clone, Debug)]
pub struct Record<A> {
    pub(crate) attr: Attr,
    /// None in an unused record.
    pub(crate) value: Option<A>,
}

/// The message if a record in use has no value.
pub(super) const IN_USE: &str = "a record in use has a value";

/// Converts pages to an extent of the tree.
#[inline(always)]
pub(crate) fn extent(pages: Pages) -> Extent<VirtAddr> {
    let [first, last] = [pages.first, pages.last].map(VirtAddr::new);
    Extent::from_last(first, last).expect("pages are in order")
}

#[inline(always)]
pub(crate) fn pages(extent: Extent<VirtAddr>) -> Pages {
    Pages {
        first: extent.start().raw(),
        last: extent.last().raw(),
    }
}

#[inline(always)]
pub(crate) fn entry<A>((at, record): (Extent<VirtAddr>, &Record<A>)) -> Entry<'_, A> {
    Entry {
        pages: pages(at),
        attr: record.attr,
        value: record.value.as_ref().expect(IN_USE),
    }
}

/// A copy of a tree with entries `F`; `None` if its nodes have another geometry.
pub type Copied<F, D, X> = Option<Result<Maple<VirtAddr, F, D>, DuplicateError<X>>>;

/// An entry of the tree that was found, and its extent.
pub(super) type Found<'a, E> = (Extent<VirtAddr>, <E as maple::Entry>::Ref<'a>);

/// A tree that can be changed, with the records of its areas.
pub trait Ranges<A: Value> {
    /// A record outside of the tree.
    type Record;

    /// An entry of the tree.
    type Entry: maple::Entry;

    /// The configuration of the tree.
    type Tree: maple::Config;

    /// True if replacing an entry by another one with the same extent never takes a node.
    const REPLACES_IN_PLACE: bool;

    /// The tree, to read it.
    fn view(&self) -> View<'_, VirtAddr, Self::Entry, Self::Tree>;

    /// The area of an entry of the tree.
    fn area<'a>(&'a self, found: Found<'a, Self::Entry>) -> Entry<'a, A>;

    /// Reserves memory for `records` records and `steps` changes of the tree.
    ///
    /// # Errors
    /// [`NoMemory`]; nothing has changed.
    fn prepare(&mut self, records: usize, steps: usize) -> Result<(), NoMemory>;

    /// Frees reserved memory that is not in use.
    fn trim(&mut self);

    /// Makes a record outside of the tree.
    ///
    /// # Errors
    /// The value, if out of memory.
    fn record(&mut self, attr: Attr, value: A) -> Result<Self::Record, A>;

    /// Frees a record outside of the tree, and returns its value.
    fn unrecord(&mut self, record: Self::Record) -> A;

    /// The size of the records in bytes, including unused ones.
    fn record_bytes(&self) -> usize;

    /// See [`Maple::lowest_gap`].
    fn lowest_gap(&self, len: u64, window: Extent<VirtAddr>) -> Option<Extent<VirtAddr>>;

    /// See [`Maple::highest_gap`].
    fn highest_gap(&self, len: u64, window: Extent<VirtAddr>) -> Option<Extent<VirtAddr>>;

    /// See [`Maple::insert`]; the place is free.
    ///
    /// # Errors
    /// The record, if out of memory; nothing has changed.
    fn insert(&mut self, at: Extent<VirtAddr>, record: Self::Record) -> Result<(), Self::Record>;

    /// See [`Maple::resize`]; the place is free.
    ///
    /// # Errors
    /// [`NoMemory`]; nothing has changed.
    fn resize(&mut self, of: VirtAddr, to: Extent<VirtAddr>) -> Result<(), NoMemory>;

    /// See [`Maple::store`] and [`Maple::erase_range`]. `upper` is the record of the upper part of
    /// an entry that is cut in two. `cut` is passed to `removed` before all others.
    ///
    /// # Errors
    /// The record, if out of memory; nothing has changed.
    fn exchange(
        &mut self,
        at: Extent<VirtAddr>,
        record: Option<Self::Record>,
        upper: Option<Self::Record>,
        cut: Option<Piece<A>>,
        removed: &mut dyn FnMut(Piece<A>),
    ) -> Result<(), Option<Self::Record>>;

    /// Removes all areas. It needs no memory.
    fn take_all(&mut self, removed: impl FnMut(Piece<A>));

    /// Removes `at`, if it is the upper end of one entry and free pages behind it, and if this
    /// takes no memory. Returns the area as it was.
    ///
    /// # Errors
    /// The first area in `at` or behind it, if it was found on the way. Nothing has changed.
    fn cut_end(&mut self, at: Extent<VirtAddr>) -> Result<Entry<'_, A>, Option<Entry<'_, A>>>;

    /// Changes the attributes of the area that covers exactly `pages`, in its record.
    ///
    /// # Errors
    /// The area that contains the first of `pages`, if it covers other pages or readers may use its
    /// record; nothing has changed.
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
    /// The first broken invariant.
    fn check(&self) -> Result<(), Broken>;
}
