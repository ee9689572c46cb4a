//! The index that Linux has since 6.1: a B-tree of ranges.
#![forbid(unsafe_code)]

use core::marker::PhantomData;

use super::ranges::{Boxed, Ranges, Record};
use super::{Attr, Entry, Index, NoMemory, Pages, Piece, Value};
use crate::addr::{Address, Extent, VirtAddr};
use crate::maple::{Broken, Config, Maple};
use crate::rcu::{RcuBox, RcuHead};

/// Areas in a B-tree, whose indices are pages.
///
/// # Cost
/// Every search, every gap and every change takes O(log n), however many areas a change takes out,
/// and O(1) for each of these. An area has a record on the heap, and a change needs two at most.
pub struct MapleIndex<A: Value, T: Ranges<A>> {
    tree: T,
    areas: PhantomData<A>,
}

/// Records that a change needs at most: one for what it stores, one for what is left above it. It
/// is one step of the tree.
pub(super) const CHANGE_RECORDS: usize = 2;

/// What a change that was prepared cannot fail for.
const PREPARED: &str = "the change was prepared";

/// What a record of an area has.
const IN_USE: &str = "a record in use has a value";

/// Pages as the tree has them.
pub(super) fn extent(pages: Pages) -> Extent<VirtAddr> {
    let [first, last] = [pages.first, pages.last].map(VirtAddr::new);
    Extent::from_last(first, last).expect("pages are in order")
}

pub(super) fn pages(extent: Extent<VirtAddr>) -> Pages {
    Pages {
        first: extent.start().raw(),
        last: extent.last().raw(),
    }
}

pub(super) fn entry<A>((at, record): (Extent<VirtAddr>, &Record<A>)) -> Entry<'_, A> {
    Entry {
        pages: pages(at),
        attr: record.attr,
        value: record.value.as_ref().expect(IN_USE),
    }
}

/// An area that was taken out whole.
pub(super) fn piece<A>(at: Extent<VirtAddr>, attr: Attr, value: Option<A>) -> Piece<A> {
    Piece {
        pages: pages(at),
        attr,
        value,
    }
}

/// A record that waits to be used.
pub(super) fn blank_record<A: Value>() -> Result<Boxed<A>, NoMemory> {
    let record = RcuBox::try_new(Record {
        attr: Attr::NONE,
        value: None,
    });
    record.map_err(|_| NoMemory)
}

impl<A: Value, C: Config> Default for MapleIndex<A, Maple<VirtAddr, Boxed<A>, C>> {
    fn default() -> Self {
        Self::over(Maple::with_config())
    }
}

impl<A: Value, C: Config> MapleIndex<A, Maple<VirtAddr, Boxed<A>, C>> {
    /// What the tree has counted.
    pub fn counters(&self) -> &C::Counters {
        self.tree.counters()
    }
}

impl<A: Value, T: Ranges<A>> MapleIndex<A, T> {
    /// Bytes of the records, in use or not.
    pub fn record_bytes(&self) -> usize {
        let records = self.len() + self.tree.spares();
        records * (size_of::<RcuHead>() + size_of::<Record<A>>())
    }

    /// An index over a tree.
    pub(super) fn over(tree: T) -> Self {
        Self {
            tree,
            areas: PhantomData,
        }
    }

    /// A record, fresh if none is kept.
    ///
    /// # Errors
    /// The value, for lack of memory.
    fn record(&mut self, attr: Attr, value: A) -> Result<Boxed<A>, A> {
        let record = Record {
            attr,
            value: Some(value),
        };
        let Some(mut kept) = self.tree.spare() else {
            return RcuBox::try_new(record).map_err(|record| record.value.expect(IN_USE));
        };
        *kept = record;
        Ok(kept)
    }

    /// The part of an area that a cut takes, if it leaves some of it.
    fn part(area: &Entry<'_, A>, cut: Pages) -> Option<Piece<A>> {
        let part = Piece {
            pages: area.pages.and(cut)?,
            attr: area.attr,
            value: None,
        };
        (part.pages != area.pages).then_some(part)
    }

    /// Puts a record, or nothing, in place of whatever is in `cut`, in one step of the tree.
    ///
    /// # Errors
    /// The record, for lack of memory; nothing has changed.
    fn exchange(
        &mut self,
        cut: Pages,
        record: Option<Boxed<A>>,
        mut removed: impl FnMut(Piece<A>),
    ) -> Result<(), Option<Boxed<A>>> {
        let first = self.at_or_after(cut.first);
        let first = first.filter(|first| first.pages.first <= cut.last);
        let reaches_over = |area: &Entry<'_, A>| cut.last <= area.pages.last;
        // What is cut at the beginning and at the end, by which it may be one area.
        let begun = first.filter(|first| first.pages.first < cut.first);
        let is_middle = begun.is_some_and(|area| cut.last < area.pages.last);
        let ended = match first {
            Some(first) if reaches_over(&first) => begun.is_none().then_some(first),
            Some(_) => self.get(cut.last),
            None => None,
        };
        let upper = begun.filter(|_| is_middle);
        let upper = upper.map(|area| (area.attr, area.value.clone()));
        let [begun, ended] = [begun, ended].map(|area| Self::part(&area?, cut));
        let upper = match upper.map(|(attr, value)| self.record(attr, value)) {
            Some(Err(_)) => return Err(record),
            Some(Ok(upper)) => Some(upper),
            None => None,
        };
        let place = extent(cut);
        self.tree
            .exchange(place, record, upper, begun, &mut removed)?;
        ended.into_iter().for_each(removed);
        Ok(())
    }

