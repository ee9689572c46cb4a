//! The index of Linux since 6.1: a B-tree of ranges.

use core::marker::PhantomData;

use super::ranges::{extent, pages};
use crate::addr::VirtAddr;
use crate::maple::{self, Broken, Config};
use crate::vmspace::{
    Attr, Copied, Entry, Index, NoMemory, OwnedRanges, Pages, Piece, Ranges, Value,
};

/// Areas in a B-tree, whose indices are pages.
///
/// # Cost
/// Every search, every gap and every change takes O(log n), and a change O(1) more for each area
/// that it removes. Each area has a record, and a change needs at most two. Records are in one
/// array if the tree has one owner, and on the heap beside readers.
pub struct MapleIndex<A: Value, T: Ranges<A>> {
    tree: T,
    areas: PhantomData<A>,
}

/// The largest number of records that a change needs: one for the area that it stores, and one for
/// the part above it that is left of an old one. A change is one step of the tree.
pub(crate) const CHANGE_RECORDS: usize = 2;

/// The parts of a cut at its ends, where areas reach out of it.
struct Ends<A> {
    /// The part that it removes of an area that begins before it.
    begun: Option<Piece<A>>,
    /// The part that it removes of another area that continues behind it.
    ended: Option<Piece<A>>,
    /// The record of the upper part of one area that continues at both ends.
    upper: Option<(Attr, A)>,
}

impl<A: Value> Ends<A> {
    /// The ends of a cut inside `area`. The removed part is not handed on.
    fn inside(area: Entry<'_, A>, cut: Pages) -> Self {
        let cuts = area.pages.first < cut.first && cut.last < area.pages.last;
        Self {
            begun: None,
            ended: None,
            upper: cuts.then(|| (area.attr, area.value.clone())),
        }
    }
}

impl<A: Value, C: Config> Default for MapleIndex<A, OwnedRanges<A, C>> {
    fn default() -> Self {
        Self::over(OwnedRanges::default())
    }
}

impl<A: Value, C: Config> MapleIndex<A, OwnedRanges<A, C>> {
    /// The work counters of the tree.
    pub fn counters(&self) -> &C::Counters {
        self.tree.counters()
    }
}

impl<A: Value, T: Ranges<A>> MapleIndex<A, T> {
    /// The size of the records in bytes, including unused ones.
    pub fn record_bytes(&self) -> usize {
        self.tree.record_bytes()
    }

    /// An index over a tree.
    pub(crate) fn over(tree: T) -> Self {
        Self {
            tree,
            areas: PhantomData,
        }
    }

    /// The part of an area that a cut removes, if some of the area is left.
    fn part(area: &Entry<'_, A>, cut: Pages) -> Option<Piece<A>> {
        let part = Piece {
            pages: area.pages.and(cut)?,
            attr: area.attr,
            value: None,
        };
        (part.pages != area.pages).then_some(part)
    }

    /// The parts of a cut at its ends.
    fn ends(&self, cut: Pages) -> Ends<A> {
        let ends = Self::ends_from(self.at_or_after(cut.first), cut);
        self.with_last(ends, cut)
    }

    /// The parts of a cut that belong to the first area with a page in it. The flag is true if the
    /// last one must still be looked up.
    fn ends_from(first: Option<Entry<'_, A>>, cut: Pages) -> (Ends<A>, bool) {
        let mut ends = Ends {
            begun: None,
            ended: None,
            upper: None,
        };
        let Some(first) = first.filter(|first| first.pages.first <= cut.last) else {
            return (ends, false);
        };
        // One area may continue at both ends.
        let (begins, goes_on) = (first.pages.first < cut.first, cut.last < first.pages.last);
        let part = Self::part(&first, cut);
        if begins {
            ends.begun = part;
        } else if goes_on {
            ends.ended = part;
        }
        if begins && goes_on {
            ends.upper = Some((first.attr, first.value.clone()));
        }
        (ends, first.pages.last < cut.last)
    }

