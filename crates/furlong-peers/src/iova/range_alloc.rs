//! gfx-rs's `RangeAllocator`: best fit over a sorted vector of free ranges.
//!
//! wgpu allocates descriptors with it. It chooses the place itself, the smallest gap. So it has no
//! exact range, no window, and no lowest or highest place.

use std::ops::Range;

use furlong::addr::{Address, Extent, Iova};
use furlong_experiments::iova_gap::{AddressAllocator, Ask, PAGE};
use furlong_lab::model::Failure;
use furlong_spec::iova::{Geometry, Place};
use range_alloc::RangeAllocator;

use super::extents::{extent, lay, not_filled};
use super::{Align, Offers, Peer};

/// gfx-rs's allocator, in granules: in bytes a range could not reach the end of 64 bits.
#[derive(Debug)]
pub struct RangeAlloc {
    theirs: RangeAllocator<u64>,
    shift: u32,
}

impl RangeAlloc {
    /// `None` if the end of the space does not fit in 64 bits.
    fn with_granule(space: Extent<Iova>, granule: u64) -> Option<Self> {
        let shift = granule.trailing_zeros();
        let end = (space.last().raw() >> shift).checked_add(1)?;
        Some(Self {
            theirs: RangeAllocator::new(space.start().raw() >> shift..end),
            shift,
        })
    }
}

impl AddressAllocator for RangeAlloc {
    type Grant = Range<u64>;

    fn new(space: Extent<Iova>) -> Result<Self, Failure> {
        let theirs = Self::with_granule(space, PAGE);
        theirs.ok_or_else(|| Failure("it cannot represent the last address of 64 bits".to_owned()))
    }

    /// Reserves gaps and extents in ascending order, since it chooses the place. Then it releases
    /// the gaps, in the order of the extents behind them.
    fn fill(&mut self, extents: &[Extent<Iova>]) -> Result<Vec<Range<u64>>, Failure> {
        let first = self.theirs.initial_range().start << self.shift;
        let laid = lay(extents, first, |start, bytes| {
            let range = self.theirs.allocate_range(bytes >> self.shift).ok();
            range.filter(|range| range.start << self.shift == start)
        });
        let laid = laid.ok_or_else(not_filled)?;
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

    fn over(geometry: Geometry) -> Option<Self> {
        Self::with_granule(geometry.extent(), geometry.granule)
    }
}
