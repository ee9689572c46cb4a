//! rangemap: a set of ranges over a `BTreeMap`, and an iterator over its gaps.
//!
//! litebox reserves kernel addresses with it, and rust-vmm's `vm-memory` translates them. It is not
//! an allocator; this file has the code that its users write: take the first gap that is large
//! enough. Its set is the fastest of its types. It counts granules, because its ranges are
//! half-open and could not reach the end of 64 bits. It merges neighbours, so it cannot tell if a
//! released extent was reserved as such.

use std::ops::Range;

use furlong::addr::{Address, Extent, Iova};
use furlong_experiments_devices::iova_gap::{self, AddressAllocator, Ask};
use furlong_lab::model::Failure;
use rangemap::RangeSet;

use super::extents::{extent, granules};
use super::starts::{Starts, highest_in, lowest_in};
use super::{Offers, Peer};

/// The set of taken granules.
pub struct RangeMap {
    taken: RangeSet<u64>,
    space: Range<u64>,
    shift: u32,
    starts: Starts,
}

impl RangeMap {
    /// The window of `ask` in granules, limited to the space.
    #[inline]
    fn window(&self, ask: &Ask) -> Option<Range<u64>> {
        let start = self.space.start.max(ask.low >> self.shift);
        let last = (self.space.end - 1).min(ask.high >> self.shift);
        (start <= last).then_some(start..last + 1)
    }

    /// First and last byte of a gap.
    #[inline]
    fn bytes(&self, gap: &Range<u64>) -> (u64, u64) {
        let first = gap.start << self.shift;
        (first, (gap.end << self.shift).wrapping_sub(1))
    }

    /// The granules of an extent of the space.
    fn granules(&self, extent: Extent<Iova>) -> Option<Range<u64>> {
        let (first, last) = (extent.start().raw(), extent.last().raw());
        let (first, last) = (first >> self.shift, last >> self.shift);
        let is_inside = self.space.start <= first && last < self.space.end;
        is_inside.then(|| first..last + 1)
    }

    #[inline]
    fn lowest(&self, ask: &Ask) -> Option<u64> {
        let window = self.window(ask)?;
        let len = ask.size >> self.shift;
        let mut gaps = self
            .taken
            .gaps(&window)
            .filter(|gap| gap.end - gap.start >= len);
        gaps.find_map(|gap| {
            let (first, last) = self.bytes(&gap);
            lowest_in(first, last, ask)
        })
    }

    /// Its gaps can be iterated in ascending order only, so this iterates the taken ranges
    /// downwards.
    #[inline]
    fn highest(&self, ask: &Ask) -> Option<u64> {
        let window = self.window(ask)?;
        let len = ask.size >> self.shift;
        let mut end = window.end;
        for taken in self.taken.overlapping(&window).rev() {
            if end.saturating_sub(taken.end) >= len {
                let (first, last) = self.bytes(&(taken.end..end));
                if let Some(start) = highest_in(first, last, ask) {
                    return Some(start);
                }
            }
            end = taken.start;
        }
        if end <= window.start {
            return None;
        }
        let (first, last) = self.bytes(&(window.start..end));
        highest_in(first, last, ask)
    }

    fn random(&mut self, ask: &Ask, seed: u64) -> Option<u64> {
        let window = self.window(ask)?;
        let mut starts = std::mem::take(&mut self.starts);
        starts.clear();
        for gap in self.taken.gaps(&window) {
            let (first, last) = self.bytes(&gap);
            starts.count(first, last, ask);
        }
        let drawn = starts.draw(seed, ask.align);
        self.starts = starts;
        drawn
    }
}

impl AddressAllocator for RangeMap {
    type Grant = Range<u64>;

    fn new(space: Extent<Iova>, granule: u64) -> Result<Self, Failure> {
        let (space, shift) = granules(space, granule)?;
        Ok(Self {
            taken: RangeSet::new(),
            space,
            shift,
            starts: Starts::default(),
        })
    }

    fn reserve_at(&mut self, extent: Extent<Iova>) -> Option<Range<u64>> {
        let range = self.granules(extent)?;
        if self.taken.overlaps(&range) {
            return None;
        }
        self.taken.insert(range.clone());
        Some(range)
    }

    #[inline]
    fn reserve(&mut self, ask: &Ask) -> Option<(u64, Range<u64>)> {
        let start = match ask.place {
            iova_gap::Place::Lowest => self.lowest(ask),
            iova_gap::Place::Highest => self.highest(ask),
            iova_gap::Place::Random(seed) => self.random(ask, seed),
        }?;
        let first = start >> self.shift;
        let range = first..first + (ask.size >> self.shift);
        self.taken.insert(range.clone());
        Some((start, range))
    }

    #[inline]
    fn release(&mut self, grant: Range<u64>) {
        self.taken.remove(grant);
    }

    fn reserved(&self) -> Result<Vec<Extent<Iova>>, Failure> {
        let bytes = |taken: &Range<u64>| {
            let (first, last) = self.bytes(taken);
            extent(first, last)
        };
        self.taken.iter().map(bytes).collect()
    }
}

impl Peer for RangeMap {
    const OFFERS: Offers = Offers::OF_A_MAP;
}
