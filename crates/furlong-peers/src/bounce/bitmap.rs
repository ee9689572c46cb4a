//! rCore's bitmap-allocator: words of bits in a tree with sixteen branches a node. ArceOS uses it
//! for its pages.

use bitmap_allocator::{BitAlloc as _, BitAlloc4K};
use furlong_experiments_devices::bounce::SlotAllocator;

/// One bit a slot, 1 if it is free. A run is the number of its first slot.
pub struct Bitmap(BitAlloc4K);

impl SlotAllocator for Bitmap {
    type Run = usize;

    fn new(slots: usize) -> Self {
        let mut bits = BitAlloc4K::DEFAULT;
        bits.insert(0..slots);
        Self(bits)
    }

    #[inline]
    fn allocate(&mut self, slots: usize) -> Option<usize> {
        // No alignment: a run of whole slots suits everybody.
        self.0.alloc_contiguous(None, slots, 0)
    }

    #[inline]
    fn first(run: usize) -> usize {
        run
    }

    #[inline]
    fn free(&mut self, run: usize, slots: usize) {
        assert!(self.0.dealloc_contiguous(run, slots), "the run is taken");
    }
}
