//! A heap over regions of memory, for one owner.

use core::alloc::Layout;
use core::mem::MaybeUninit;
use core::ptr::NonNull;

use super::super::Misuse;
use super::check::{BrokenSmall, SmallStatistics};
use super::region::{GRAIN, Region, bytes_for, grains};
use crate::check::Check;
use crate::forms::{debug_as, default_is_new};

/// A heap in a few kilobytes: it needs one region of memory, no pages, no threads and no tables
/// elsewhere.
///
/// A block is at the lowest place that fits, and is as long as requested, up to a multiple of two
/// words. Blocks have no headers. A table at the begin of the region takes some 2 % of it, or 4 %
/// if pointers have 32 bits: of 64 KiB, 62 are for blocks.
///
/// Regions can be added at any time: banks of memory, or pages of a system. A block does not cross
/// from one into another. Memory is lent to the heap and never given back to anybody.
///
/// # Example
/// ```
/// use core::alloc::Layout;
/// use core::mem::MaybeUninit;
/// use furlong::malloc::SmallHeap;
///
/// let mut memory = [MaybeUninit::uninit(); 64 << 10];
/// let mut heap = SmallHeap::new();
/// heap.add(&mut memory).unwrap();
/// let layout = Layout::new::<[u64; 100]>();
/// let block = heap.allocate(layout).unwrap();
/// // SAFETY: it came from there, and nobody uses it any more.
/// unsafe { heap.free(block, layout) }.unwrap();
/// assert!(heap.allocate(Layout::new::<[u8; 64 << 10]>()).is_none());
/// ```
pub struct SmallHeap<'a> {
    regions: Option<&'a mut Region<'a>>,
}

// SAFETY: the regions are borrowed for the heap alone, and nothing in them belongs to a thread.
unsafe impl Send for SmallHeap<'_> {}

default_is_new! { SmallHeap<'a> where ['a] }

debug_as! { SmallHeap<'_>: |it| SmallHeap { statistics: it.statistics(), .. } }

impl<'a> SmallHeap<'a> {
    /// Blocks are multiples of it, and so aligned: two words of the processor.
    pub const GRAIN: usize = GRAIN;

    /// A heap without memory.
    #[must_use]
    pub const fn new() -> Self {
        Self { regions: None }
    }

    /// Adds a region, which is used when those before it have no room. It needs no alignment, and
    /// no values.
    ///
    /// # Errors
    /// The memory, if it is too short for a table and a block.
    ///
    /// # Cost
    /// Writes the table, but nothing where blocks will be. O(regions) to find the last one.
    pub fn add(
        &mut self,
        memory: &'a mut [MaybeUninit<u8>],
    ) -> Result<(), &'a mut [MaybeUninit<u8>]> {
        let region = Region::new(memory)?;
        let mut end = &mut self.regions;
        while let Some(last) = end {
            end = &mut last.next;
        }
        *end = Some(region);
        Ok(())
    }

    /// The length of a region that can hold a block of this layout, wherever it begins. `None` if
    /// no region can.
    #[must_use]
    pub const fn bytes_for(layout: Layout) -> Option<usize> {
        bytes_for(layout)
    }

    /// A block at the lowest place that fits in the first region with room. `None` if there is
    /// none. A request for no bytes gets a block of one grain.
    ///
    /// # Cost
    /// For each region O(log grains) and the words of the block, 64 grains each. Alignments above a
    /// grain cost that again for each aligned place that is passed by.
    pub fn allocate(&mut self, layout: Layout) -> Option<NonNull<u8>> {
        let mut next = self.regions.as_deref_mut();
        while let Some(region) = next {
            if let Some(block) = region.allocate(layout) {
                return Some(block);
            }
            next = region.next.as_deref_mut();
        }
        None
    }

    /// Frees a block.
    ///
    /// # Errors
    /// No block begins there, or it has another size than this; then nothing has changed.
    ///
    /// # Safety
    /// Nobody uses the block any more, if there is one.
    ///
    /// # Cost
    /// As [`allocate`](Self::allocate), without a search.
    pub unsafe fn free(&mut self, block: NonNull<u8>, layout: Layout) -> Result<(), Misuse> {
        let (region, (at, len)) = self.find(block, layout)?;
        region.table.give(at, len);
        Ok(())
    }

    /// Resizes a block to `size` bytes with the alignment of `layout`, which is its layout so far.
    ///
    /// It stays where it is if it becomes shorter or the memory behind it is free. Otherwise it
    /// moves, perhaps to a place that overlaps the old one. `Ok(None)` if there is no place; then
    /// nothing has changed.
    ///
    /// # Errors
    /// As [`free`](Self::free).
    ///
    /// # Safety
    /// The result, if any, replaces the block.
    ///
    /// # Cost
    /// As a free and an allocation; a block that moves is copied.
    pub unsafe fn resize(
        &mut self,
        block: NonNull<u8>,
        layout: Layout,
        size: usize,
    ) -> Result<Option<NonNull<u8>>, Misuse> {
        let (region, place) = self.find(block, layout)?;
        let Ok(new) = Layout::from_size_align(size, layout.align()) else {
            return Ok(None);
        };
        if let Some(moved) = region.resize(place, new) {
            return Ok(Some(moved));
        }
        // Another region may have room.
        let Some(moved) = self.allocate(new) else {
            return Ok(None);
        };
        let len = layout.size().min(size);
        // SAFETY: two blocks of at least this length, of which one is new.
        unsafe { moved.copy_from_nonoverlapping(block, len) };
        // SAFETY: the result replaces it.
        unsafe { self.free(block, layout) }?;
        Ok(Some(moved))
    }

    /// The size of a block: as requested, up to a multiple of [`GRAIN`](Self::GRAIN).
    ///
    /// # Errors
    /// No block begins there.
    pub fn usable_size(&self, block: NonNull<u8>) -> Result<usize, Misuse> {
        let mut regions = self.regions();
        let found = regions.find_map(|region| region.find(block.addr().get()));
        let (_, len) = found.unwrap_or(Err(Misuse::Foreign))?;
        Ok(len * GRAIN)
    }

    /// True if an address is of a region's blocks, used or free.
    #[must_use]
    pub fn owns(&self, address: usize) -> bool {
        self.regions().any(|region| region.grain(address).is_some())
    }

    /// The memory now. Walks over everything.
    #[must_use]
    pub fn statistics(&self) -> SmallStatistics {
        let mut sum = SmallStatistics::default();
        self.regions().for_each(|region| sum.add(&region.table));
        sum
    }

    fn regions(&self) -> impl Iterator<Item = &Region<'a>> {
        let first = self.regions.as_deref();
        core::iter::successors(first, |region| region.next.as_deref())
    }

    /// The region of a block of this layout, and its grains.
    fn find(
        &mut self,
        block: NonNull<u8>,
        layout: Layout,
    ) -> Result<(&mut Region<'a>, (usize, usize)), Misuse> {
        let mut next = self.regions.as_deref_mut();
        while let Some(region) = next {
            if let Some(found) = region.find(block.addr().get()) {
                let (at, len) = found?;
                if len != grains(layout.size()) {
                    return Err(Misuse::WrongSize);
                }
                return Ok((region, (at, len)));
            }
            next = region.next.as_deref_mut();
        }
        Err(Misuse::Foreign)
    }
}

impl Check for SmallHeap<'_> {
    type Broken = BrokenSmall;

    fn check(&self) -> Result<(), BrokenSmall> {
        self.regions().try_for_each(Region::check)
    }
}
