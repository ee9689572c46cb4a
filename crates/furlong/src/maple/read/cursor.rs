//! A place in a map that stays valid across changes.

use crate::addr::{Address, Extent};
use crate::maple::{Config, Edit, Entry, NoMemory, Place, StoreError, TakenAt, View, extent};

/// A place in a map: the extent of the entry or the gap found last, or an extent that was set.
///
/// It consists of indices and refers to no node. So it can be kept while the map changes, without a
/// lock and without a guard, and it works with any map of the same kind of address. Each call looks
/// at the map as it is at that time:
///
/// - `next` and `find` continue behind the extent, with the first entry that ends there or later.
///   They find entries that were added there since, and not those that were removed. They may find
///   an entry again that has grown over the place.
/// - `previous` and `find_back` continue before the extent in the same way.
/// - If nothing is found, the cursor has run out on that side and stays. Another call in that
///   direction looks again. A call in the other direction begins with the extent itself, so it
///   finds the entry found last, if that is still there.
/// - No store and no erasure moves the cursor, neither its own nor those of others.
///
/// # Cost
/// Each call O(log n). To visit many entries and change none, an [`Iter`](crate::maple::Iter) is
/// cheaper.
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
    /// The index from which the upward search continues; none behind the last index.
    from: Option<u64>,
    /// The index from which the downward search continues; none before the first index.
    upto: Option<u64>,
}

impl<A: Address> Cursor<A> {
    /// A cursor at an index, with nothing found yet. The first search in either direction finds an
    /// entry that contains the index.
    pub fn new(index: A) -> Self {
        Self::over(extent(index.raw(), index.raw()))
    }

    /// A cursor at an extent, for a store there. The first search in either direction finds an
    /// entry that overlaps it.
    pub fn over(at: Extent<A>) -> Self {
        Self {
            at,
            from: Some(at.start().raw()),
            upto: Some(at.last().raw()),
        }
    }

    /// Forgets the last find: the next search in either direction finds it again.
    pub fn reset(&mut self) {
        *self = Self::over(self.at);
    }

    /// The extent of the cursor.
    pub fn extent(&self) -> Extent<A> {
        self.at
    }

    /// Moves to the entry or the gap that contains the first index of the extent.
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

    /// Moves to the previous entry.
    pub fn previous<'v, E: Entry, C: Config>(
        &mut self,
        view: View<'v, A, E, C>,
    ) -> Option<(Extent<A>, E::Ref<'v>)> {
        self.find_back(view, A::from_raw(0))
    }

    /// Moves to the next entry, if it starts at `last` or before.
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

    /// Moves to the previous entry, if it ends at `first` or later.
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

    /// Moves to the entry or the gap that begins behind the cursor.
    pub fn next_place<'v, E: Entry, C: Config>(
        &mut self,
        view: View<'v, A, E, C>,
    ) -> Option<Place<A, E::Ref<'v>>> {
        let place = view.walk(A::from_raw(self.from?));
        self.arrive(place.extent());
        Some(place)
    }

    /// Moves to the entry or the gap that ends before the cursor.
    pub fn previous_place<'v, E: Entry, C: Config>(
        &mut self,
        view: View<'v, A, E, C>,
    ) -> Option<Place<A, E::Ref<'v>>> {
        let place = view.walk(A::from_raw(self.upto?));
        self.arrive(place.extent());
        Some(place)
    }

    /// Stores an entry at the cursor's extent, over all entries there.
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

    /// Removes the entry that contains the first index of the cursor's extent.
    ///
    /// # Errors
    /// [`NoMemory`]; nothing has changed.
    pub fn erase<E: Entry, M: Edit<A, E>>(
        &self,
        map: &mut M,
    ) -> Result<TakenAt<A, M::Taken>, NoMemory> {
        map.take(self.at.start())
    }

    /// Moves to the lowest place in `window` for `size` indices, for a store there. Returns false
    /// and stays if there is none.
    pub fn lowest_gap<E: Entry, M: Edit<A, E>>(
        &mut self,
        map: &M,
        size: u64,
        window: Extent<A>,
    ) -> bool {
        self.settle(map.lowest(size, window))
    }

    /// Moves to the highest place in `window` for `size` indices, for a store there. Returns false
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

    /// Moves to an extent that was found.
    fn arrive(&mut self, at: Extent<A>) {
        self.at = at;
        // Not the last index of 64 bits: a shorter one would be found again and again.
        self.from = at.end().map(Address::raw);
        self.upto = at.start().raw().checked_sub(1);
    }
}
