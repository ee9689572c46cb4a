//! Sebastian Aaltonen's offset allocator in Rust: bins of gaps, one bit each, constant time.

use furlong_experiments_devices::bounce::SlotAllocator;
use offset_allocator::{Allocation, Allocator};

/// Offsets are numbers of slots. A run is an allocation.
pub struct Offsets(Allocator);

impl SlotAllocator for Offsets {
    type Run = Allocation;

    /// Requests room for two more runs than there are slots, because the allocator keeps two fewer.
    fn new(slots: usize) -> Self {
        let slots = u32::try_from(slots).expect("there are few slots");
        Self(Allocator::with_max_allocs(slots, slots + 2))
    }

    #[inline]
    fn allocate(&mut self, slots: usize) -> Option<Allocation> {
        self.0.allocate(slots as u32)
    }

    #[inline]
    fn first(run: Allocation) -> usize {
        run.offset as usize
    }

    #[inline]
    fn free(&mut self, run: Allocation, _: usize) {
        self.0.free(run);
    }
}
