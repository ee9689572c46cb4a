//! A tree of ranges that one owner changes in place, with its records in one array.

use super::ranges::{Found, extent};
use super::slab::{Number, Slab};
use crate::addr::{Extent, VirtAddr};
use crate::check::Check;
use crate::maple::{Broken, Config, DuplicateError, InsertError, Maple, View};
use crate::vmspace::{Attr, Entry, Index, NoMemory, Pages, Piece, Ranges, Value, entry, hand_out};

/// Areas with one owner. An entry of the tree is the number of a record.
pub struct OwnedRanges<A: Value, C: Config> {
    tree: Maple<VirtAddr, Number, C>,
    records: Slab<A>,
}

impl<A: Value, C: Config> Default for OwnedRanges<A, C> {
    fn default() -> Self {
        Self {
            tree: Maple::with_config(),
            records: Slab::new(),
        }
    }
}

impl<A: Value, C: Config> OwnedRanges<A, C> {
    /// The work counters of the tree.
    pub(crate) fn counters(&self) -> &C::Counters {
        self.tree.counters()
    }

    /// A tree over the first areas of `source`, whose values are in `records`.
    fn of_part<S: Index<A>>(source: &S, records: Slab<A>) -> Result<Self, NoMemory> {
        let mut records = records;
        let numbers = (1..).map_while(Number::new).take(records.len());
        let areas = source.iter(Pages::ALL).zip(numbers);
        let kept = areas.filter(|(_, number)| records.get(*number).value.is_some());
        let entries = kept.map(|(area, number)| (extent(area.pages), number));
        let tree = Maple::from_sorted(entries).map_err(|_| NoMemory)?;
        records.gather();
        Ok(Self { tree, records })
    }
}

impl<A: Value, C: Config> Ranges<A> for OwnedRanges<A, C> {
    type Record = Number;
    type Entry = Number;
    type Tree = C;
    const REPLACES_IN_PLACE: bool = true;

    #[inline(always)]
    fn view(&self) -> View<'_, VirtAddr, Number, C> {
        self.tree.view()
    }

    #[inline(always)]
    fn area<'a>(&'a self, (at, number): Found<'a, Number>) -> Entry<'a, A> {
        entry((at, self.records.get(number)))
    }

    fn prepare(&mut self, records: usize, steps: usize) -> Result<(), NoMemory> {
        self.records.reserve(records)?;
        self.tree.prepare(steps)
    }

    fn trim(&mut self) {
        self.records.trim();
        self.tree.trim();
    }

    #[inline]
    fn record(&mut self, attr: Attr, value: A) -> Result<Number, A> {
        self.records.take(attr, value)
    }

    fn unrecord(&mut self, record: Number) -> A {
        self.records.give(record).1
    }

    fn record_bytes(&self) -> usize {
        self.records.bytes()
    }

    fn lowest_gap(&self, len: u64, window: Extent<VirtAddr>) -> Option<Extent<VirtAddr>> {
        self.tree.lowest_gap(len, window)
    }

    fn highest_gap(&self, len: u64, window: Extent<VirtAddr>) -> Option<Extent<VirtAddr>> {
        self.tree.highest_gap(len, window)
    }

    #[inline]
    fn insert(&mut self, at: Extent<VirtAddr>, record: Number) -> Result<(), Number> {
        let inserted = self.tree.insert(at, record);
        inserted.map_err(InsertError::into_entry)
    }

    #[inline]
    fn resize(&mut self, of: VirtAddr, to: Extent<VirtAddr>) -> Result<(), NoMemory> {
        self.tree.resize(of, to).map_err(|_| NoMemory)
    }

    #[inline]
    fn exchange(
        &mut self,
        at: Extent<VirtAddr>,
        record: Option<Number>,
        upper: Option<Number>,
        cut: Option<Piece<A>>,
        removed: &mut dyn FnMut(Piece<A>),
    ) -> Result<(), Option<Number>> {
        let Self { tree, records } = self;
        let taken = match tree.exchange(at, record, |_| upper) {
            Ok(taken) => taken,
            Err(record) => {
                upper.map(|upper| records.give(upper));
                return Err(record);
            }
        };
        let whole = taken.map(|(at, number)| records.piece(at, number));
        hand_out(cut.into_iter().chain(whole), removed);
        Ok(())
    }

    fn take_all(&mut self, removed: impl FnMut(Piece<A>)) {
        let Self { tree, records } = self;
        let taken = tree.take_all();
        hand_out(taken.map(|(at, number)| records.piece(at, number)), removed);
    }

    #[inline]
    fn cut_end(&mut self, at: Extent<VirtAddr>) -> Result<Entry<'_, A>, Option<Entry<'_, A>>> {
        let Self { tree, records } = self;
        let area = |(at, number)| entry((at, records.get(number)));
        tree.cut_end(at).map(area).map_err(|first| first.map(area))
    }

    #[inline]
    fn revise(&mut self, pages: Pages, attr: Attr) -> Result<(), Entry<'_, A>> {
        let first = VirtAddr::new(pages.first);
        let (at, number) = self.tree.view().get(first).expect("the pages are mapped");
        if at == extent(pages) {
            self.records.set_attr(number, attr);
            return Ok(());
        }
        Err(self.area((at, number)))
    }

    fn copy_from<E, S: Index<A>>(
        &mut self,
        source: &S,
        copy: impl FnMut(Entry<'_, A>) -> Result<Option<A>, E>,
    ) -> Result<(), Option<E>> {
        // All values are copied before the tree is built, so that a panic in `copy` leaves nothing.
        let mut copy = copy;
        let mut records = Slab::with_room(source.len()).map_err(|_| None)?;
        let mut copied = source.iter(Pages::ALL).map(|area| {
            let (attr, value) = (area.attr, copy(area).map_err(Some)?);
            records.push(attr, value).map_err(|_| None)
        });
        let done = copied.try_for_each(|number| number.map(drop));
        drop(copied);
        *self = Self::of_part(source, records).map_err(|_| None)?;
        done
    }

    fn duplicate_from<E, S: Index<A>>(
        &mut self,
        source: &S,
        copy: impl FnMut(Entry<'_, A>) -> Result<A, E>,
    ) -> Result<(), Option<E>> {
        let mut copy = copy;
        let mut records = Slab::with_room(source.len()).map_err(|_| None)?;
        let copied = source.duplicate(|area| {
            let (attr, value) = (area.attr, copy(area).map_err(Some)?);
            Ok(records.push_in_room(attr, value))
        });
        match copied {
            None => self.copy_from(source, |area| copy(area).map(Some)),
            Some(Ok(tree)) => {
                *self = Self { tree, records };
                Ok(())
            }
            Some(Err(DuplicateError::NoMemory)) => Err(None),
            Some(Err(DuplicateError::Entry(refused))) => {
                *self = Self::of_part(source, records).map_err(|_| None)?;
                Err(refused)
            }
        }
    }

    fn check(&self) -> Result<(), Broken> {
        self.tree.check()
    }
}