    /// Adds the part of the last area to the ends of a cut.
    fn with_last(&self, (ends, is_long): (Ends<A>, bool), cut: Pages) -> Ends<A> {
        let mut ends = ends;
        if is_long {
            ends.ended = self.get(cut.last).and_then(|area| Self::part(&area, cut));
        }
        ends
    }

    /// Replaces the areas in `cut` by a record, or by nothing, in one step of the tree. `removed`
    /// is not a parameter of the type: a space passes a dozen closures, and this is long.
    ///
    /// # Errors
    /// The record, if out of memory; nothing has changed.
    fn exchange(
        &mut self,
        cut: Pages,
        ends: Ends<A>,
        record: Option<T::Record>,
        removed: &mut dyn FnMut(Piece<A>),
    ) -> Result<(), Option<T::Record>> {
        let upper = ends
            .upper
            .map(|(attr, value)| self.tree.record(attr, value));
        let upper = match upper {
            Some(Err(_)) => return Err(record),
            Some(Ok(upper)) => Some(upper),
            None => None,
        };
        let place = extent(cut);
        self.tree
            .exchange(place, record, upper, ends.begun, removed)?;
        ends.ended.into_iter().for_each(removed);
        Ok(())
    }

    /// Makes `cut` an area in place of the old ones.
    ///
    /// # Errors
    /// The value, if out of memory; nothing has changed.
    fn exchange_for(
        &mut self,
        cut: Pages,
        ends: Ends<A>,
        (attr, value): (Attr, A),
        removed: &mut dyn FnMut(Piece<A>),
    ) -> Result<(), A> {
        let record = self.tree.record(attr, value)?;
        let exchanged = self.exchange(cut, ends, Some(record), removed);
        exchanged.map_err(|record| {
            let record = record.expect("what was to be stored comes back");
            self.tree.unrecord(record)
        })
    }
}

impl<A: Value, T: Ranges<A>> Index<A> for MapleIndex<A, T> {
    type Broken = Broken;

    #[inline]
    fn len(&self) -> usize {
        self.tree.view().len()
    }

