//! nodit: a map of intervals over a `BTreeMap` whose comparisons are closures.

use furlong_experiments::vmspace_index::{AreaIndex, Span};
use nodit::interval::ii;
use nodit::{Interval, NoditMap};

use super::range_map::highest_between;

/// A map of inclusive intervals.
#[derive(Clone, Default)]
pub struct Intervals(NoditMap<u64, Interval<u64>, u32>);

fn span(interval: &Interval<u64>) -> Span {
    Span {
        first: *interval.start(),
        last: *interval.end(),
    }
}

impl AreaIndex for Intervals {
    fn new() -> Self {
        Self(NoditMap::new())
    }

    fn store(&mut self, span: Span, value: u32) {
        let inserted = self.0.insert_strict(ii(span.first, span.last), value);
        inserted.expect("nothing is in the span");
    }

    fn erase(&mut self, span: Span) -> Option<u32> {
        let mut removed = self.0.remove_overlapping(&ii(span.first, span.last));
        removed.next().map(|(_, value)| value)
    }

    #[inline]
    fn find(&self, address: u64) -> Option<u32> {
        self.0.get_at_point(&address).copied()
    }

    fn sum(&self) -> u64 {
        self.0.iter().fold(0, |sum, (interval, value)| {
            sum.wrapping_add(span(interval).mixed(*value))
        })
    }

    fn duplicate(&self) -> Self {
        self.clone()
    }

    fn duplicate_part(&self, keeps: impl Fn(u32) -> bool) -> Self {
        let kept = self.0.iter().filter(|(_, value)| keeps(**value));
        let kept = kept.map(|(interval, value)| (*interval, *value));
        Self(NoditMap::from_iter_strict(kept).expect("they do not overlap"))
    }

    fn lowest(&self, window: Span, len: u64) -> Option<u64> {
        let mut gaps = self.0.gaps_trimmed(&ii(window.first, window.last));
        let gap = gaps.find(|gap| gap.end() - gap.start() >= len - 1)?;
        Some(*gap.start())
    }

    /// Its gaps can be iterated in ascending order only; taken intervals in both.
    fn highest(&self, window: Span, len: u64) -> Option<u64> {
        let taken = self.0.overlapping(&ii(window.first, window.last)).rev();
        highest_between(taken.map(|(interval, _)| span(interval)), window, len)
    }
}
