//! The common calls of `rangemap::RangeMap`, over the maple tree, for 64-bit keys.
//!
//! ```
//! use furlong_adapters::range_map::RangeMap;
//!
//! let mut people = RangeMap::new();
//! people.insert(10..20, "Alice");
//! people.insert(20..30, "Alice");
//! people.insert(25..40, "Bob");
//! assert_eq!(people.get_key_value(24), Some((10..25, &"Alice")));
//! assert_eq!(people.gaps(0..50).collect::<Vec<_>>(), [0..10, 40..50]);
//! ```
//!
//! # Differences
//! - A look-up visits four nodes at 65,000 ranges, and takes a quarter of the time. To copy, load
//!   or walk whole maps, use [`Maple`] itself.
//! - Keys and ranges are passed by value.
//! - A range that is cut shares its value between its parts, and does not clone it.
//! - An empty range is allowed in queries: nothing overlaps it, and it contains no gap.
#![forbid(unsafe_code)]

use alloc::sync::Arc;
use core::fmt;
use core::ops::Range;

use furlong::addr::{Address, Extent, VirtAddr};
use furlong::maple::{Maple, Shared};

/// A map from ranges of keys to values. Adjacent ranges with equal values are merged.
#[derive(Default)]
pub struct RangeMap<V> {
    map: Maple<VirtAddr, Arc<V>>,
}

/// The message if there is no memory; `rangemap` panics then, too.
const MEMORY: &str = "there is memory for another range";

impl<V> RangeMap<V> {
    /// An empty map.
    #[must_use]
    pub const fn new() -> Self {
        Self { map: Maple::new() }
    }

    /// Removes all ranges.
    pub fn clear(&mut self) {
        self.map.clear();
    }

    /// The number of ranges.
    #[must_use]
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// True if there is no range.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// The value of the range that contains `key`.
    ///
    /// # Cost
    /// O(log n).
    #[must_use]
    pub fn get(&self, key: u64) -> Option<&V> {
        self.map.load(VirtAddr::new(key)).map(Shared::get)
    }

    /// The same, with its range.
    #[must_use]
    pub fn get_key_value(&self, key: u64) -> Option<(Range<u64>, &V)> {
        self.map.view().get(VirtAddr::new(key)).map(lent)
    }

    /// True if a range contains `key`.
    #[must_use]
    pub fn contains_key(&self, key: u64) -> bool {
        self.get(key).is_some()
    }

    /// All ranges, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Range<u64>, &V)> {
        self.map.iter().map(lent)
    }

    /// The ranges that overlap `range`, in order.
    ///
    /// # Cost
    /// O(log n), and O(1) for each range.
    pub fn overlapping(&self, range: Range<u64>) -> impl Iterator<Item = (Range<u64>, &V)> {
        let window = extent(&range).into_iter();
        window.flat_map(|window| self.map.range(window).map(lent))
    }

    /// True if a range overlaps `range`.
    #[must_use]
    pub fn overlaps(&self, range: Range<u64>) -> bool {
        self.overlapping(range).next().is_some()
    }

    /// The largest possible parts of `outer` that are in no range, in order.
    ///
    /// # Cost
    /// As [`overlapping`](Self::overlapping).
    pub fn gaps(&self, outer: Range<u64>) -> impl Iterator<Item = Range<u64>> {
        let taken = self.overlapping(outer.clone()).map(|(range, _)| range);
        let end = outer.end;
        let stops = taken.chain(core::iter::once(end..end));
        let mut from = outer.start;
        stops.filter_map(move |next| {
            let gap = from..next.start;
            from = next.end;
            (gap.start < gap.end).then_some(gap)
        })
    }

    /// The first range.
    #[must_use]
    pub fn first_range_value(&self) -> Option<(Range<u64>, &V)> {
        self.map.find(VirtAddr::new(0)).map(lent)
    }

    /// The last range.
    #[must_use]
    pub fn last_range_value(&self) -> Option<(Range<u64>, &V)> {
        self.map.find_back(VirtAddr::new(u64::MAX)).map(lent)
    }

    /// Removes the keys in `range` from all ranges.
    ///
    /// # Panics
    /// If the range is empty, or there is no memory.
    ///
    /// # Cost
    /// O(log n), and O(1) for each range removed.
    pub fn remove(&mut self, range: Range<u64>) {
        let at = extent(&range).expect("a range to be removed has a key");
        drop(self.map.erase_range(at).expect(MEMORY));
    }
}

impl<V: Eq> RangeMap<V> {
    /// Sets the value of `range`, over all ranges there. It is merged with an adjacent range that
    /// has an equal value.
    ///
    /// # Panics
    /// If the range is empty, or there is no memory.
    ///
    /// # Cost
    /// O(log n), and O(1) for each range removed; one allocation.
    pub fn insert(&mut self, range: Range<u64>, value: V) {
        assert!(range.start < range.end, "a range to be inserted has a key");
        let equal = |key: u64| self.get_key_value(key).filter(|(_, old)| **old == value);
        let below = range.start.checked_sub(1).and_then(equal);
        let start = below.map_or(range.start, |(below, _)| below.start);
        let end = equal(range.end).map_or(range.end, |(above, _)| above.end);
        let at = extent(&(start..end)).expect("it is longer than the range");
        let stored = self.map.store(at, Arc::new(value));
        drop(stored.map_err(drop).expect(MEMORY));
    }
}

impl<V: Eq> Extend<(Range<u64>, V)> for RangeMap<V> {
    fn extend<I: IntoIterator<Item = (Range<u64>, V)>>(&mut self, ranges: I) {
        for (range, value) in ranges {
            self.insert(range, value);
        }
    }
}

impl<V: Eq> FromIterator<(Range<u64>, V)> for RangeMap<V> {
    fn from_iter<I: IntoIterator<Item = (Range<u64>, V)>>(ranges: I) -> Self {
        let mut map = Self::new();
        map.extend(ranges);
        map
    }
}

impl<V: fmt::Debug> fmt::Debug for RangeMap<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

fn lent<V>((at, value): (Extent<VirtAddr>, Shared<'_, V>)) -> (Range<u64>, &V) {
    // Only a range up to the last key has no end, and no such range can be inserted.
    let end = at.end().map_or(u64::MAX, VirtAddr::raw);
    (at.start().raw()..end, value.get())
}

fn extent(range: &Range<u64>) -> Option<Extent<VirtAddr>> {
    Extent::from_end(VirtAddr::new(range.start), VirtAddr::new(range.end))
}
