//! The index that Linux has since 6.1: a B-tree of ranges.
#![forbid(unsafe_code)]

use alloc::vec::Vec;

use super::{Attr, Entry, Index, NoMemory, Pages, Piece, Value};
use crate::addr::{Address, Extent, VirtAddr};
use crate::check::Check;
use crate::maple::{Broken, Config, Maple, Reservation, Session, View};
use crate::rcu::{Rcu, RcuBox, RcuHead};
use crate::sync::RawLock;

/// What an entry of the tree holds. It never changes: readers may have it.
#[derive(Clone, Debug)]
pub struct Record<A> {
    pub(super) attr: Attr,
    /// None in a record that waits to be used.
    value: Option<A>,
}

/// A record on the heap.
pub(super) type Boxed<A> = RcuBox<Record<A>>;

/// A tree that can be changed: of one owner, or beside readers.
pub trait Ranges<A: Value> {
    /// The configuration of the tree.
    type Config: Config;

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
    fn insert(&mut self, at: Extent<VirtAddr>, record: RcuBox<Record<A>>);
    /// See [`Maple::resize`]; the place is free.
    fn resize(&mut self, of: VirtAddr, to: Extent<VirtAddr>);
    /// See [`Maple::store`]; no entry is cut in two.
    fn store(
        &mut self,
        at: Extent<VirtAddr>,
        record: RcuBox<Record<A>>,
        displaced: impl FnMut(Piece<A>),
    );
    /// See [`Maple::erase_range`]; no entry is cut in two.
    fn erase(&mut self, at: Extent<VirtAddr>, displaced: impl FnMut(Piece<A>));
    /// Puts entries, in ascending order, into the tree, which is empty.
    ///
    /// # Errors
    /// [`NoMemory`]; perhaps none of the entries is there.
    fn load(
        &mut self,
        entries: impl Iterator<Item = (Extent<VirtAddr>, RcuBox<Record<A>>)>,
    ) -> Result<(), NoMemory> {
        for (at, record) in entries {
            self.reserve(1)?;
            self.insert(at, record);
        }
        Ok(())
    }
    /// Walks every invariant.
    ///
    /// # Errors
    /// The first broken one.
    fn check(&self) -> Result<(), Broken>;
}

/// What changes cannot fail for: they were prepared.
const PREPARED: &str = "the change was prepared, and no entry is in its way";

impl<A: Value, C: Config> Ranges<A> for Maple<VirtAddr, Boxed<A>, C> {
    type Config = C;

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

    fn insert(&mut self, at: Extent<VirtAddr>, record: Boxed<A>) {
        Self::insert(self, at, record).ok().expect(PREPARED);
    }

    fn resize(&mut self, of: VirtAddr, to: Extent<VirtAddr>) {
        Self::resize(self, of, to).expect(PREPARED);
    }

    fn store(&mut self, at: Extent<VirtAddr>, record: Boxed<A>, displaced: impl FnMut(Piece<A>)) {
        let taken = Self::store(self, at, record).ok().expect(PREPARED);
        taken
            .map(|(at, record)| piece(at, record.into_inner()))
            .for_each(displaced);
    }

    fn erase(&mut self, at: Extent<VirtAddr>, displaced: impl FnMut(Piece<A>)) {
        let taken = self.erase_range(at).expect(PREPARED);
        taken
            .map(|(at, record)| piece(at, record.into_inner()))
            .for_each(displaced);
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

    fn insert(&mut self, at: Extent<VirtAddr>, record: Boxed<A>) {
        Self::insert(self, at, record).ok().expect(PREPARED);
    }

    fn resize(&mut self, of: VirtAddr, to: Extent<VirtAddr>) {
        Self::resize(self, of, to).expect(PREPARED);
    }

    fn store(&mut self, at: Extent<VirtAddr>, record: Boxed<A>, displaced: impl FnMut(Piece<A>)) {
        let taken = Self::store(self, at, record).ok().expect(PREPARED);
        taken
            .map(|(at, record)| piece(at, Record::clone(&record)))
            .for_each(displaced);
    }

    fn erase(&mut self, at: Extent<VirtAddr>, displaced: impl FnMut(Piece<A>)) {
        let taken = self.erase_range(at).expect(PREPARED);
        taken
            .map(|(at, record)| piece(at, Record::clone(&record)))
            .for_each(displaced);
    }

    /// The tree is checked when the lock is free: see `Shared`.
    fn check(&self) -> Result<(), Broken> {
        Ok(())
    }
}

/// Areas in a B-tree, whose indices are pages.
///
/// # Cost
/// Every search, every gap and every change takes O(log n), however many areas a change takes out,
/// and O(1) for each of these. An area has a record on the heap, and a change needs two at most.
pub struct MapleIndex<A: Value, T: Ranges<A>> {
    tree: T,
    /// Records for the next changes.
    spare: Vec<Boxed<A>>,
    len: usize,
}

/// Records that a change needs at most: one for what it stores, one for what is left above it.
const CHANGE_RECORDS: usize = 2;

/// Steps of the tree that make up a change at most: it ends an area below, puts back what is left
/// above and stores; or it erases on both sides and lets an area grow.
const CHANGE_STEPS: usize = 3;

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
        value: record.value.as_ref().expect("a record in use has a value"),
    }
}

