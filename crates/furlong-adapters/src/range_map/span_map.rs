//! The map: a tree of places, and a slab with a range and a value at each place.

use alloc::vec::Vec;
use core::borrow::Borrow;
use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::num::NonZeroUsize;
use core::panic::{RefUnwindSafe, UnwindSafe};

use furlong::addr::{Address, Extent};
use furlong::maple::{Displaced, Maple, Standard};
use slab::Slab;

use super::iter::{Gaps, IntoIter, Iter, Overlapping};
use super::span::Span;

/// A map from ranges of keys to values: a [`RangeMap`](super::RangeMap) or a
/// [`RangeInclusiveMap`](super::RangeInclusiveMap). Adjacent ranges with equal values are merged.
#[derive(Clone)]
pub struct SpanMap<R: Span, V> {
    pub(super) tree: Tree<R>,
    /// Ranges are kept beside their values because the interface lends them by reference.
    pub(super) slots: Slab<(R, V)>,
}

/// An entry is the key of a slot, plus one: entries of a tree are not 0.
pub(super) type Tree<R> = Maple<<R as Span>::Key, NonZeroUsize>;

/// The keys of a range, and its entry.
type Found<R> = (Extent<<R as Span>::Key>, NonZeroUsize);

/// The message for a range without keys.
const EMPTY: &str = "the range has a key";

/// The message if there is no memory; `rangemap` panics then, too.
const MEMORY: &str = "there is memory for another range";

/// The key of an entry's slot.
#[inline]
pub(super) fn slot(entry: NonZeroUsize) -> usize {
    entry.get() - 1
}

fn entry(slot: usize) -> NonZeroUsize {
    NonZeroUsize::MIN.saturating_add(slot)
}

impl<R: Span, V> SpanMap<R, V> {
    /// An empty map.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            tree: Maple::new(),
            slots: Slab::new(),
        }
    }

    /// Removes all ranges.
    pub fn clear(&mut self) {
        drop(core::mem::take(self));
    }

    /// The number of ranges.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tree.len()
    }

    /// True if there is no range.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tree.is_empty()
    }

    /// The value of the range that contains `key`.
    ///
    /// # Cost
    /// O(log n).
    #[must_use]
    #[inline]
    pub fn get(&self, key: &R::Key) -> Option<&V> {
        Some(&self.slots[slot(self.tree.load(*key)?)].1)
    }

    /// The same, with its range.
    #[must_use]
    #[inline]
    pub fn get_key_value(&self, key: &R::Key) -> Option<(&R, &V)> {
        Some(self.lend(self.tree.load(*key)?))
    }

    /// True if a range contains `key`.
    #[must_use]
    #[inline]
    pub fn contains_key(&self, key: &R::Key) -> bool {
        self.tree.load(*key).is_some()
    }

    /// All ranges with their values, in order.
    #[must_use]
    pub fn iter(&self) -> Iter<'_, R, V> {
        Iter::new(self)
    }

    /// The ranges that overlap `range`, in order.
    ///
    /// An empty half-open range overlaps the range that it lies inside.
    ///
    /// # Cost
    /// O(log n), and O(1) for each range.
    pub fn overlapping<Q: Borrow<R>>(&self, range: Q) -> Overlapping<'_, R, V, Q> {
        Overlapping::new(self, range.borrow())
    }

    /// True if a range overlaps `range`.
    #[must_use]
    pub fn overlaps(&self, range: &R) -> bool {
        let found = self.tree.find(range.ends().0);
        let last = range.last();
        found.is_some_and(|(at, _)| last.is_some_and(|last| at.start() <= last))
    }

    /// The largest possible parts of `outer` that are in no range, in order.
    ///
    /// # Cost
    /// As [`overlapping`](Self::overlapping).
    #[must_use]
    pub fn gaps(&self, outer: &R) -> Gaps<'_, R, V> {
        Gaps::new(self, outer)
    }

    /// The first range.
    #[must_use]
    pub fn first_range_value(&self) -> Option<(&R, &V)> {
        let first = R::Key::from_raw(0);
        Some(self.lend(self.tree.find(first)?.1))
    }

    /// The last range.
    #[must_use]
    pub fn last_range_value(&self) -> Option<(&R, &V)> {
        Some(self.lend(self.tree.find_back(R::Key::LAST)?.1))
    }

    #[inline]
    pub(super) fn lend(&self, entry: NonZeroUsize) -> (&R, &V) {
        let (range, value) = &self.slots[slot(entry)];
        (range, value)
    }

    /// The ranges around `at`: one that starts below it and reaches `window`, the first one that
    /// does not end below it, and one that contains the last key of `window`.
    #[inline]
    fn around(&self, at: Extent<R::Key>, window: Extent<R::Key>) -> [Option<Found<R>>; 3] {
        let [below, from] = self.tree.view().beside(at.start());
        let first = below.filter(|(below, _)| window.start() <= below.last());
        let last = from.filter(|(from, _)| from.start() <= window.last());
        // Mostly there is none, or the same one, and a second look-up is not needed.
        let last = match last {
            Some((from, _)) if from.last() < window.last() => self.tree.view().get(window.last()),
            near => near,
        };
        [first, from, last]
    }
}