    #[inline]
    fn get(&self, page: u64) -> Option<Entry<'_, A>> {
        let found = self.tree.view().get(VirtAddr::new(page));
        found.map(|found| self.tree.area(found))
    }

    #[inline]
    fn at_or_after(&self, page: u64) -> Option<Entry<'_, A>> {
        let found = self.tree.view().find(VirtAddr::new(page));
        found.map(|found| self.tree.area(found))
    }

    #[inline]
    fn before(&self, page: u64) -> Option<Entry<'_, A>> {
        let page = VirtAddr::new(page.checked_sub(1)?);
        let found = self.tree.view().find_back(page);
        found.map(|found| self.tree.area(found))
    }

    #[inline]
    fn beside(&self, page: u64) -> [Option<Entry<'_, A>>; 2] {
        let both = self.tree.view().beside(VirtAddr::new(page));
        both.map(|found| found.map(|found| self.tree.area(found)))
    }

    fn iter<'a>(&'a self, pages: Pages) -> impl Iterator<Item = Entry<'a, A>>
    where
        A: 'a,
    {
        let found = self.tree.view().range(extent(pages));
        found.map(|found| self.tree.area(found))
    }

    fn lowest(&self, window: Pages, len: u64) -> Option<Pages> {
        self.tree.lowest_gap(len, extent(window)).map(pages)
    }

    fn highest(&self, window: Pages, len: u64) -> Option<Pages> {
        self.tree.highest_gap(len, extent(window)).map(pages)
    }

    fn prepare(&mut self, changes: usize) -> Result<(), NoMemory> {
        self.prepare_changes(changes, changes)
    }

    fn trim(&mut self) {
        self.tree.trim();
    }

    fn prepare_changes(&mut self, all: usize, shaping: usize) -> Result<(), NoMemory> {
        let records = all.checked_mul(CHANGE_RECORDS).ok_or(NoMemory)?;
        // Beside readers, an entry that has been moved cannot be replaced in place.
        let steps = if T::REPLACES_IN_PLACE { shaping } else { all };
        self.tree.prepare(records, steps)
    }

    fn prepare_over(&mut self, _over: Pages) -> Result<(), NoMemory> {
        self.prepare(2)
    }

    fn put(&mut self, pages: Pages, attr: Attr, value: A) -> Result<(), A> {
        let record = self.tree.record(attr, value)?;
        let inserted = self.tree.insert(extent(pages), record);
        inserted.map_err(|record| self.tree.unrecord(record))
    }

    fn replace(
        &mut self,
        pages: Pages,
        attr: Attr,
        value: A,
        mut removed: impl FnMut(Piece<A>),
    ) -> Result<(), A> {
        let ends = self.ends(pages);
        self.exchange_for(pages, ends, (attr, value), &mut removed)
    }

    fn erase(&mut self, cut: Pages, mut removed: impl FnMut(Piece<A>)) -> Result<(), NoMemory> {
        let ends = match self.tree.cut_end(extent(cut)) {
            Ok(area) => {
                Self::part(&area, cut).into_iter().for_each(removed);
                return Ok(());
            }
            Err(None) => self.ends(cut),
            Err(first) => {
                let ends = Self::ends_from(first, cut);
                self.with_last(ends, cut)
            }
        };
        let erased = self.exchange(cut, ends, None, &mut removed);
        erased.map_err(|_| NoMemory)
    }

    fn grow(&mut self, of: u64, pages: Pages) -> Result<(), NoMemory> {
        self.tree.resize(VirtAddr::new(of), extent(pages))
    }

    fn extend(&mut self, of: u64, pages: Pages, mut freed: impl FnMut(A)) -> Result<(), NoMemory> {
        let area = self.get(of).expect("the page is mapped");
        let (own, record) = (area.pages, (area.attr, area.value.clone()));
        let mut freed = |piece: Piece<A>| {
            let others = piece.value.filter(|_| piece.pages != own);
            others.into_iter().for_each(&mut freed);
        };
        let ends = self.ends(pages);
        let extended = self.exchange_for(pages, ends, record, &mut freed);
        extended.map_err(|_| NoMemory)
    }

    fn change(&mut self, pages: Pages, attr: Attr) -> Result<(), NoMemory> {
        let Err(area) = self.tree.revise(pages, attr) else {
            return Ok(());
        };
        let (ends, value) = (Ends::inside(area, pages), area.value.clone());
        let changed = self.exchange_for(pages, ends, (attr, value), &mut drop);
        changed.map_err(|_| NoMemory)
    }

    fn copy_from<E, S: Index<A>>(
        &mut self,
        source: &S,
        copy: impl FnMut(Entry<'_, A>) -> Result<Option<A>, E>,
    ) -> Result<(), Option<E>> {
        self.tree.copy_from(source, copy)
    }

    fn duplicate_from<E, S: Index<A>>(
        &mut self,
        source: &S,
        copy: impl FnMut(Entry<'_, A>) -> Result<A, E>,
    ) -> Result<(), Option<E>> {
        self.tree.duplicate_from(source, copy)
    }

    fn duplicate<F: maple::Entry, D: Config, X>(
        &self,
        mut copy: impl FnMut(Entry<'_, A>) -> Result<F, X>,
    ) -> Copied<F, D, X> {
        let copy = |at, found| copy(self.tree.area((at, found)));
        self.tree.view().duplicate(copy)
    }

    fn clear(&mut self, removed: impl FnMut(Piece<A>)) {
        self.tree.take_all(removed);
    }

    fn check(&self) -> Result<(), Broken> {
        self.tree.check()
    }
}