    /// Obtains records, and nodes for steps of the tree.
    fn obtain(&mut self, records: usize, steps: usize) -> Result<(), NoMemory> {
        let more = records.saturating_sub(self.tree.spares());
        for _ in 0..more {
            self.tree.keep(blank_record()?);
        }
        self.tree.prepare(steps)
    }
}

impl<A: Value, T: Ranges<A>> Index<A> for MapleIndex<A, T> {
    type Broken = Broken;

    fn len(&self) -> usize {
        self.tree.view().len()
    }

    #[inline]
    fn get(&self, page: u64) -> Option<Entry<'_, A>> {
        self.tree.view().get(VirtAddr::new(page)).map(entry)
    }

    #[inline]
    fn at_or_after(&self, page: u64) -> Option<Entry<'_, A>> {
        self.tree.view().find(VirtAddr::new(page)).map(entry)
    }

    fn before(&self, page: u64) -> Option<Entry<'_, A>> {
        let page = VirtAddr::new(page.checked_sub(1)?);
        self.tree.view().find_back(page).map(entry)
    }

    #[inline]
    fn beside(&self, page: u64) -> [Option<Entry<'_, A>>; 2] {
        let both = self.tree.view().beside(VirtAddr::new(page));
        both.map(|one| one.map(entry))
    }

    fn iter<'a>(&'a self, pages: Pages) -> impl Iterator<Item = Entry<'a, A>>
    where
        A: 'a,
    {
        self.tree.view().range(extent(pages)).map(entry)
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

    fn prepare_changes(&mut self, all: usize, shaping: usize) -> Result<(), NoMemory> {
        let records = all.checked_mul(CHANGE_RECORDS).ok_or(NoMemory)?;
        // Beside readers an entry that has been moved is not replaced where it stands.
        let steps = if T::REPLACES_IN_PLACE { shaping } else { all };
        self.obtain(records, steps)
    }

    fn prepare_over(&mut self, _over: Pages) -> Result<(), NoMemory> {
        self.prepare(2)
    }

    fn put(&mut self, pages: Pages, attr: Attr, value: A) -> Result<(), A> {
        let record = self.record(attr, value)?;
        let inserted = self.tree.insert(extent(pages), record);
        inserted.map_err(|record| record.into_inner().value.expect(IN_USE))
    }

    fn replace(
        &mut self,
        pages: Pages,
        attr: Attr,
        value: A,
        removed: impl FnMut(Piece<A>),
    ) -> Result<(), A> {
        let record = self.record(attr, value)?;
        let given_back = |record: Option<Boxed<A>>| {
            let record = record.expect("what was to be stored comes back");
            record.into_inner().value.expect(IN_USE)
        };
        self.exchange(pages, Some(record), removed)
            .map_err(given_back)
    }

    fn erase(&mut self, cut: Pages, mut removed: impl FnMut(Piece<A>)) -> Result<(), NoMemory> {
        if let Some(area) = self.tree.cut_end(extent(cut)).map(entry) {
            Self::part(&area, cut).into_iter().for_each(removed);
            return Ok(());
        }
        self.exchange(cut, None, &mut removed).map_err(|_| NoMemory)
    }

    fn grow(&mut self, of: u64, pages: Pages) -> Result<(), NoMemory> {
        self.tree.resize(VirtAddr::new(of), extent(pages))
    }

    fn extend(&mut self, of: u64, pages: Pages, mut freed: impl FnMut(A)) -> Result<(), NoMemory> {
        let area = self.get(of).expect("the page is mapped");
        let (own, attr, value) = (area.pages, area.attr, area.value.clone());
        let record = self.record(attr, value).map_err(|_| NoMemory)?;
        let freed = |piece: Piece<A>| {
            let others = piece.value.filter(|_| piece.pages != own);
            others.into_iter().for_each(&mut freed);
        };
        let extended = self.exchange(pages, Some(record), freed);
        extended.map_err(|_| NoMemory)
    }

    fn change(&mut self, pages: Pages, attr: Attr) -> Result<(), NoMemory> {
        let area = self.get(pages.first).expect("the pages are mapped");
        let value = area.value.clone();
        let record = self.record(attr, value).map_err(|_| NoMemory)?;
        self.exchange(pages, Some(record), drop)
            .map_err(|_| NoMemory)
    }

    fn copy_from<E, S: Index<A>>(
        &mut self,
        source: &S,
        mut copy: impl FnMut(Entry<'_, A>) -> Result<Option<A>, E>,
    ) -> Result<(), Option<E>> {
        let mut failure = Ok(());
        let mut copied = |area: Entry<'_, A>| {
            let Some(value) = copy(area).map_err(Some)? else {
                return Ok(None);
            };
            let record = RcuBox::try_new(Record {
                attr: area.attr,
                value: Some(value),
            });
            let record = record.map_err(|_| None)?;
            Ok(Some((extent(area.pages), record)))
        };
        let entries = source.iter(Pages::ALL).map_while(|area| {
            let entry = copied(area);
            entry.map_err(|cause| failure = Err(cause)).ok()
        });
        if self.tree.load(entries.flatten()).is_err() {
            return Err(None);
        }
        failure
    }

    fn clear(&mut self, removed: impl FnMut(Piece<A>)) {
        self.erase(Pages::ALL, removed).expect(PREPARED);
    }

    fn check(&self) -> Result<(), Broken> {
        self.tree.check()
    }
}