impl<R: Span, V: PartialEq + Clone> SpanMap<R, V> {
    /// Sets the value of `range`, over all ranges there. It is merged with an adjacent range that
    /// has an equal value. A range that is cut in two clones its value.
    ///
    /// # Panics
    /// If the range is empty, or there is no memory.
    ///
    /// # Cost
    /// O(log n), and O(1) for each range that it overlaps.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "the signature is the original's"
    )]
    pub fn insert(&mut self, range: R, value: V) {
        let at = range.extent().expect(EMPTY);
        let below = at.start().checked_sub(1).unwrap_or(at.start());
        let above = at.last().checked_add(1).unwrap_or(at.last());
        let [first, from, last] = self.around(at, hull(below, above));
        let equal = |(_, entry): &Found<R>| self.slots[slot(*entry)].1 == value;
        let start = first.filter(equal).map_or(at, |(at, _)| at).start();
        let end = last.filter(equal).map_or(at, |(at, _)| at).last();
        let whole = hull(start, end.max(at.last()));
        match from {
            // The same range gets another value.
            Some((old, entry)) if old == whole => {
                let slot = &mut self.slots[slot(entry)];
                let _old = core::mem::replace(slot, (R::of(whole), value));
            }
            _ => self.put(whole, Some(value), [first, last]),
        }
    }

    /// Removes the keys in `range` from all ranges. A range that is cut in two clones its value.
    ///
    /// # Panics
    /// If the range is empty, or there is no memory.
    ///
    /// # Cost
    /// As [`insert`](Self::insert).
    #[expect(
        clippy::needless_pass_by_value,
        reason = "the signature is the original's"
    )]
    pub fn remove(&mut self, range: R) {
        let at = range.extent().expect(EMPTY);
        let [first, from, last] = self.around(at, at);
        if from.is_some_and(|(from, _)| from.start() <= at.last()) {
            self.put(at, None, [first, last]);
        }
    }

    /// Puts a value or a gap at `at`, and cuts the ranges at its ends.
    fn put(&mut self, at: Extent<R::Key>, value: Option<V>, ends: [Option<Found<R>>; 2]) {
        let [first, last] = ends.map(|found| found.filter(|(old, _)| old.overlaps(&at)));
        let lower = first.and_then(|(old, entry)| {
            let rest = Extent::from_end(old.start(), at.start())?;
            Some((rest, slot(entry)))
        });
        let upper = last.and_then(|(old, entry)| {
            let rest = Extent::from_last(at.last().checked_add(1)?, old.last())?;
            Some((rest, slot(entry)))
        });
        // Cloned before anything has changed, because it may panic.
        if let (Some((_, one)), Some((rest, other))) = (lower, upper)
            && one == other
        {
            let copy = self.slots[one].1.clone();
            drop(fill(&mut self.tree, &mut self.slots, rest, copy));
            // There may be no memory for what follows.
            let start = self.slots[one].0.ends().0;
            self.slots[one].0 = R::of(hull(start, at.last()));
        }
        let displaced = match value {
            Some(value) => fill(&mut self.tree, &mut self.slots, at, value),
            None => self.tree.erase_range(at).expect(MEMORY),
        };
        let mut old = displaced.map(|(_, entry)| self.slots.remove(slot(entry)));
        // Both are dropped, even if a drop panics; a vector for a single one would be slow.
        let _old = (old.next(), old.collect::<Vec<_>>());
        // In this order, so that a range cut in two keeps its lower part here.
        for (rest, slot) in [upper, lower].into_iter().flatten() {
            self.slots[slot].0 = R::of(rest);
        }
    }
}

