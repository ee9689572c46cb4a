//! gfx-rs's `RangeAllocator`: best fit over a sorted vector of free ranges.
//!
//! wgpu allocates descriptors with it. It chooses the place itself, the smallest gap. So it has no
//! exact range, no window, and no lowest or highest place.

use std::ops::Range;

use furlong::addr::{Extent, Iova};
use furlong_experiments_devices::iova_gap::{AddressAllocator, Ask};
use furlong_lab::model::Failure;
use furlong_spec::iova::Place;
use range_alloc::RangeAllocator;

use super::extents::{extent, granules, lay};
use super::{Align, Offers, Peer};

/// gfx-rs's allocator, in granules: in bytes a range could not reach the end of 64 bits.
pub struct RangeAlloc {
    theirs: RangeAllocator<u64>,
    shift: u32,
}

impl AddressAllocator for RangeAlloc {
    type Grant = Range<u64>;

    fn new(space: Extent<Iova>, granule: u64) -> Result<Self, Failure> {
        let (all, shift) = granules(space, granule)?;
        let theirs = RangeAllocator::new(all);
        Ok(Self { theirs, shift })
    }

    /// Reserves gaps and extents in ascending order, since it chooses the place. Then it releases
    /// the gaps, in the order of the extents behind them.
    fn fill(&mut self, extents: &[Extent<Iova>]) -> Result<Vec<Range<u64>>, Failure> {
        let first = self.theirs.initial_range().start << self.shift;
        let laid = lay(extents, first, |start, bytes| {
            let range = self.theirs.allocate_range(bytes >> self.shift).ok();
            range.filter(|range| range.start << self.shift == start)
        })?;
        for gap in laid.gaps {
            self.theirs.free_range(gap);
        }
        Ok(laid.grants)
    }

    #[inline]
    fn reserve(&mut self, ask: &Ask) -> Option<(u64, Range<u64>)> {
        let (len, align) = (ask.size >> self.shift, ask.align >> self.shift);
        let range = if align > 1 {
            self.theirs.allocate_range_aligned(len, align)
        } else {
            self.theirs.allocate_range(len)
        };
        let range = range.ok()?;
        Some((range.start << self.shift, range))
    }

    #[inline]
    fn release(&mut self, grant: Range<u64>) {
        self.theirs.free_range(grant);
    }

    fn reserved(&self) -> Result<Vec<Extent<Iova>>, Failure> {
        let ranges = self.theirs.allocated_ranges();
        let bytes = |range: Range<u64>| {
            extent(
                range.start << self.shift,
                (range.end << self.shift).wrapping_sub(1),
            )
        };
        ranges.map(bytes).collect()
    }
}

impl Peer for RangeAlloc {
    const OFFERS: Offers = Offers {
        places: &[Place::Best],
        align: Align::Anywhere,
        reserved: true,
        ..Offers::ANY_PLACE
    };
}
