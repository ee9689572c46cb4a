//! Sebastian Aaltonen's offset allocator in Rust: bins of gaps, one bit each, constant time.
//!
//! Bevy places meshes in GPU buffers with it. It chooses offsets below 2^32 itself: no exact range,
//! no alignment, no window, no lowest place. A gap is in the bin of the next smaller of some 240
//! sizes, and only bins without gaps that are too small are searched.

use furlong::addr::{Address, Extent, Iova};
use furlong_experiments_devices::iova_gap::{AddressAllocator, Ask};
use furlong_lab::model::Failure;
use offset_allocator::{Allocation, Allocator};

use super::extents::lay;
use super::{Offers, Peer};

/// The most gaps and extents together: those of the largest workload, and a few more. Arrays for
/// all of them are allocated at the start. A small space needs fewer.
const NODES_MAX: u32 = (1 << 18) + 64;

/// Aaltonen's allocator, in granules; it supports fewer than 2^32 of them.
pub struct OffsetAllocator {
    theirs: Allocator,
    first: u64,
    shift: u32,
    granules: u32,
    /// The extents reserved when it was filled, since it cannot list them.
    filled: Vec<Extent<Iova>>,
}

impl OffsetAllocator {
    #[inline]
    fn start(&self, allocation: Allocation) -> u64 {
        self.first + (u64::from(allocation.offset) << self.shift)
    }

    fn allocate(&mut self, bytes: u64) -> Option<Allocation> {
        self.theirs
            .allocate(u32::try_from(bytes >> self.shift).ok()?)
    }
}

impl AddressAllocator for OffsetAllocator {
    type Grant = Allocation;

    fn new(space: Extent<Iova>, granule: u64) -> Result<Self, Failure> {
        let (first, shift) = (space.start().raw(), granule.trailing_zeros());
        let granules = ((space.last().raw() - first) >> shift).checked_add(1);
        let granules = granules.and_then(|granules| u32::try_from(granules).ok());
        let too_many = || Failure("it cannot represent 2^32 granules".to_owned());
        let granules = granules.ok_or_else(too_many)?;
        Ok(Self {
            theirs: Allocator::with_max_allocs(granules, NODES_MAX.min(granules.max(4096))),
            first,
            shift,
            granules,
            filled: Vec::new(),
        })
    }

    /// Reserves gaps and extents in ascending order, since it chooses the place. Then it releases
    /// the gaps, in the order of the extents behind them.
    fn fill(&mut self, extents: &[Extent<Iova>]) -> Result<Vec<Allocation>, Failure> {
        let laid = lay(extents, self.first, |start, bytes| {
            let grant = self.allocate(bytes);
            grant.filter(|grant| self.start(*grant) == start)
        })?;
        for gap in laid.gaps {
            self.theirs.free(gap);
        }
        self.filled = extents.to_vec();
        self.filled.sort_unstable_by_key(Extent::start);
        Ok(laid.grants)
    }

    #[inline]
    fn reserve(&mut self, ask: &Ask) -> Option<(u64, Allocation)> {
        let grant = self.allocate(ask.size)?;
        Some((self.start(grant), grant))
    }

    #[inline]
    fn release(&mut self, grant: Allocation) {
        self.theirs.free(grant);
    }

    /// The extents that it was filled with, if as much is free as then.
    fn reserved(&self) -> Result<Vec<Extent<Iova>>, Failure> {
        let bytes: u64 = self.filled.iter().filter_map(Extent::len).sum();
        let free = self.theirs.storage_report().total_free_space;
        if u64::from(self.granules - free) == bytes >> self.shift {
            Ok(self.filled.clone())
        } else {
            Err(Failure(format!("{free} granules are free")))
        }
    }
}

impl Peer for OffsetAllocator {
    const OFFERS: Offers = Offers::ANY_PLACE;
}
