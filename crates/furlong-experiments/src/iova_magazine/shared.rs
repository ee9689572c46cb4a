//! What an arm of `iova-magazine` is: device addresses that CPUs share.
#![forbid(unsafe_code)]

use std::cell::Cell;

use furlong::addr::{Extent, Iova};

use crate::traffic::Buffer;
use furlong_lab::model::Failure;

/// Device addresses that CPUs share.
pub trait SharedAllocator: Sync + Sized {
    /// What releases an extent.
    type Grant: Send;

    /// Over the bytes of `space` in granules of `granule` bytes, for `cpus` CPUs.
    ///
    /// # Errors
    /// It cannot be had.
    fn new(space: Extent<Iova>, granule: u64, cpus: usize) -> Result<Self, Failure>;

    /// Reserves room for a buffer, on the CPU that [`cpu`] names. `None` where there is none.
    fn reserve(&self, buffer: Buffer) -> Option<Self::Grant>;

    /// What is reserved for a grant: whole granules.
    fn extent(grant: &Self::Grant) -> Extent<Iova>;

    /// Releases a grant, for use at once: nothing remembers its translation.
    fn release(&self, grant: Self::Grant);

    /// How often CPUs have come to what they share so far: to the tree, or to a depot.
    fn visits(&self) -> u64;

    /// What is still reserved when everything that is kept for later has been given back, after a
    /// check of every invariant.
    ///
    /// # Errors
    /// What is broken.
    fn finish(self) -> Result<Vec<Extent<Iova>>, Failure>;
}

/// The number of who is the processor that runs it.
pub const FOLLOWS: usize = usize::MAX;

thread_local! {
    static CPU: Cell<usize> = const { Cell::new(0) };
}

/// The CPU that this thread is.
#[inline]
#[must_use]
pub fn cpu() -> usize {
    CPU.get()
}

/// Makes this thread a CPU.
pub fn become_cpu(number: usize) {
    CPU.set(number);
}
