//! The operations and traits of `std`'s maps that a map of ranges can have.

use super::{
    Config, Displaced, Entry, EraseError, Iter, IterMut, Maple, NoMemory, Split, Standard, Unique,
    extent,
};
use crate::addr::{Address, Extent};

/// The message if there is no memory where a trait of `std` cannot return an error.
const MEMORY: &str = "out of memory for nodes or entries";

fn all<A: Address>() -> Extent<A> {
    extent(0, A::LAST.raw())
}

impl<A: Address, E: Unique, C: Config> Maple<A, E, C> {
    /// The value of the entry that contains `index`, to be changed in place.
    ///
    /// # Cost
    /// As [`load`](Self::load).
    ///
    /// # Example
    /// ```
    /// use furlong::addr::Extent;
    /// use furlong::maple::Maple;
    ///
    /// let mut count: Maple<u32, Box<u64>> = Maple::new();
    /// count.insert(Extent::from_last(10, 19).unwrap(), Box::new(1))?;
    /// *count.get_mut(15).unwrap() += 1;
    /// for (_, count) in &mut count {
    ///     *count *= 10;
    /// }
    /// assert_eq!(count.load(10), Some(&20));
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn get_mut(&mut self, index: A) -> Option<&mut E::Value> {
        let at = Extent::from_last(index, index)?;
        Some(self.range_mut(at).next()?.1)
    }

    /// All values with their extents, in order, to be changed in place.
    pub fn iter_mut(&mut self) -> IterMut<'_, A, E, C> {
        self.range_mut(all())
    }

    /// The values of the entries that overlap `window`, in order, to be changed in place.
    ///
    /// # Cost
    /// As [`range`](Self::range).
    pub fn range_mut(&mut self, window: Extent<A>) -> IterMut<'_, A, E, C> {
        IterMut::new(self, window)
    }
}

impl<A: Address, E: Entry, C: Config> Maple<A, E, C> {
    /// Removes the entries that overlap `window`, whole, and hands them back with their extents, in
    /// order. [`erase_range`](Self::erase_range) cuts those that reach out of it instead.
    ///
    /// # Errors
    /// [`NoMemory`]; nothing has changed.
    ///
    /// # Cost
    /// O(log n), and O(1) for each entry.
    pub fn drain(&mut self, window: Extent<A>) -> Result<Displaced<'_, A, E, C>, NoMemory> {
        let first = self.view().get(window.start());
        let last = self.view().get(window.last());
        let start = first.map_or(window.start(), |(first, _)| first.start());
        let last = last.map_or(window.last(), |(last, _)| last.last());
        let whole = extent(start.raw(), last.raw());
        // No entry reaches out of it, so none is split.
        self.clear_range(whole, |_| None).map_err(|error| {
            debug_assert_eq!(error, EraseError::NoMemory);
            NoMemory
        })
    }
}

/// # Panics
/// If there is no memory, or an entry cannot be split; `duplicate` returns an error instead.
impl<A: Address, E: Split, C: Config> Clone for Maple<A, E, C> {
    fn clone(&self) -> Self {
        let copy = self.duplicate(|_, entry| E::split(entry).ok_or(NoMemory));
        copy.expect(MEMORY)
    }
}

/// Equal extents with equal entries.
impl<A: Address, E: Entry, C: Config> PartialEq for Maple<A, E, C>
where
    for<'a> E::Ref<'a>: PartialEq,
{
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl<A: Address, E: Entry, C: Config> Eq for Maple<A, E, C> where for<'a> E::Ref<'a>: Eq {}

/// Stores each entry over those before it.
///
/// # Panics
/// If there is no memory, or an entry cannot be split.
impl<A: Address, E: Split, C: Config> Extend<(Extent<A>, E)> for Maple<A, E, C> {
    fn extend<I: IntoIterator<Item = (Extent<A>, E)>>(&mut self, entries: I) {
        for (at, entry) in entries {
            drop(self.store(at, entry).expect(MEMORY));
        }
    }
}

/// Stores each entry over those before it; [`Maple::from_sorted`] loads entries in order faster.
///
/// # Panics
/// If there is no memory, or an entry cannot be split.
impl<A: Address, E: Split> FromIterator<(Extent<A>, E)> for Maple<A, E, Standard> {
    fn from_iter<I: IntoIterator<Item = (Extent<A>, E)>>(entries: I) -> Self {
        let mut map = Self::new();
        map.extend(entries);
        map
    }
}

impl<'a, A: Address, E: Entry, C: Config> IntoIterator for &'a Maple<A, E, C> {
    type Item = (Extent<A>, E::Ref<'a>);
    type IntoIter = Iter<'a, A, E, C>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, A: Address, E: Unique, C: Config> IntoIterator for &'a mut Maple<A, E, C> {
    type Item = (Extent<A>, &'a mut E::Value);
    type IntoIter = IterMut<'a, A, E, C>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}
