//! Where bounce memory comes from, and how the originals of raw mappings are reached.

use core::error::Error;
use core::fmt;
use core::ptr::NonNull;

use super::slot::SLOT;
use crate::addr::{Address, Extent, Iova, PhysAddr};

/// Memory of a block: where the CPU has it and where devices have it.
#[derive(Debug, PartialEq, Eq)]
pub struct Backing {
    /// The first byte, for the CPU.
    pub start: NonNull<u8>,
    /// The first byte, for devices: a multiple of [`SLOT`].
    pub device: Iova,
    /// Bytes, a multiple of [`SLOT`].
    pub len: usize,
}

// SAFETY: it only names memory, which by the contract of `Memory` is good in every thread.
unsafe impl Send for Backing {}
// SAFETY: as above; it has no interior.
unsafe impl Sync for Backing {}

impl Backing {
    /// What devices see of it; `None` if it is empty, misaligned or beyond 2^64.
    pub(super) fn extent(&self) -> Option<Extent<Iova>> {
        let len = self.len as u64;
        let whole = self.device.is_aligned(SLOT) && len.is_multiple_of(SLOT);
        Extent::from_len(self.device, len).filter(|_| whole)
    }
}

/// What a pool wants memory for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Bytes, a multiple of [`SLOT`].
    pub len: usize,
    /// What the device address should be a multiple of, a power of two of at least a slot.
    pub align: u64,
    /// The highest address that the last byte may have.
    pub reach: Iova,
    /// How long it may take.
    pub haste: Haste,
}

/// How long obtaining memory may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Haste {
    /// The caller may sleep.
    MayWait,
    /// A mapping waits for it, perhaps under a lock or with interrupts off.
    Atomic,
}

/// Memory was not converted: it is not known who can see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotConverted;

impl fmt::Display for NotConverted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the memory was not converted")
    }
}

impl Error for NotConverted {}

/// Where bounce memory comes from, and how the originals of raw mappings are reached.
///
/// A kernel implements it over its allocator and its direct map. `HeapMemory` is an implementation
/// for programs, [`RegionMemory`](super::RegionMemory) one for memory that was set aside.
///
/// # Safety
/// Whoever implements the trait promises that
///
/// - memory that [`obtain`](Self::obtain) and [`adopt`](Self::adopt) return is good for reading
///   and writing by the CPU, in every thread, from its start for its length, and is nobody else's
///   until it is given to [`free`](Self::free), for as long as this value exists; devices and hosts
///   may read and write it at any time;
/// - [`read`](Self::read) writes `len` bytes at `to` and nothing else, and [`write`](Self::write)
///   reads nothing else than `len` bytes at `from`.
pub unsafe trait Memory: Send + Sync {
    /// Memory for a block; `None` if there is none.
    fn obtain(&self, wanted: &Wanted) -> Option<Backing>;

    /// The memory that an earlier run of the service had at `device`, to be used further; `None` if
    /// it cannot be had.
    fn adopt(&self, _device: Iova, _len: usize) -> Option<Backing> {
        None
    }

    /// Takes memory back that came from here, for whatever use.
    ///
    /// # Safety
    /// `backing` is what `obtain` or `adopt` of this value returned, is private again if it was
    /// shared, and nobody uses it any more.
    unsafe fn free(&self, backing: Backing);

    /// Makes memory visible to devices whose host may see no other (a confidential guest decrypts
    /// it). It is zeroed afterwards.
    ///
    /// # Errors
    /// [`NotConverted`] if the memory is as private as before; it is freed then.
    fn share(&self, _backing: &Backing) -> Result<(), NotConverted> {
        Ok(())
    }

    /// Makes memory private again.
    ///
    /// # Errors
    /// [`NotConverted`] if that is not known: the pool leaks it on purpose, since nobody may use as
    /// private what a host can read, and counts it.
    fn unshare(&self, _backing: &Backing) -> Result<(), NotConverted> {
        Ok(())
    }

    /// Copies `len` bytes of an original to bounce memory.
    ///
    /// # Safety
    /// The original is what a caller of [`Pool::map_raw`](super::Pool::map_raw) vouched for, and
    /// `to` is good for writing `len` bytes.
    unsafe fn read(&self, from: PhysAddr, to: NonNull<u8>, len: usize);

    /// Copies `len` bytes of bounce memory to an original.
    ///
    /// # Safety
    /// As for [`read`](Self::read), with `from` good for reading.
    unsafe fn write(&self, to: PhysAddr, from: NonNull<u8>, len: usize);

    /// The pool has become too small, and is to grow or to be given a call of
    /// [`tend`](super::Pool::tend) when there is time for it: a kernel queues work here. Called
    /// where a map found no room, perhaps under the caller's lock.
    fn wants_tending(&self) {}
}

// SAFETY: everything is forwarded, and the promises are about the memory.
unsafe impl<M: Memory> Memory for &M {
    fn obtain(&self, wanted: &Wanted) -> Option<Backing> {
        M::obtain(self, wanted)
    }

    fn adopt(&self, device: Iova, len: usize) -> Option<Backing> {
        M::adopt(self, device, len)
    }

    unsafe fn free(&self, backing: Backing) {
        // SAFETY: the caller keeps the contract of this same method.
        unsafe { M::free(self, backing) }
    }

    fn share(&self, backing: &Backing) -> Result<(), NotConverted> {
        M::share(self, backing)
    }

    fn unshare(&self, backing: &Backing) -> Result<(), NotConverted> {
        M::unshare(self, backing)
    }

    unsafe fn read(&self, from: PhysAddr, to: NonNull<u8>, len: usize) {
        // SAFETY: the caller keeps the contract of this same method.
        unsafe { M::read(self, from, to, len) }
    }

    unsafe fn write(&self, to: PhysAddr, from: NonNull<u8>, len: usize) {
        // SAFETY: the caller keeps the contract of this same method.
        unsafe { M::write(self, to, from, len) }
    }

    fn wants_tending(&self) {
        M::wants_tending(self);
    }
}

#[cfg(feature = "alloc")]
// SAFETY: as for a reference.
unsafe impl<M: Memory> Memory for alloc::sync::Arc<M> {
    fn obtain(&self, wanted: &Wanted) -> Option<Backing> {
        M::obtain(self, wanted)
    }

    fn adopt(&self, device: Iova, len: usize) -> Option<Backing> {
        M::adopt(self, device, len)
    }

    unsafe fn free(&self, backing: Backing) {
        // SAFETY: the caller keeps the contract of this same method.
        unsafe { M::free(self, backing) }
    }

    fn share(&self, backing: &Backing) -> Result<(), NotConverted> {
        M::share(self, backing)
    }

    fn unshare(&self, backing: &Backing) -> Result<(), NotConverted> {
        M::unshare(self, backing)
    }

    unsafe fn read(&self, from: PhysAddr, to: NonNull<u8>, len: usize) {
        // SAFETY: the caller keeps the contract of this same method.
        unsafe { M::read(self, from, to, len) }
    }

    unsafe fn write(&self, to: PhysAddr, from: NonNull<u8>, len: usize) {
        // SAFETY: the caller keeps the contract of this same method.
        unsafe { M::write(self, to, from, len) }
    }

    fn wants_tending(&self) {
        M::wants_tending(self);
    }
}