/// Stores a value with a slot of its own. Without memory nothing has changed.
fn fill<'a, R: Span, V>(
    tree: &'a mut Tree<R>,
    slots: &mut Slab<(R, V)>,
    at: Extent<R::Key>,
    value: V,
) -> Displaced<'a, R::Key, NonZeroUsize, Standard> {
    let slot = slots.insert((R::of(at), value));
    let stored = tree.store(at, entry(slot));
    if stored.is_err() {
        slots.remove(slot);
    }
    stored.expect(MEMORY)
}

/// The keys from `start` to `last`, which are in order.
fn hull<K: Address>(start: K, last: K) -> Extent<K> {
    Extent::from_last(start, last).expect("they are in order")
}

// The tree has cells, but a map is changed only through `&mut`, and a panic leaves it whole.
impl<R: Span, V: UnwindSafe> UnwindSafe for SpanMap<R, V> {}
impl<R: Span, V: RefUnwindSafe> RefUnwindSafe for SpanMap<R, V> {}

impl<R: Span, V> Default for SpanMap<R, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<R: Span, V: PartialEq> PartialEq for SpanMap<R, V> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<R: Span, V: Eq> Eq for SpanMap<R, V> {}

impl<R: Span, V: PartialOrd> PartialOrd for SpanMap<R, V> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.ordered().partial_cmp(other.ordered())
    }
}

impl<R: Span, V: Ord> Ord for SpanMap<R, V> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.ordered().cmp(other.ordered())
    }
}

impl<R: Span, V> SpanMap<R, V> {
    /// The ranges as their ends, which have an order.
    fn ordered(&self) -> impl Iterator<Item = ((R::Key, R::Key), &V)> {
        self.iter().map(|(range, value)| (range.ends(), value))
    }
}

impl<R: Span + Hash, V: Hash> Hash for SpanMap<R, V> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_usize(self.len());
        self.iter().for_each(|range| range.hash(state));
    }
}

impl<R: Span, V: fmt::Debug> fmt::Debug for SpanMap<R, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<R: Span, V: PartialEq + Clone> Extend<(R, V)> for SpanMap<R, V> {
    fn extend<I: IntoIterator<Item = (R, V)>>(&mut self, ranges: I) {
        for (range, value) in ranges {
            self.insert(range, value);
        }
    }
}

impl<R: Span, V: PartialEq + Clone> FromIterator<(R, V)> for SpanMap<R, V> {
    fn from_iter<I: IntoIterator<Item = (R, V)>>(ranges: I) -> Self {
        let mut map = Self::new();
        map.extend(ranges);
        map
    }
}

impl<R: Span, V: PartialEq + Clone, const N: usize> From<[(R, V); N]> for SpanMap<R, V> {
    fn from(ranges: [(R, V); N]) -> Self {
        ranges.into_iter().collect()
    }
}

impl<R: Span, V> IntoIterator for SpanMap<R, V> {
    type Item = (R, V);
    type IntoIter = IntoIter<R, V>;

    fn into_iter(self) -> Self::IntoIter {
        IntoIter::new(self)
    }
}

impl<'a, R: Span, V> IntoIterator for &'a SpanMap<R, V> {
    type Item = (&'a R, &'a V);
    type IntoIter = Iter<'a, R, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
