//! The index that Linux has since 6.1: a B-tree of ranges.
#![forbid(unsafe_code)]

use alloc::vec::Vec;

use super::{Attr, Entry, Index, NoMemory, Pages, Piece, Value};
use crate::addr::{Address, Extent, VirtAddr};
use crate::check::Check;
use crate::maple::{Broken, Config, Maple, Standard};
use crate::rcu::RcuBox;

/// What an entry of the tree holds.
#[derive(Clone, Debug)]
struct Record<A> {
    attr: Attr,
    /// None in a record that waits to be used.
    value: Option<A>,
}

type Boxed<A> = RcuBox<Record<A>>;

/// Areas in a B-tree, whose indices are pages.
///
/// # Cost
/// Every search, every gap and every change takes O(log n), however many areas a change takes out,
/// and O(1) for each of these. An area has a record on the heap, and a change needs two at most.
pub struct MapleIndex<A: Value, C: Config = Standard> {
    tree: Maple<VirtAddr, Boxed<A>, C>,
    /// Records for the next changes.
    spare: Vec<Boxed<A>>,
    len: usize,
}

/// Records that a change needs at most: one for what it stores, one for what is left above it.
const CHANGE_RECORDS: usize = 2;

const ALL: Pages = Pages {
    first: 0,
    last: u64::MAX,
};

/// Pages as the tree has them.
fn extent(pages: Pages) -> Extent<VirtAddr> {
    let [first, last] = [pages.first, pages.last].map(VirtAddr::new);
    Extent::from_last(first, last).expect("pages are in order")
}

fn pages(extent: Extent<VirtAddr>) -> Pages {
    Pages {
        first: extent.start().raw(),
        last: extent.last().raw(),
    }
}

fn entry<A>((at, record): (Extent<VirtAddr>, &Record<A>)) -> Entry<'_, A> {
    Entry {
        pages: pages(at),
        attr: record.attr,
        value: record.value.as_ref().expect("a record in use has a value"),
    }
}

/// An area that was taken out whole.
fn whole<A>((at, record): (Extent<VirtAddr>, Boxed<A>)) -> Piece<A> {
    let Record { attr, value } = record.into_inner();
    Piece {
        pages: pages(at),
        attr,
        value,
    }
}

impl<A: Value, C: Config> Default for MapleIndex<A, C> {
    fn default() -> Self {
        Self {
            tree: Maple::with_config(),
            spare: Vec::new(),
            len: 0,
        }
    }
}

impl<A: Value, C: Config> MapleIndex<A, C> {
    /// What the tree has counted.
    pub fn counters(&self) -> &C::Counters {
        self.tree.counters()
    }

    fn get(&self, page: u64) -> Option<Entry<'_, A>> {
        self.tree.view().get(VirtAddr::new(page)).map(entry)
    }

    /// A record that is there for a change.
    fn record(&mut self, attr: Attr, value: A) -> Boxed<A> {
        let spare = self.spare.pop();
        let mut record = spare.expect("the change was prepared");
        *record = Record {
            attr,
            value: Some(value),
        };
        record
    }

    /// What a cut of `cut` leaves of areas that reach out of it: the parts that it takes, at its
    /// beginning and at its end. Where it leaves both ends of one area, the upper one becomes an
    /// area of its own here.
    fn cut_ends(&mut self, cut: Pages) -> [Option<Piece<A>>; 2] {
        let part = |area: &Entry<'_, A>| Piece {
            pages: area.pages.and(cut).expect("it has a page of them"),
            attr: area.attr,
            value: None,
        };
        let first = self
            .get(cut.first)
            .filter(|area| area.pages.first < cut.first);
        let last = self.get(cut.last).filter(|area| cut.last < area.pages.last);
        let is_middle = first.is_some_and(|area| cut.last < area.pages.last);
        let ends = [first, last.filter(|_| !is_middle)].map(|area| area.as_ref().map(part));
        if let Some(Entry { pages, attr, value }) = first.filter(|_| is_middle) {
            let (value, end) = (value.clone(), cut.last + 1);
            let lower = Pages {
                last: cut.first - 1,
                ..pages
            };
            let upper = Pages {
                first: end,
                ..pages
            };
            self.resize(pages.first, lower);
            self.insert(upper, attr, value);
        }
        ends
    }

    fn resize(&mut self, of: u64, to: Pages) {
        let resized = self.tree.resize(VirtAddr::new(of), extent(to));
        resized.expect("the change was prepared");
    }

    fn insert(&mut self, pages: Pages, attr: Attr, value: A) {
        let record = self.record(attr, value);
        let inserted = self.tree.insert(extent(pages), record);
        inserted
            .ok()
            .expect("the change was prepared, and the place is free");
        self.len += 1;
    }
}

