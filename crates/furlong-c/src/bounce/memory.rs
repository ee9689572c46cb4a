//! The memory of a pool.

use core::ptr::NonNull;

use furlong::addr::{Iova, PhysAddr};
use furlong::bounce::{Backing, HeapMemory, Memory, RegionMemory, Wanted};

/// The heap, or a region that the caller supplied.
pub(crate) struct BounceMemory(Source);

enum Source {
    Heap(HeapMemory),
    Region(RegionMemory),
}

impl BounceMemory {
    pub(crate) fn on_heap() -> Self {
        Self(Source::Heap(HeapMemory::new()))
    }

    pub(crate) fn of_region(region: RegionMemory) -> Self {
        Self(Source::Region(region))
    }
}

// SAFETY: each call is forwarded to the one source that this value has all its life.
unsafe impl Memory for BounceMemory {
    fn obtain(&self, wanted: &Wanted) -> Option<Backing> {
        match &self.0 {
            Source::Heap(heap) => heap.obtain(wanted),
            Source::Region(region) => region.obtain(wanted),
        }
    }

    fn adopt(&self, device: Iova, len: usize) -> Option<Backing> {
        match &self.0 {
            Source::Heap(heap) => heap.adopt(device, len),
            Source::Region(region) => region.adopt(device, len),
        }
    }

    unsafe fn free(&self, backing: Backing) {
        match &self.0 {
            // SAFETY: the caller keeps the contract of this method, which is the same.
            Source::Heap(heap) => unsafe { heap.free(backing) },
            // SAFETY: as above.
            Source::Region(region) => unsafe { region.free(backing) },
        }
    }

    unsafe fn read(&self, from: PhysAddr, to: NonNull<u8>, len: usize) {
        match &self.0 {
            // SAFETY: the caller keeps the contract of this method, which is the same.
            Source::Heap(heap) => unsafe { heap.read(from, to, len) },
            // SAFETY: as above.
            Source::Region(region) => unsafe { region.read(from, to, len) },
        }
    }

    unsafe fn write(&self, to: PhysAddr, from: NonNull<u8>, len: usize) {
        match &self.0 {
            // SAFETY: the caller keeps the contract of this method, which is the same.
            Source::Heap(heap) => unsafe { heap.write(to, from, len) },
            // SAFETY: as above.
            Source::Region(region) => unsafe { region.write(to, from, len) },
        }
    }
}
