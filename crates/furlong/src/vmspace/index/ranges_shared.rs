//! A tree of ranges beside readers. Each record is allocated alone, because readers may use it.

use alloc::vec::Vec;
use core::ops::Deref;

use super::ranges::{Found, IN_USE, extent, pages};
use crate::addr::{Extent, VirtAddr};
use crate::maple::{Broken, Config, DuplicateError, InsertError, Reservation, Session, View};
use crate::rcu::{Rcu, RcuBox, RcuHead};
use crate::sync::RawLock;
use crate::sync::atomic::{AtomicU32, Ordering, fence};
use crate::vmspace::{Attr, Entry, Index, NoMemory, Pages, Piece, Ranges, Record, Value, entry};

/// A record beside readers.
pub struct Seen<A> {
    record: Record<A>,
    /// The number of times that the area has grown in place: an area that was cut and has grown
    /// again is not the one that a reader saw before.
    growths: AtomicU32,
}

impl<A> Seen<A> {
    fn new(record: Record<A>) -> Self {
        let growths = AtomicU32::new(0);
        Self { record, growths }
    }

    #[inline]
    pub(crate) fn growths(&self) -> u32 {
        // Acquire, `seen-tree`: pairs with `seen-growth`. The tree was read before this: if it
        // showed the new extent, the count below is the new one.
        fence(Ordering::Acquire);
        // Relaxed: the fence orders it.
        self.growths.load(Ordering::Relaxed)
    }
}

impl<A> Deref for Seen<A> {
    type Target = Record<A>;

    #[inline]
    fn deref(&self) -> &Record<A> {
        &self.record
    }
}

/// A record on the heap.
pub(crate) type Boxed<A> = RcuBox<Seen<A>>;

/// Allocates an unused record.
pub(crate) fn blank_record<A: Value>() -> Result<Boxed<A>, NoMemory> {
    let record = Record {
        attr: Attr::NONE,
        value: None,
    };
    RcuBox::try_new(Seen::new(record)).map_err(|_| NoMemory)
}

/// The area of an entry of the tree.
#[inline(always)]
pub(crate) fn seen_entry<A>((at, seen): (Extent<VirtAddr>, &Seen<A>)) -> Entry<'_, A> {
    entry((at, &seen.record))
}

/// The records of the first areas of a source, in order; none for an area that is left out.
type Records<A> = Vec<Option<Boxed<A>>>;

