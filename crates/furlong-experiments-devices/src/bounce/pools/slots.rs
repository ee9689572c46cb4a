//! The slots of a pool alone: mappings without copies.

use std::ptr::NonNull;

use furlong::addr::{Iova, PhysAddr};
use furlong::bounce::{Area, Back, Backing, Counters, Direction, Memory, Order, Wanted};

use crate::bounce::counts::Counts;
use crate::bounce::mapper::Mapper;
use crate::bounce::pool::{self, Pooled};
use crate::bounce::test_memory::TestMemory;

use furlong_lab::model::Failure;

/// Address of an original, aligned to a page as buffers of block devices are.
const ORIGINAL: PhysAddr = PhysAddr::new(0x10_0000);

/// Memory that never accesses originals.
#[derive(Debug, Default)]
pub(in crate::bounce) struct Uncopied(TestMemory);

// SAFETY: the memory is `TestMemory`'s; a copy that is not made writes nothing outside its target.
unsafe impl Memory for Uncopied {
    fn obtain(&self, wanted: &Wanted) -> Option<Backing> {
        self.0.obtain(wanted)
    }

    unsafe fn free(&self, backing: Backing) {
        // SAFETY: the caller keeps the contract of this same method.
        unsafe { self.0.free(backing) }
    }

    #[inline]
    unsafe fn read(&self, _: PhysAddr, _: NonNull<u8>, _: usize) {}

    #[inline]
    unsafe fn write(&self, _: PhysAddr, _: NonNull<u8>, _: usize) {}
}

/// A pool that only maps slots, by address as a kernel does.
pub(in crate::bounce) type Slots<O, A, K> = Pooled<Uncopied, O, A, K>;

impl<O: Order, A: Area, K: Counters> Slots<O, A, K> {
    /// Event counts so far.
    pub(in crate::bounce) fn counts(&self) -> Counts {
        Counts::of(&self.pool)
    }
}

impl<O: Order, A: Area, K: Counters> Mapper for Slots<O, A, K> {
    type Mapping = Iova;
    const COUNTS: bool = K::ON;

    #[inline(always)]
    fn map(&self, len: usize) -> Option<Iova> {
        let both = Direction::Both;
        // SAFETY: this pool's memory neither reads nor writes an original.
        let mapped = unsafe { self.pool.map_raw(&self.device, ORIGINAL, len, both) };
        mapped.ok()
    }

    /// Ignores the length, which the pool records.
    #[inline(always)]
    fn unmap(&self, at: Iova, _: usize) -> Result<(), Failure> {
        let both = Direction::Both;
        // SAFETY: this pool's memory neither reads nor writes an original, and nothing is synced.
        let unmapped = unsafe { self.pool.unmap_raw(&self.device, at, both, Back::All) };
        unmapped.map_err(Failure::of)
    }

    #[inline(always)]
    fn address(at: Iova) -> Iova {
        at
    }

    fn finish(self) -> Result<(), Failure> {
        pool::drained(&self.pool)
    }
}
