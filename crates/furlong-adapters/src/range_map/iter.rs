//! Iteration over ranges and over the gaps between them.

use alloc::vec::{self, Vec};
use core::iter::FusedIterator;
use core::marker::PhantomData;
use core::num::NonZeroUsize;

use furlong::addr::{Address, Extent};
use furlong::maple;
use furlong::maple::Standard;
use slab::Slab;

use super::span::Span;
use super::span_map::{SpanMap, slot};

/// A tree's entries with their keys, in order.
pub(super) type Entries<'a, K> = maple::Iter<'a, K, NonZeroUsize, Standard>;

/// The entries in a window, from both ends.
struct Walk<'a, R: Span, V> {
    map: &'a SpanMap<R, V>,
    front: Entries<'a, R::Key>,
    /// Made at the first call from the back, which most iterations never do.
    back: Option<maple::IterBack<'a, R::Key, NonZeroUsize, Standard>>,
    window: Extent<R::Key>,
    /// The starts of the entries returned last from each end, where the two stop.
    lowest: Option<R::Key>,
    highest: Option<R::Key>,
}

impl<'a, R: Span, V> Walk<'a, R, V> {
    #[inline]
    fn new(map: &'a SpanMap<R, V>, window: Extent<R::Key>) -> Self {
        Self {
            map,
            front: map.tree.range(window),
            back: None,
            window,
            lowest: None,
            highest: None,
        }
    }

    #[inline]
    fn next(&mut self) -> Option<(&'a R, &'a V)> {
        let (at, entry) = self.front.next()?;
        if self.highest.is_some_and(|highest| highest <= at.start()) {
            return None;
        }
        self.lowest = Some(at.start());
        Some(self.map.lend(entry))
    }

    fn next_back(&mut self) -> Option<(&'a R, &'a V)> {
        let (tree, window) = (&self.map.tree, self.window);
        let back = self.back.get_or_insert_with(|| tree.range_back(window));
        let (at, entry) = back.next()?;
        if self.lowest.is_some_and(|lowest| at.start() <= lowest) {
            return None;
        }
        self.highest = Some(at.start());
        Some(self.map.lend(entry))
    }
}

/// All ranges with their values, in order.
pub struct Iter<'a, R: Span, V> {
    walk: Walk<'a, R, V>,
    left: usize,
}

impl<'a, R: Span, V> Iter<'a, R, V> {
    pub(super) fn new(map: &'a SpanMap<R, V>) -> Self {
        let all = Extent::from_last(R::Key::from_raw(0), R::Key::LAST);
        Self {
            walk: Walk::new(map, all.expect("0 is the first key")),
            left: map.len(),
        }
    }
}

impl<'a, R: Span, V> Iterator for Iter<'a, R, V> {
    type Item = (&'a R, &'a V);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let next = self.walk.next()?;
        self.left -= 1;
        Some(next)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }

    /// A leaf at a time, which is faster.
    #[inline]
    fn fold<B, F: FnMut(B, Self::Item) -> B>(self, init: B, mut f: F) -> B {
        let Walk {
            map,
            front,
            highest,
            ..
        } = self.walk;
        front.fold(init, |all, (at, entry)| {
            if highest.is_none_or(|highest| at.start() < highest) {
                f(all, map.lend(entry))
            } else {
                all
            }
        })
    }
}

impl<R: Span, V> DoubleEndedIterator for Iter<'_, R, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let next = self.walk.next_back()?;
        self.left -= 1;
        Some(next)
    }
}

/// All ranges with their values, in order, taken out of their map.
pub struct IntoIter<R, V> {
    order: vec::IntoIter<usize>,
    slots: Slab<(R, V)>,
}

impl<R: Span, V> IntoIter<R, V> {
    pub(super) fn new(map: SpanMap<R, V>) -> Self {
        let order: Vec<_> = map.tree.iter().map(|(_, entry)| slot(entry)).collect();
        Self {
            order: order.into_iter(),
            slots: map.slots,
        }
    }
}

