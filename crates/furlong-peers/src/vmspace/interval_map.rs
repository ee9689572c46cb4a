//! iset: a red-black tree of intervals, each node with the ends of its subtree. It can find all
//! overlaps; here areas never overlap.

use furlong_experiments::vmspace_index::{AreaIndex, Span};
use iset::IntervalMap;

/// A map of half-open intervals.
#[derive(Clone, Default)]
pub struct Overlaps(IntervalMap<u64, u32>);

impl AreaIndex for Overlaps {
    fn new() -> Self {
        Self::default()
    }

    fn store(&mut self, span: Span, value: u32) {
        self.0.insert(span.first..span.last + 1, value);
    }

    fn erase(&mut self, span: Span) -> Option<u32> {
        self.0.remove(span.first..span.last + 1)
    }

    #[inline]
    fn find(&self, address: u64) -> Option<u32> {
        self.0.values_overlap(address).next().copied()
    }

    fn sum(&self) -> u64 {
        self.0.iter(..).fold(0, |sum, (range, value)| {
            let (first, last) = (range.start, range.end - 1);
            sum.wrapping_add(Span { first, last }.mixed(*value))
        })
    }

    fn duplicate(&self) -> Self {
        self.clone()
    }

    fn duplicate_part(&self, keeps: impl Fn(u32) -> bool) -> Self {
        let kept = self.0.iter(..).filter(|(_, value)| keeps(**value));
        let kept = kept.map(|(range, value)| (range, *value));
        Self(IntervalMap::from_sorted(kept))
    }

    /// Walks the areas of the window until a gap is large enough.
    fn lowest(&self, window: Span, len: u64) -> Option<u64> {
        let mut free = window.first;
        for taken in self.0.intervals(window.first..=window.last) {
            if taken.start > free && taken.start - free >= len {
                return Some(free);
            }
            free = taken.end;
        }
        let rest = (window.last + 1).checked_sub(free)?;
        (rest >= len).then_some(free)
    }

    /// Never called: its iterators only ascend.
    fn highest(&self, window: Span, len: u64) -> Option<u64> {
        unreachable!("{len} bytes from above in {window:?} are not asked for")
    }
}
