//! rangemap: a map of ranges over a `BTreeMap`. It merges neighbours with equal values, so every
//! segment has a number of its own.

use std::ops::Range;

use furlong_experiments::phys_lookup::SegmentIndex;
use furlong_lab::model::Failure;
use rangemap::RangeMap;

/// A map of half-open ranges.
pub struct Ranges(RangeMap<u64, usize>);

impl SegmentIndex for Ranges {
    fn new(segments: &[(Range<u64>, usize)]) -> Result<Self, Failure> {
        Ok(Self(segments.iter().cloned().collect()))
    }

    #[inline]
    fn find(&self, frame: u64) -> Option<(u64, usize)> {
        let (frames, number) = self.0.get_key_value(&frame)?;
        Some((frames.start, *number))
    }
}