/// Copies values into records before the tree is built, so that a panic in `copy` leaves nothing.
fn copied<A: Value, E, S: Index<A>>(
    source: &S,
    records: &mut Records<A>,
    mut copy: impl FnMut(Entry<'_, A>) -> Result<Option<A>, E>,
) -> Result<(), Option<E>> {
    let room = records.try_reserve_exact(source.len());
    room.map_err(|_| None)?;
    for area in source.iter(Pages::ALL) {
        let attr = area.attr;
        let record = copy(area).map_err(Some)?.map(|value| Record {
            attr,
            value: Some(value),
        });
        let boxed = record.map(Seen::new).map(RcuBox::try_new).transpose();
        records.push(boxed.map_err(|_| None)?);
    }
    Ok(())
}

/// The piece to hand back for a record that readers may use.
fn piece<A: Value>(at: Extent<VirtAddr>, record: &Record<A>) -> Piece<A> {
    Piece {
        pages: pages(at),
        attr: record.attr,
        value: record.value.clone(),
    }
}

/// The values handed back are clones: readers may use the record, whose own value is dropped later.
impl<A, R, L, C> Ranges<A> for Session<'_, VirtAddr, Boxed<A>, R, L, C>
where
    A: Value,
    R: Rcu,
    L: RawLock,
    C: Config,
{
    type Record = Boxed<A>;
    type Entry = Boxed<A>;
    type Tree = C;
    const REPLACES_IN_PLACE: bool = false;

    #[inline(always)]
    fn view(&self) -> View<'_, VirtAddr, Boxed<A>, C> {
        Self::view(self)
    }

    #[inline(always)]
    fn area<'a>(&'a self, found: Found<'a, Boxed<A>>) -> Entry<'a, A> {
        seen_entry(found)
    }

    fn prepare(&mut self, records: usize, steps: usize) -> Result<(), NoMemory> {
        let levels = self.view().levels();
        let nodes = |steps| Reservation::new(steps, levels);
        // First, for more than any machine has are refused at once. Those left of earlier
        // reservations may suffice.
        if self.supply(&mut nodes(0)?, steps).is_err() {
            let supplied = self.supply(&mut nodes(steps)?, steps);
            supplied.map_err(|_| NoMemory)?;
        }
        for _ in self.spares()..records {
            self.keep(blank_record()?);
        }
        Ok(())
    }

    fn trim(&mut self) {
        while self.spare().is_some() {}
        drop(self.unused());
    }

    #[inline]
    fn record(&mut self, attr: Attr, value: A) -> Result<Boxed<A>, A> {
        let value = Some(value);
        let record = Record { attr, value };
        let Some(mut kept) = self.spare() else {
            let boxed = RcuBox::try_new(Seen::new(record));
            return boxed.map_err(|seen| seen.record.value.expect(IN_USE));
        };
        kept.record = record;
        Ok(kept)
    }

    fn unrecord(&mut self, record: Boxed<A>) -> A {
        record.into_inner().record.value.expect(IN_USE)
    }

    fn record_bytes(&self) -> usize {
        let records = self.view().len() + self.spares();
        records * (size_of::<RcuHead>() + size_of::<Seen<A>>())
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
        if let Some((_, seen)) = self.view().get(of) {
            // Relaxed: the fence orders it.
            seen.growths.fetch_add(1, Ordering::Relaxed);
            // Release, `seen-growth`: pairs with `seen-tree`. The tree may change its extent in
            // place, by a store that publishes nothing else.
            fence(Ordering::Release);
        }
        Self::resize(self, of, to).map_err(|_| NoMemory)
    }

    #[inline]
    fn exchange(
        &mut self,
        at: Extent<VirtAddr>,
        record: Option<Boxed<A>>,
        upper: Option<Boxed<A>>,
        cut: Option<Piece<A>>,
        removed: &mut dyn FnMut(Piece<A>),
    ) -> Result<(), Option<Boxed<A>>> {
        let taken = Self::exchange(self, at, record, |_| upper)?;
        cut.into_iter().for_each(&mut *removed);
        taken.show(|at, record| removed(piece(at, record)));
        Ok(())
    }

    fn take_all(&mut self, removed: impl FnMut(Piece<A>)) {
        let mut removed = removed;
        Self::take_all(self).show(|at, record| removed(piece(at, record)));
    }

    #[inline]
    fn cut_end(&mut self, at: Extent<VirtAddr>) -> Result<Entry<'_, A>, Option<Entry<'_, A>>> {
        // Release, `seen-growth`: pairs with `seen-tree`, for a reader that sees this extent and
        // not the one before it.
        fence(Ordering::Release);
        let cut = Self::cut_end(self, at);
        cut.map(seen_entry).map_err(|first| first.map(seen_entry))
    }

    #[inline]
    fn revise(&mut self, pages: Pages, _attr: Attr) -> Result<(), Entry<'_, A>> {
        let found = self.view().get(VirtAddr::new(pages.first));
        Err(seen_entry(found.expect("the pages are mapped")))
    }

    fn copy_from<E, S: Index<A>>(
        &mut self,
        source: &S,
        copy: impl FnMut(Entry<'_, A>) -> Result<Option<A>, E>,
    ) -> Result<(), Option<E>> {
        let mut records = Records::new();
        let done = copied(source, &mut records, copy);
        let areas = source.iter(Pages::ALL).zip(records);
        let entries = areas.filter_map(|(area, record)| Some((extent(area.pages), record?)));
        self.load_sorted(entries).map_err(|_| None)?;
        done
    }

    fn duplicate_from<E, S: Index<A>>(
        &mut self,
        source: &S,
        mut copy: impl FnMut(Entry<'_, A>) -> Result<A, E>,
    ) -> Result<(), Option<E>> {
        let mut records = Records::new();
        let done = copied(source, &mut records, |area| copy(area).map(Some));
        let mut records = records.into_iter();
        if done.is_ok() {
            let next = |_: Entry<'_, A>| records.next().flatten().ok_or(());
            match source.duplicate(next) {
                Some(Ok(tree)) => {
                    self.adopt(tree);
                    return Ok(());
                }
                Some(Err(DuplicateError::NoMemory | DuplicateError::Entry(()))) => {
                    return Err(None);
                }
                None => {}
            }
        }
        let areas = source.iter(Pages::ALL).zip(records);
        let entries = areas.filter_map(|(area, record)| Some((extent(area.pages), record?)));
        self.load_sorted(entries).map_err(|_| None)?;
        done
    }

    /// The tree is checked after the lock was released: see `Shared`.
    fn check(&self) -> Result<(), Broken> {
        Ok(())
    }
}
