//! Asterinas' `RangeAllocator` of kernel addresses, over a space of device addresses.
//!
//! ```
//! use furlong_adapters::range_alloc::RangeAllocator;
//!
//! static KERNEL: RangeAllocator =
//!     RangeAllocator::new(0xffff_e000_0000_0000..0xffff_e100_0000_0000);
//!
//! let stack = KERNEL.alloc(0x4000)?;
//! KERNEL.alloc_specific(&(0xffff_e080_0000_0000..0xffff_e080_0000_1000))?;
//! KERNEL.free(stack);
//! # Ok::<(), furlong_adapters::range_alloc::RangeAllocError>(())
//! ```
//!
//! # Differences
//! - A hole is found in O(log n), by the largest hole noted for each subtree. The original walks
//!   the list of holes under the lock.
//! - An allocation takes the lower end of the first hole that is large enough, not the upper one.
//! - A node for each range is allocated on the heap under the lock, as in the original.
//! - Freeing a free range, or a part of an allocation, panics. In the original it corrupts the list
//!   of holes.
#![forbid(unsafe_code)]

use alloc::vec::Vec;
use core::error::Error;
use core::fmt;
use core::ops::Range;

use furlong::addr::{Address, Extent, Iova};
use furlong::iova::{Lowest, Request, VecSpace};
use furlong::sync::{Lock, RawLock, SpinLock};

/// A range of addresses, from which many CPUs allocate and free ranges.
#[derive(Debug)]
pub struct RangeAllocator<L = SpinLock> {
    full: Range<usize>,
    /// Made at the first call, because a static cannot allocate.
    space: Lock<L, Option<VecSpace>>,
}

/// There is no room for the range, or no memory for a node; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeAllocError;

impl fmt::Display for RangeAllocError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is no room for the range")
    }
}

impl Error for RangeAllocError {}

impl RangeAllocator {
    /// An allocator with all of `full` free, under a spin lock.
    ///
    /// # Panics
    /// If `full` is empty.
    #[must_use]
    pub const fn new(full: Range<usize>) -> Self {
        Self::with_lock(full, SpinLock::new())
    }
}

impl<L: RawLock> RangeAllocator<L> {
    /// The same under the caller's lock.
    ///
    /// # Panics
    /// If `full` is empty.
    #[must_use]
    pub const fn with_lock(full: Range<usize>, lock: L) -> Self {
        assert!(full.start < full.end, "there are addresses");
        Self {
            full,
            space: Lock::new(lock, None),
        }
    }

    /// Calls `change` with the space, under the lock.
    fn with_space<T>(&self, change: impl FnOnce(&mut VecSpace) -> T) -> T {
        let fresh = || {
            let extent = extent(&self.full).expect("there are addresses");
            VecSpace::new(extent, 1, Vec::new()).expect("a byte is a granule")
        };
        change(self.space.lock().get_or_insert_with(fresh))
    }

    /// The whole range, free or not.
    #[must_use]
    pub const fn fullrange(&self) -> &Range<usize> {
        &self.full
    }

    /// Allocates `size` addresses from the lowest hole that is large enough.
    ///
    /// # Errors
    /// [`RangeAllocError`].
    ///
    /// # Cost
    /// O(log n) under the lock.
    pub fn alloc(&self, size: usize) -> Result<Range<usize>, RangeAllocError> {
        let request = Request::new(size as u64);
        let reserved = self.with_space(|space| space.reserve(&request, Lowest));
        let start = reserved.map_err(|_| RangeAllocError)?.iova().raw() as usize;
        Ok(start..start + size)
    }

    /// Allocates exactly this range.
    ///
    /// # Errors
    /// [`RangeAllocError`], also if the range is empty.
    ///
    /// # Cost
    /// As [`alloc`](Self::alloc).
    pub fn alloc_specific(&self, range: &Range<usize>) -> Result<(), RangeAllocError> {
        let extent = extent(range).ok_or(RangeAllocError)?;
        let reserved = self.with_space(|space| space.reserve_at(extent));
        // It is freed by its range, so the grant is not kept.
        reserved.map(|_| ()).map_err(|_| RangeAllocError)
    }

    /// Frees an allocated range.
    ///
    /// # Panics
    /// If the range was not allocated, or only as a part of another one.
    ///
    /// # Cost
    /// As [`alloc`](Self::alloc).
    pub fn free(&self, range: Range<usize>) {
        let extent = extent(&range).expect("a range that was allocated is not empty");
        let released = self.with_space(|space| space.release_at(extent));
        released.expect("a range that was allocated is freed once, and whole");
    }
}

fn extent(range: &Range<usize>) -> Option<Extent<Iova>> {
    Extent::from_end(Iova::new(range.start as u64), Iova::new(range.end as u64))
}