/// An area that was taken out whole.
fn piece<A>(at: Extent<VirtAddr>, record: Record<A>) -> Piece<A> {
    let Record { attr, value } = record;
    Piece {
        pages: pages(at),
        attr,
        value,
    }
}

impl<A: Value, C: Config> Default for MapleIndex<A, Maple<VirtAddr, Boxed<A>, C>> {
    fn default() -> Self {
        Self {
            tree: Maple::with_config(),
            spare: Vec::new(),
            len: 0,
        }
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
        let records = self.len + self.spare.len();
        records * (size_of::<RcuHead>() + size_of::<Record<A>>())
    }

    /// An index over a tree with `len` areas, with records for changes to come.
    pub(super) fn over(tree: T, (spare, len): (Vec<Boxed<A>>, usize)) -> Self {
        Self { tree, spare, len }
    }

    /// The records, and how many areas there are.
    pub(super) fn take(&mut self) -> (Vec<Boxed<A>>, usize) {
        (core::mem::take(&mut self.spare), self.len)
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

    /// Records and steps that taking `cut` out needs.
    fn to_erase(&self, cut: Pages) -> (usize, usize) {
        let area = self.get(cut.first);
        let is_middle =
            |area: Entry<'_, A>| area.pages.first < cut.first && cut.last < area.pages.last;
        // The area ends below, and its upper part becomes another one.
        if area.is_some_and(is_middle) {
            (1, 2)
        } else {
            (0, 1)
        }
    }

    /// Obtains records, and nodes for steps of the tree.
    fn obtain(&mut self, records: usize, steps: usize) -> Result<(), NoMemory> {
        let more = records.saturating_sub(self.spare.len());
        self.spare.try_reserve(more).map_err(|_| NoMemory)?;
        for _ in 0..more {
            let record = RcuBox::try_new(Record {
                attr: Attr::NONE,
                value: None,
            });
            self.spare.push(record.map_err(|_| NoMemory)?);
        }
        self.tree.reserve(steps)
    }

    fn resize(&mut self, of: u64, to: Pages) {
        self.tree.resize(VirtAddr::new(of), extent(to));
    }

    fn insert(&mut self, pages: Pages, attr: Attr, value: A) {
        let record = self.record(attr, value);
        self.tree.insert(extent(pages), record);
        self.len += 1;
    }
}

impl<A: Value, T: Ranges<A>> Index<A> for MapleIndex<A, T> {
    type Broken = Broken;

    fn len(&self) -> usize {
        self.len
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
        let steps = shaping.checked_mul(CHANGE_STEPS).ok_or(NoMemory)?;
        self.obtain(records, steps)
    }

    fn prepare_put(&mut self, over: Option<Pages>) -> Result<(), NoMemory> {
        // One stores, or one erases a neighbour and one lets the other grow over it.
        let (records, steps) = over.map_or((0, 0), |over| self.to_erase(over));
        self.obtain(records + 1, steps + 2)
    }

    fn prepare_erase(&mut self, cut: Pages) -> Result<(), NoMemory> {
        let (records, steps) = self.to_erase(cut);
        self.obtain(records, steps)
    }

    fn prepare_extend(&mut self) -> Result<(), NoMemory> {
        self.obtain(0, 1)
    }

    fn store(&mut self, pages: Pages, attr: Attr, value: A, mut removed: impl FnMut(Piece<A>)) {
        let [first, last] = self.cut_ends(pages);
        first.into_iter().for_each(&mut removed);
        let record = self.record(attr, value);
        let len = &mut self.len;
        *len += 1;
        self.tree.store(extent(pages), record, |piece| {
            *len -= 1;
            removed(piece);
        });
        last.into_iter().for_each(removed);
    }

    fn erase(&mut self, cut: Pages, mut removed: impl FnMut(Piece<A>)) {
        let [first, last] = self.cut_ends(cut);
        first.into_iter().for_each(&mut removed);
        let len = &mut self.len;
        self.tree.erase(extent(cut), |piece| {
            *len -= 1;
            removed(piece);
        });
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

    fn copy_from<E, S: Index<A>>(
        &mut self,
        source: &S,
        mut copy: impl FnMut(Entry<'_, A>) -> Result<Option<A>, E>,
    ) -> Result<(), Option<E>> {
        let mut failure = Ok(());
        let len = &mut self.len;
        let mut copied = |area: Entry<'_, A>| {
            let Some(value) = copy(area).map_err(Some)? else {
                return Ok(None);
            };
            let record = RcuBox::try_new(Record {
                attr: area.attr,
                value: Some(value),
            });
            let record = record.map_err(|_| None)?;
            *len += 1;
            Ok(Some((extent(area.pages), record)))
        };
        let entries = source.iter(Pages::ALL).map_while(|area| {
            let entry = copied(area);
            entry.map_err(|cause| failure = Err(cause)).ok()
        });
        if self.tree.load(entries.flatten()).is_err() {
            self.len = self.tree.view().iter().count();
            return Err(None);
        }
        failure
    }

    fn clear(&mut self, removed: impl FnMut(Piece<A>)) {
        self.erase(Pages::ALL, removed);
    }

    fn check(&self) -> Result<(), Broken> {
        self.tree.check()
    }
}
