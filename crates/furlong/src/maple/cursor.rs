//! A place in a map that outlives changes.
#![forbid(unsafe_code)]

use super::config::Config;
use super::edit::{Edit, TakenAt};
use super::entry::Entry;
use super::error::StoreError;
use super::pool::NoMemory;
use super::typed::extent;
use super::view::{Place, View};
use crate::addr::{Address, Extent};

/// A place in a map: the extent of the entry or the gap that was found last, or one that was set.
///
/// It has indices and no nodes. So it can be kept while the map changes, while no lock is held and
/// no guard, and be used with any map of that kind of address. Each call looks at the map as it is
/// then:
///
/// - `next` and `find` go on behind the extent, with the first entry that ends there or later. An
///   entry that has come there since is found, and one that has gone is not; one that has grown
///   over the place is found, though it may have been found before.
/// - `previous` and `find_back` go on before it in the same way.
/// - Where nothing is found, the cursor has run out on that side and stays where it is: another
///   call there looks again, and one in the other direction begins with the extent itself, so that
///   it finds the entry that was found last, if that is still there.
/// - A store or an erasing at the cursor leaves it where it is, and whoever else changes the map
///   does as well.
///
/// # Cost
/// Each call O(log n). Who goes through many entries and changes none of them has an
/// [`Iter`](super::Iter).
///
/// # Example
/// ```
/// use furlong::addr::{Extent, VirtAddr};
/// use furlong::maple::{Cursor, Maple};
///
/// let extent = |start, len| Extent::from_len(VirtAddr::new(start), len).unwrap();
/// let mut areas: Maple<VirtAddr, u32> = Maple::new();
/// for start in [0x1000, 0x2000, 0x3000] {
///     areas.insert(extent(start, 0x1000), 7)?;
/// }
/// let mut cursor = Cursor::new(VirtAddr::new(0x1800));
/// while let Some((at, _)) = cursor.next(areas.view()) {
///     if at.start() == VirtAddr::new(0x2000) {
///         cursor.erase(&mut areas)?;
///     }
/// }
/// assert_eq!(areas.len(), 2);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor<A: Address> {
    at: Extent<A>,
    /// Where looking goes on upwards; none behind the last index.
    from: Option<u64>,
    /// Where looking goes on downwards; none before the first index.
    upto: Option<u64>,
}

impl<A: Address> Cursor<A> {
    /// A cursor at an index, with nothing found: whatever has the index is what is found first,
    /// upwards and downwards.
    pub fn new(index: A) -> Self {
        Self::over(extent(index.raw(), index.raw()))
    }

    /// A cursor at an extent, for a store there; whatever overlaps it is found first.
    pub fn over(at: Extent<A>) -> Self {
        Self {
            at,
            from: Some(at.start().raw()),
            upto: Some(at.last().raw()),
        }
    }

    /// Forgets what was found: what the cursor is at is found again, upwards and downwards.
    pub fn reset(&mut self) {
        *self = Self::over(self.at);
    }

    /// What the cursor is at.
    pub fn extent(&self) -> Extent<A> {
        self.at
    }

    /// Moves to what is at the first index of the extent, an entry or a gap.
    pub fn walk<'v, E: Entry, C: Config>(
        &mut self,
        view: View<'v, A, E, C>,
    ) -> Place<A, E::Ref<'v>> {
        let place = view.walk(self.at.start());
        self.arrive(place.extent());
        place
    }

    /// Moves to the next entry.
    pub fn next<'v, E: Entry, C: Config>(
        &mut self,
        view: View<'v, A, E, C>,
    ) -> Option<(Extent<A>, E::Ref<'v>)> {
        self.find(view, A::from_raw(u64::MAX))
    }

    /// Moves to the entry before.
    pub fn previous<'v, E: Entry, C: Config>(
        &mut self,
        view: View<'v, A, E, C>,
    ) -> Option<(Extent<A>, E::Ref<'v>)> {
        self.find_back(view, A::from_raw(0))
    }

    /// Moves to the next entry, if that starts at `last` or before.
    pub fn find<'v, E: Entry, C: Config>(
        &mut self,
        view: View<'v, A, E, C>,
        last: A,
    ) -> Option<(Extent<A>, E::Ref<'v>)> {
        let next = self.from.and_then(|from| view.find(A::from_raw(from)));
        let found = next.filter(|(at, _)| at.start() <= last);
        match &found {
            Some((at, _)) => self.arrive(*at),
            None => self.upto = Some(self.at.last().raw()),
        }
        found
    }

    /// Moves to the entry before, if that ends at `first` or later.
    pub fn find_back<'v, E: Entry, C: Config>(
        &mut self,
        view: View<'v, A, E, C>,
        first: A,
    ) -> Option<(Extent<A>, E::Ref<'v>)> {
        let before = self.upto.and_then(|upto| view.find_back(A::from_raw(upto)));
        let found = before.filter(|(at, _)| first <= at.last());
        match &found {
            Some((at, _)) => self.arrive(*at),
            None => self.from = Some(self.at.start().raw()),
        }
        found
    }

    /// Moves to what begins behind the cursor, an entry or a gap.
    pub fn next_place<'v, E: Entry, C: Config>(
        &mut self,
        view: View<'v, A, E, C>,
    ) -> Option<Place<A, E::Ref<'v>>> {
        let place = view.walk(A::from_raw(self.from?));
        self.arrive(place.extent());
        Some(place)
    }

    /// Moves to what ends before the cursor, an entry or a gap.
    pub fn previous_place<'v, E: Entry, C: Config>(
        &mut self,
        view: View<'v, A, E, C>,
    ) -> Option<Place<A, E::Ref<'v>>> {
        let place = view.walk(A::from_raw(self.upto?));
        self.arrive(place.extent());
        Some(place)
    }

    /// Gives the extent that the cursor is at an entry, over whatever is there.
    ///
    /// # Errors
    /// [`StoreError`], with the entry; nothing has changed.
    pub fn store<E: Entry, M: Edit<A, E>>(
        &self,
        map: &mut M,
        entry: E,
    ) -> Result<(), StoreError<E>> {
        map.put(self.at, entry)
    }

    /// Takes the entry out that has the first index of the extent that the cursor is at.
    ///
    /// # Errors
    /// [`NoMemory`]; nothing has changed.
    pub fn erase<E: Entry, M: Edit<A, E>>(
        &self,
        map: &mut M,
    ) -> Result<TakenAt<A, M::Taken>, NoMemory> {
        map.take(self.at.start())
    }

    /// Moves to the lowest place in `window` for something of `size`, for a store there; says no
    /// and stays if there is none.
    pub fn lowest_gap<E: Entry, M: Edit<A, E>>(
        &mut self,
        map: &M,
        size: u64,
        window: Extent<A>,
    ) -> bool {
        self.settle(map.lowest(size, window))
    }

    /// Moves to the highest place in `window` for something of `size`, for a store there; says no
    /// and stays if there is none.
    pub fn highest_gap<E: Entry, M: Edit<A, E>>(
        &mut self,
        map: &M,
        size: u64,
        window: Extent<A>,
    ) -> bool {
        self.settle(map.highest(size, window))
    }

    fn settle(&mut self, place: Option<Extent<A>>) -> bool {
        if let Some(place) = place {
            self.arrive(place);
        }
        place.is_some()
    }

    /// Is at what was found.
    fn arrive(&mut self, at: Extent<A>) {
        self.at = at;
        self.from = at.last().raw().checked_add(1);
        self.upto = at.start().raw().checked_sub(1);
    }
}