impl<R, V> Iterator for IntoIter<R, V> {
    type Item = (R, V);

    fn next(&mut self) -> Option<(R, V)> {
        self.order.next().map(|slot| self.slots.remove(slot))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.order.size_hint()
    }
}

impl<R, V> DoubleEndedIterator for IntoIter<R, V> {
    fn next_back(&mut self) -> Option<(R, V)> {
        self.order.next_back().map(|slot| self.slots.remove(slot))
    }
}

/// The ranges that overlap a range of type `Q`, with their values, in order.
pub struct Overlapping<'a, R: Span, V, Q = &'a R> {
    walk: Option<Walk<'a, R, V>>,
    query: PhantomData<Q>,
}

impl<'a, R: Span, V, Q> Overlapping<'a, R, V, Q> {
    pub(super) fn new(map: &'a SpanMap<R, V>, range: &R) -> Self {
        let (start, _) = range.ends();
        // A range without keys finds the entry that contains its start, if that starts below its
        // end.
        let starts_below = |last: &R::Key| {
            let found = map.tree.view().get(start);
            found.is_some_and(|(at, _)| at.start() <= *last)
        };
        let last = range
            .last()
            .filter(|last| start <= *last || starts_below(last));
        let window = last.and_then(|last| Extent::from_last(start, last.max(start)));
        Self {
            walk: window.map(|window| Walk::new(map, window)),
            query: PhantomData,
        }
    }
}

impl<'a, R: Span, V, Q> Iterator for Overlapping<'a, R, V, Q> {
    type Item = (&'a R, &'a V);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.walk.as_mut()?.next()
    }
}

impl<R: Span, V, Q> DoubleEndedIterator for Overlapping<'_, R, V, Q> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.walk.as_mut()?.next_back()
    }
}

impl<R: Span, V, Q> FusedIterator for Overlapping<'_, R, V, Q> {}

/// The largest possible parts of a range that are in no range of a map, in order.
pub struct Gaps<'a, R: Span, V> {
    taken: Option<Entries<'a, R::Key>>,
    /// The part that was not yet looked at.
    rest: Option<Extent<R::Key>>,
    values: PhantomData<&'a V>,
}

impl<'a, R: Span, V> Gaps<'a, R, V> {
    pub(super) fn new(map: &'a SpanMap<R, V>, outer: &R) -> Self {
        let rest = outer.extent();
        Self {
            taken: rest.map(|rest| map.tree.range(rest)),
            rest,
            values: PhantomData,
        }
    }
}

impl<R: Span, V> Iterator for Gaps<'_, R, V> {
    type Item = R;

    fn next(&mut self) -> Option<R> {
        while let Some(rest) = self.rest {
            let Some((taken, _)) = self.taken.as_mut().and_then(Iterator::next) else {
                self.rest = None;
                return Some(R::of(rest));
            };
            let above = taken.last().checked_add(1);
            self.rest = above.and_then(|above| Extent::from_last(above, rest.last()));
            if let Some(gap) = Extent::from_end(rest.start(), taken.start()) {
                return Some(R::of(gap));
            }
        }
        None
    }
}

impl<R: Span, V> FusedIterator for Gaps<'_, R, V> {}

/// The ranges of a map's iterator, without the values.
pub struct Ranges<I>(pub(super) I);

impl<R, V, I: Iterator<Item = (R, V)>> Iterator for Ranges<I> {
    type Item = R;

    #[inline]
    fn next(&mut self) -> Option<R> {
        self.0.next().map(|(range, _)| range)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }

    #[inline]
    fn fold<B, F: FnMut(B, R) -> B>(self, init: B, mut f: F) -> B {
        self.0.fold(init, |all, (range, _)| f(all, range))
    }
}

impl<R, V, I: DoubleEndedIterator<Item = (R, V)>> DoubleEndedIterator for Ranges<I> {
    fn next_back(&mut self) -> Option<R> {
        self.0.next_back().map(|(range, _)| range)
    }
}

impl<R, V, I: FusedIterator<Item = (R, V)>> FusedIterator for Ranges<I> {}