impl<A: Value, C: Config> Index<A> for MapleIndex<A, C> {
    type Broken = Broken;

    fn len(&self) -> usize {
        self.len
    }

    #[inline]
    fn at_or_after(&self, page: u64) -> Option<Entry<'_, A>> {
        self.tree.find(VirtAddr::new(page)).map(entry)
    }

    fn before(&self, page: u64) -> Option<Entry<'_, A>> {
        let page = VirtAddr::new(page.checked_sub(1)?);
        self.tree.find_back(page).map(entry)
    }

    fn iter<'a>(&'a self, pages: Pages) -> impl Iterator<Item = Entry<'a, A>>
    where
        A: 'a,
    {
        self.tree.range(extent(pages)).map(entry)
    }

    fn lowest(&self, window: Pages, len: u64) -> Option<Pages> {
        self.tree.lowest_gap(len, extent(window)).map(pages)
    }

    fn highest(&self, window: Pages, len: u64) -> Option<Pages> {
        self.tree.highest_gap(len, extent(window)).map(pages)
    }

    fn prepare(&mut self, changes: usize) -> Result<(), NoMemory> {
        let records = changes.checked_mul(CHANGE_RECORDS).ok_or(NoMemory)?;
        let more = records.saturating_sub(self.spare.len());
        self.spare.try_reserve(more).map_err(|_| NoMemory)?;
        for _ in 0..more {
            let record = RcuBox::try_new(Record {
                attr: Attr::NONE,
                value: None,
            });
            self.spare.push(record.map_err(|_| NoMemory)?);
        }
        Ok(())
    }

    fn store(&mut self, pages: Pages, attr: Attr, value: A, mut removed: impl FnMut(Piece<A>)) {
        let [first, last] = self.cut_ends(pages);
        first.into_iter().for_each(&mut removed);
        let record = self.record(attr, value);
        let displaced = self.tree.store(extent(pages), record);
        let displaced = displaced.ok().expect("the change was prepared");
        self.len += 1;
        for taken in displaced {
            self.len -= 1;
            removed(whole(taken));
        }
        last.into_iter().for_each(removed);
    }

    fn erase(&mut self, cut: Pages, mut removed: impl FnMut(Piece<A>)) {
        let [first, last] = self.cut_ends(cut);
        first.into_iter().for_each(&mut removed);
        let displaced = self.tree.erase_range(extent(cut));
        for taken in displaced.expect("the change was prepared") {
            self.len -= 1;
            removed(whole(taken));
        }
        last.into_iter().for_each(removed);
    }

    fn extend(&mut self, of: u64, pages: Pages, mut freed: impl FnMut(A)) {
        let own = self.get(of).expect("the page is mapped").pages;
        let below = own.first.checked_sub(1).map(|last| Pages { last, ..pages });
        let above = own
            .last
            .checked_add(1)
            .map(|first| Pages { first, ..pages });
        for beside in [below, above].into_iter().flatten() {
            if beside.first <= beside.last {
                self.erase(beside, |piece| piece.value.into_iter().for_each(&mut freed));
            }
        }
        self.resize(of, pages);
    }

    fn change(&mut self, pages: Pages, attr: Attr) {
        let area = self.get(pages.first).expect("the pages are mapped");
        let value = area.value.clone();
        self.store(pages, attr, value, drop);
    }

    fn copy_from<E>(
        &mut self,
        source: &Self,
        mut copy: impl FnMut(Entry<'_, A>) -> Result<Option<A>, E>,
    ) -> Result<(), Option<E>> {
        for area in source.iter(ALL) {
            if let Some(value) = copy(area).map_err(Some)? {
                self.prepare(1).map_err(|_| None)?;
                self.insert(area.pages, area.attr, value);
            }
        }
        Ok(())
    }

    fn clear(&mut self, removed: impl FnMut(Piece<A>)) {
        self.erase(ALL, removed);
    }

    fn check(&self) -> Result<(), Broken> {
        self.tree.check()
    }
}
