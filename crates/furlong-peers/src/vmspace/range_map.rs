//! rangemap: a map of ranges over a `BTreeMap`, used by rust-vmm and others.
//!
//! It merges neighbours with equal values, so every area has a number of its own. It does not
//! return the removed value, which is looked up first.

use std::ops::RangeInclusive;

use furlong_experiments::vmspace_index::{AreaIndex, Span};
use rangemap::RangeInclusiveMap;

/// A map of inclusive ranges.
#[derive(Clone, Default)]
pub struct Ranges(RangeInclusiveMap<u64, u32>);

impl AreaIndex for Ranges {
    fn new() -> Self {
        Self::default()
    }

    fn store(&mut self, span: Span, value: u32) {
        self.0.insert(span.first..=span.last, value);
    }

    fn erase(&mut self, span: Span) -> Option<u32> {
        let value = self.0.get(&span.first).copied();
        self.0.remove(span.first..=span.last);
        value
    }

    #[inline]
    fn find(&self, address: u64) -> Option<u32> {
        self.0.get(&address).copied()
    }

    fn sum(&self) -> u64 {
        self.0.iter().fold(0, |sum, (range, value)| {
            sum.wrapping_add(span(range).mixed(*value))
        })
    }

    fn duplicate(&self) -> Self {
        self.clone()
    }

    fn duplicate_part(&self, keeps: impl Fn(u32) -> bool) -> Self {
        let kept = self.0.iter().filter(|(_, value)| keeps(**value));
        Self(kept.map(|(range, value)| (range.clone(), *value)).collect())
    }

    fn lowest(&self, window: Span, len: u64) -> Option<u64> {
        let all = window.first..=window.last;
        let mut gaps = self.0.gaps(&all);
        let gap = gaps.find(|gap| gap.end() - gap.start() >= len - 1)?;
        Some(*gap.start())
    }

    /// Its gaps can be iterated in ascending order only; taken ranges in both.
    fn highest(&self, window: Span, len: u64) -> Option<u64> {
        let taken = self.0.overlapping(window.first..=window.last).rev();
        highest_between(taken.map(|(range, _)| span(range)), window, len)
    }
}

fn span(range: &RangeInclusive<u64>) -> Span {
    let (first, last) = (*range.start(), *range.end());
    Span { first, last }
}

/// The start of the highest gap of `len` bytes in a window, from its areas, the highest first.
#[inline]
pub(super) fn highest_between(
    taken: impl Iterator<Item = Span>,
    window: Span,
    len: u64,
) -> Option<u64> {
    let mut end = window.last + 1;
    for area in taken {
        let free = area.last + 1;
        if end >= free && end - free >= len {
            return Some(end - len);
        }
        end = area.first;
    }
    let room = end.checked_sub(window.first)?;
    (room >= len).then(|| end - len)
}
