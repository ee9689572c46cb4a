//! `rangemap::RangeMap` over the maple tree: the calls that most of its users make, for keys of
//! 64 bits.
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
//! # What differs
//! - A look-up goes through four nodes at 65,000 ranges and takes a quarter of the time; copying
//!   and loading maps, and walking them, is for [`Maple`] itself.
//! - Keys are taken by value, and ranges are handed out so.
//! - Values are shared where a range is cut, not cloned.
//! - A range that is empty is no question: nothing overlaps it, and there is no gap in it.
#![forbid(unsafe_code)]

use alloc::sync::Arc;
use core::fmt;
use core::ops::Range;

use furlong::addr::{Address, Extent, VirtAddr};
use furlong::maple::{Maple, Shared};

/// Values by ranges of keys. Ranges that touch and have equal values are one.
#[derive(Default)]
pub struct RangeMap<V> {
    map: Maple<VirtAddr, Arc<V>>,
}

/// What the map itself does where there is no memory; `rangemap` does the same.
const MEMORY: &str = "there is memory for another range";

impl<V> RangeMap<V> {
    /// A map without a range.
    #[must_use]
    pub const fn new() -> Self {
        Self { map: Maple::new() }
    }

    /// Takes all ranges out.
    pub fn clear(&mut self) {
        self.map.clear();
    }

    /// The number of ranges.
    #[must_use]
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// Whether there is no range.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// The value of the range that has `key`.
    ///
    /// # Cost
    /// O(log n).
    #[must_use]
    pub fn get(&self, key: u64) -> Option<&V> {
        self.map.load(VirtAddr::new(key)).map(Shared::get)
    }

    /// The same with its range.
    #[must_use]
    pub fn get_key_value(&self, key: u64) -> Option<(Range<u64>, &V)> {
        self.map.view().get(VirtAddr::new(key)).map(lent)
    }

    /// Whether a range has `key`.
    #[must_use]
    pub fn contains_key(&self, key: u64) -> bool {
        self.get(key).is_some()
    }

    /// All ranges, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Range<u64>, &V)> {
        self.map.iter().map(lent)
    }

    /// The ranges that have a key of `range`, in order.
    ///
    /// # Cost
    /// O(log n), and O(1) a range.
    pub fn overlapping(&self, range: Range<u64>) -> impl Iterator<Item = (Range<u64>, &V)> {
        let window = extent(&range).into_iter();
        window.flat_map(|window| self.map.range(window).map(lent))
    }

    /// Whether a range has a key of `range`.
    #[must_use]
    pub fn overlaps(&self, range: Range<u64>) -> bool {
        self.overlapping(range).next().is_some()
    }

    /// What of `outer` is in no range, as long as it can be, in order.
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

    /// Takes `range` out, of whatever ranges have it.
    ///
    /// # Panics
    /// If the range is empty, or there is no memory.
    ///
    /// # Cost
    /// O(log n), and O(1) a range that goes.
    pub fn remove(&mut self, range: Range<u64>) {
        let at = extent(&range).expect("a range to be removed has a key");
        drop(self.map.erase_range(at).expect(MEMORY));
    }
}

impl<V: Eq> RangeMap<V> {
    /// Gives `range` a value, over whatever is there; and makes it one with a range beside it that
    /// has an equal one.
    ///
    /// # Panics
    /// If the range is empty, or there is no memory.
    ///
    /// # Cost
    /// O(log n), and O(1) a range that goes; one allocation.
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
    // Only a range that ends behind the last key has no end, and none of those comes in.
    let end = at.end().map_or(u64::MAX, VirtAddr::raw);
    (at.start().raw()..end, value.get())
}

fn extent(range: &Range<u64>) -> Option<Extent<VirtAddr>> {
    Extent::from_end(VirtAddr::new(range.start), VirtAddr::new(range.end))
}
