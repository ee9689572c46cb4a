//! Union and intersection of two sets, walked side by side.

use core::iter::{FusedIterator, Peekable};

use furlong::addr::Extent;

use super::iter::Entries;
use super::span::Span;
use super::span_map::Tree;

/// The ranges of a set, and a look at the next one.
type Side<'a, R> = Peekable<Entries<'a, <R as Span>::Key>>;

/// The ranges of two sets, in order. Those that overlap are joined; adjacent ones are not.
pub struct Union<'a, R: Span> {
    sides: [Side<'a, R>; 2],
}

/// The ranges that are in both of two sets, in order.
pub struct Intersection<'a, R: Span> {
    sides: [Side<'a, R>; 2],
}

fn sides<'a, R: Span>(trees: [&'a Tree<R>; 2]) -> [Side<'a, R>; 2] {
    trees.map(|tree| tree.iter().peekable())
}

impl<'a, R: Span> Union<'a, R> {
    pub(super) fn new(trees: [&'a Tree<R>; 2]) -> Self {
        let sides = sides::<R>(trees);
        Self { sides }
    }

    /// The next range of either set, the lower one first, if it starts at `last` or before.
    fn lower(&mut self, last: R::Key) -> Option<Extent<R::Key>> {
        let [left, right] = &mut self.sides;
        let start = |side: &mut Side<'a, R>| side.peek().map(|(at, _)| at.start());
        let side = match (start(left), start(right)) {
            (Some(one), Some(other)) if other < one => right,
            (None, _) => right,
            _ => left,
        };
        Some(side.next_if(|(at, _)| at.start() <= last)?.0)
    }
}

impl<R: Span> Iterator for Union<'_, R> {
    type Item = R;

    fn next(&mut self) -> Option<R> {
        let first = self.lower(furlong::addr::Address::LAST)?;
        let mut last = first.last();
        while let Some(next) = self.lower(last) {
            last = last.max(next.last());
        }
        Extent::from_last(first.start(), last).map(R::of)
    }
}

impl<R: Span> FusedIterator for Union<'_, R> {}

impl<'a, R: Span> Intersection<'a, R> {
    pub(super) fn new(trees: [&'a Tree<R>; 2]) -> Self {
        let sides = sides::<R>(trees);
        Self { sides }
    }
}

impl<R: Span> Iterator for Intersection<'_, R> {
    type Item = R;

    fn next(&mut self) -> Option<R> {
        let [left, right] = &mut self.sides;
        loop {
            let (one, other) = (left.peek()?.0, right.peek()?.0);
            // The one that ends first overlaps no later range of the other set.
            let ended = if one.last() < other.last() {
                &mut *left
            } else {
                &mut *right
            };
            ended.next();
            if let Some(both) = one.intersection(&other) {
                return Some(R::of(both));
            }
        }
    }
}
