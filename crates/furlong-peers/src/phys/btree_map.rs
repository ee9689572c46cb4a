//! The standard library's `BTreeMap`, keyed by first frame: the usual handwritten index if memory
//! is not in an array.

use std::collections::BTreeMap;
use std::ops::Range;

use furlong_experiments::phys_lookup::SegmentIndex;
use furlong_lab::model::Failure;

/// Segments by their first frame: end and number.
pub struct ByStart(BTreeMap<u64, (u64, usize)>);

impl SegmentIndex for ByStart {
    fn new(segments: &[(Range<u64>, usize)]) -> Result<Self, Failure> {
        let entry = |(frames, number): &(Range<u64>, usize)| (frames.start, (frames.end, *number));
        Ok(Self(segments.iter().map(entry).collect()))
    }

    #[inline]
    fn find(&self, frame: u64) -> Option<(u64, usize)> {
        let (start, (end, number)) = self.0.range(..=frame).next_back()?;
        (frame < *end).then_some((*start, *number))
    }
}
