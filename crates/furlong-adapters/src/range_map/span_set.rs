//! The set: a map without values.

use core::borrow::Borrow;
use core::cmp::Ordering;
use core::fmt;
use core::ops::{BitAnd, BitOr};

use super::iter::{Gaps, IntoIter, Iter, Overlapping, Ranges};
use super::operations::{Intersection, Union};
use super::span::Span;
use super::span_map::SpanMap;

/// A set of ranges of keys: a [`RangeSet`](super::RangeSet) or a
/// [`RangeInclusiveSet`](super::RangeInclusiveSet). Adjacent ranges are merged.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SpanSet<R: Span> {
    pub(super) map: SpanMap<R, ()>,
}

impl<R: Span> SpanSet<R> {
    /// An empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            map: SpanMap::new(),
        }
    }

    /// The range that contains `key`.
    ///
    /// # Cost
    /// O(log n).
    #[must_use]
    pub fn get(&self, key: &R::Key) -> Option<&R> {
        Some(self.map.get_key_value(key)?.0)
    }

    /// True if a range contains `key`.
    #[must_use]
    pub fn contains(&self, key: &R::Key) -> bool {
        self.map.contains_key(key)
    }

    /// All ranges, in order.
    #[must_use]
    pub fn iter(&self) -> Ranges<Iter<'_, R, ()>> {
        Ranges(self.map.iter())
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

    /// Adds the keys in `range`.
    ///
    /// # Panics
    /// If the range is empty, or there is no memory.
    ///
    /// # Cost
    /// O(log n), and O(1) for each range that it overlaps.
    pub fn insert(&mut self, range: R) {
        self.map.insert(range, ());
    }

    /// Removes the keys in `range`.
    ///
    /// # Panics
    /// If the range is empty, or there is no memory.
    ///
    /// # Cost
    /// As [`insert`](Self::insert).
    pub fn remove(&mut self, range: R) {
        self.map.remove(range);
    }

    /// The largest possible parts of `outer` that are not in the set, in order.
    ///
    /// # Cost
    /// As [`overlapping`](Self::overlapping).
    #[must_use]
    pub fn gaps(&self, outer: &R) -> Gaps<'_, R, ()> {
        self.map.gaps(outer)
    }

    /// The ranges that overlap `range`, in order; see [`SpanMap::overlapping`].
    ///
    /// # Cost
    /// O(log n), and O(1) for each range.
    pub fn overlapping<Q: Borrow<R>>(&self, range: Q) -> Ranges<Overlapping<'_, R, (), Q>> {
        Ranges(self.map.overlapping(range))
    }

    /// True if a range overlaps `range`.
    #[must_use]
    pub fn overlaps(&self, range: &R) -> bool {
        self.map.overlaps(range)
    }

    /// The first range.
    #[must_use]
    pub fn first(&self) -> Option<&R> {
        Some(self.map.first_range_value()?.0)
    }

    /// The last range.
    #[must_use]
    pub fn last(&self) -> Option<&R> {
        Some(self.map.last_range_value()?.0)
    }

    /// The ranges of both sets, in order. Those that overlap are joined; adjacent ones are not.
    ///
    /// # Cost
    /// O(1) for each range of either set.
    #[must_use]
    pub fn union<'a>(&'a self, other: &'a Self) -> Union<'a, R> {
        Union::new([&self.map.tree, &other.map.tree])
    }

    /// The ranges that are in both sets, in order.
    ///
    /// # Cost
    /// As [`union`](Self::union).
    #[must_use]
    pub fn intersection<'a>(&'a self, other: &'a Self) -> Intersection<'a, R> {
        Intersection::new([&self.map.tree, &other.map.tree])
    }
}

impl<R: Span> Default for SpanSet<R> {
    fn default() -> Self {
        Self::new()
    }
}

impl<R: Span> PartialOrd for SpanSet<R> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<R: Span> Ord for SpanSet<R> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.map.cmp(&other.map)
    }
}

impl<R: Span> fmt::Debug for SpanSet<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl<R: Span> Extend<R> for SpanSet<R> {
    fn extend<I: IntoIterator<Item = R>>(&mut self, ranges: I) {
        ranges.into_iter().for_each(|range| self.insert(range));
    }
}

impl<R: Span> FromIterator<R> for SpanSet<R> {
    fn from_iter<I: IntoIterator<Item = R>>(ranges: I) -> Self {
        let mut set = Self::new();
        set.extend(ranges);
        set
    }
}

impl<R: Span, const N: usize> From<[R; N]> for SpanSet<R> {
    fn from(ranges: [R; N]) -> Self {
        ranges.into_iter().collect()
    }
}

impl<R: Span> IntoIterator for SpanSet<R> {
    type Item = R;
    type IntoIter = Ranges<IntoIter<R, ()>>;

    fn into_iter(self) -> Self::IntoIter {
        Ranges(self.map.into_iter())
    }
}

impl<'a, R: Span> IntoIterator for &'a SpanSet<R> {
    type Item = &'a R;
    type IntoIter = Ranges<Iter<'a, R, ()>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<R: Span> BitAnd for &SpanSet<R> {
    type Output = SpanSet<R>;

    fn bitand(self, other: Self) -> SpanSet<R> {
        self.intersection(other).collect()
    }
}

impl<R: Span> BitOr for &SpanSet<R> {
    type Output = SpanSet<R>;

    fn bitor(self, other: Self) -> SpanSet<R> {
        self.union(other).collect()
    }
}
