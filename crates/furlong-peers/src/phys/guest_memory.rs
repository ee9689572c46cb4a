//! rust-vmm's vm-memory: a sorted vector of counted references to regions, searched for the region
//! of a guest address. Firecracker, Cloud Hypervisor and the vhost devices do this for every
//! descriptor that a guest hands them.
//!
//! It maps nothing here. Users may implement its region trait for something else than mapped
//! memory; ours has a start, a length and a number.

use std::ops::Range;

use furlong_experiments::phys_lookup::SegmentIndex;
use furlong_lab::model::Failure;
use vm_memory::bitmap::BS;
use vm_memory::{
    Address as _, GuestAddress, GuestMemoryBackend as _, GuestMemoryRegion, GuestMemoryRegionBytes,
    GuestRegionCollection, GuestUsize,
};

/// The binary logarithm of the page size, since its addresses count bytes.
const PAGE_BITS: u32 = 12;

/// A region of guest memory.
struct Region {
    start: GuestAddress,
    len: GuestUsize,
    number: usize,
}

impl GuestMemoryRegion for Region {
    type B = ();

    #[inline]
    fn len(&self) -> GuestUsize {
        self.len
    }

    #[inline]
    fn start_addr(&self) -> GuestAddress {
        self.start
    }

    fn bitmap(&self) -> BS<'_, ()> {}
}

impl GuestMemoryRegionBytes for Region {}

/// Its collection of regions.
pub struct Regions(GuestRegionCollection<Region>);

impl SegmentIndex for Regions {
    fn new(segments: &[(Range<u64>, usize)]) -> Result<Self, Failure> {
        let region = |(frames, number): &(Range<u64>, usize)| Region {
            start: GuestAddress(frames.start << PAGE_BITS),
            len: (frames.end - frames.start) << PAGE_BITS,
            number: *number,
        };
        let regions = segments.iter().map(region).collect();
        let collection = GuestRegionCollection::from_regions(regions);
        collection
            .map(Self)
            .map_err(|error| Failure(error.to_string()))
    }

    #[inline]
    fn find(&self, frame: u64) -> Option<(u64, usize)> {
        let region = self.0.find_region(GuestAddress(frame << PAGE_BITS))?;
        Some((region.start.raw_value() >> PAGE_BITS, region.number))
    }
}
