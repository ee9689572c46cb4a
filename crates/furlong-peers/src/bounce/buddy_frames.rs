//! rCore's buddy_system_allocator as an allocator of frames: a `BTreeSet` of free blocks for each
//! power of two.

use buddy_system_allocator::FrameAllocator;
use furlong_experiments_devices::bounce::SlotAllocator;

/// Blocks of up to 2^11 slots. A run is the number of its first slot; its size is a power of two.
pub struct BuddyFrames(FrameAllocator<12>);

impl SlotAllocator for BuddyFrames {
    type Run = usize;

    fn new(slots: usize) -> Self {
        let mut frames = FrameAllocator::new();
        frames.add_frame(0, slots);
        Self(frames)
    }

    #[inline]
    fn allocate(&mut self, slots: usize) -> Option<usize> {
        self.0.alloc(slots)
    }

    #[inline]
    fn first(run: usize) -> usize {
        run
    }

    #[inline]
    fn free(&mut self, run: usize, slots: usize) {
        self.0.dealloc(run, slots);
    }
}
