//! The interface of an arm of `iova-magazine`: device addresses that CPUs share.

use std::cell::Cell;

use furlong::addr::{Extent, Iova};

use crate::traffic::Buffer;
use furlong_lab::model::Failure;

/// An allocator of device addresses that CPUs share.
pub trait SharedAllocator: Sync + Sized {
    /// Handle that releases an extent.
    type Grant: Send;

    /// Makes an allocator over the bytes of `space` in granules of `granule` bytes, for `cpus`
    /// CPUs.
    ///
    /// # Errors
    /// The allocator cannot be made.
    fn new(space: Extent<Iova>, granule: u64, cpus: usize) -> Result<Self, Failure>;

    /// Reserves room for a buffer, on the CPU that [`cpu`] returns. `None` if there is none.
    fn reserve(&self, buffer: Buffer) -> Option<Self::Grant>;

    /// The whole granules reserved for a grant.
    fn extent(grant: &Self::Grant) -> Extent<Iova>;

    /// Releases a grant for immediate reuse: no device caches its translation.
    fn release(&self, grant: Self::Grant);

    /// Accesses of CPUs to shared state so far: to the tree, or to a depot.
    fn visits(&self) -> u64;

    /// Empties all caches, checks every invariant, and returns the extents that are still reserved.
    ///
    /// # Errors
    /// The broken invariant.
    fn finish(self) -> Result<Vec<Extent<Iova>>, Failure>;
}

/// CPU number of a thread that is whatever processor runs it.
pub const FOLLOWS: usize = usize::MAX;

thread_local! {
    static CPU: Cell<usize> = const { Cell::new(0) };
}

/// The CPU number of this thread.
#[inline]
#[must_use]
pub fn cpu() -> usize {
    CPU.get()
}

/// Sets the CPU number of this thread.
pub fn become_cpu(number: usize) {
    CPU.set(number);
}
