//! nodit: a map of intervals over a `BTreeMap` whose comparisons are closures.

use std::ops::Range;

use furlong_experiments::phys_lookup::SegmentIndex;
use furlong_lab::model::Failure;
use nodit::interval::ii;
use nodit::{Interval, NoditMap};

/// A map of inclusive intervals.
pub struct Intervals(NoditMap<u64, Interval<u64>, usize>);

impl SegmentIndex for Intervals {
    fn new(segments: &[(Range<u64>, usize)]) -> Result<Self, Failure> {
        let entry =
            |(frames, number): &(Range<u64>, usize)| (ii(frames.start, frames.end - 1), *number);
        let map = NoditMap::from_iter_strict(segments.iter().map(entry));
        map.map(Self)
            .map_err(|_| Failure("two segments overlap".to_owned()))
    }

    #[inline]
    fn find(&self, frame: u64) -> Option<(u64, usize)> {
        let (frames, number) = self.0.get_key_value_at_point(&frame).ok()?;
        Some((*frames.start(), *number))
    }
}
