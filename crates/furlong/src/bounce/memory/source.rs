//! The source of bounce memory, and access to the originals of raw mappings.

use core::ptr::NonNull;

use crate::error::messages;

use crate::addr::{Address, Extent, Iova, PhysAddr};
use crate::bounce::SLOT;

/// Memory of a block, with its CPU address and its device address.
#[derive(Debug, PartialEq, Eq)]
pub struct Backing {
    /// The CPU address of the first byte.
    pub start: NonNull<u8>,
    /// The device address of the first byte: a multiple of [`SLOT`].
    pub device: Iova,
    /// Bytes, a multiple of [`SLOT`].
    pub len: usize,
}

// SAFETY: it only names memory, which by the contract of `Memory` is valid in every thread.
unsafe impl Send for Backing {}
// SAFETY: as above; it has no interior mutability.
unsafe impl Sync for Backing {}

impl Backing {
    /// Its device addresses; `None` if it is empty, misaligned or beyond 2^64.
    pub(crate) fn extent(&self) -> Option<Extent<Iova>> {
        let len = self.len as u64;
        let whole = self.device.is_aligned(SLOT) && len.is_multiple_of(SLOT);
        Extent::from_len(self.device, len).filter(|_| whole)
    }
}

/// A pool's request for memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Bytes, a multiple of [`SLOT`].
    pub len: usize,
    /// Desired alignment of the device address, a power of two of at least a slot.
    pub align: u64,
    /// The highest address that the last byte may have.
    pub reach: Iova,
    /// Permission to wait.
    pub haste: Haste,
}

/// Permission to wait while memory is obtained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Haste {
    /// The caller may sleep.
    MayWait,
    /// A mapping waits for it, perhaps under a lock or with interrupts off.
    Atomic,
}

/// Error of a conversion between private and shared: it is unknown who can see the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotConverted;

messages! { NotConverted:
    Self => "the memory was not converted";
}

/// The source of bounce memory, with access to the originals of raw mappings.
///
/// A kernel implements it over its allocator and its direct map. `HeapMemory` is an implementation
/// for programs, [`RegionMemory`](crate::bounce::RegionMemory) one for reserved memory.
///
/// # Safety
/// The implementation guarantees that
///
/// - memory from [`obtain`](Self::obtain) and [`adopt`](Self::adopt) is valid for reads and writes
///   by the CPU, in every thread, from its start for its length. It has no other user until it is
///   given to [`free`](Self::free), for as long as this value exists. Devices and hosts may read
///   and write it at any time;
/// - [`read`](Self::read) writes `len` bytes at `to` and nothing else, and [`write`](Self::write)
///   reads `len` bytes at `from` and nothing else.
pub unsafe trait Memory: Send + Sync {
    /// Obtains memory for a block; `None` if there is none.
    fn obtain(&self, wanted: &Wanted) -> Option<Backing>;

    /// The memory that an earlier run of the service had at `device`, for further use; `None` if it
    /// is not available.
    fn adopt(&self, _device: Iova, _len: usize) -> Option<Backing> {
        None
    }

    /// Frees memory that came from here, for any use.
    ///
    /// # Safety
    /// `backing` was returned by `obtain` or `adopt` of this value. It is private again if it was
    /// shared, and nobody uses it any more.
    unsafe fn free(&self, backing: Backing);

    /// Makes memory visible to devices if their host sees no other memory (a confidential guest
    /// decrypts it). The pool zeroes it afterwards.
    ///
    /// # Errors
    /// [`NotConverted`] if the memory is still private; the pool frees it then.
    fn share(&self, _backing: &Backing) -> Result<(), NotConverted> {
        Ok(())
    }

    /// Makes memory private again.
    ///
    /// # Errors
    /// [`NotConverted`] if it may still be shared. The pool then leaks it on purpose, and counts
    /// it: a host could read data that other users consider private.
    fn unshare(&self, _backing: &Backing) -> Result<(), NotConverted> {
        Ok(())
    }

    /// Copies `len` bytes of an original to bounce memory.
    ///
    /// # Safety
    /// A caller of [`Pool::map_raw`](crate::bounce::Pool::map_raw) guarantees the original, and
    /// `to` is valid for writes of `len` bytes.
    unsafe fn read(&self, from: PhysAddr, to: NonNull<u8>, len: usize);

    /// Copies `len` bytes of bounce memory to an original.
    ///
    /// # Safety
    /// As for [`read`](Self::read), with `from` valid for reads.
    unsafe fn write(&self, to: PhysAddr, from: NonNull<u8>, len: usize);

    /// Reports that the pool has become too small and needs a call of
    /// [`tend`](crate::bounce::Pool::tend), or of `grow`. A kernel queues work here. The call comes
    /// from a map that found no room, perhaps under the caller's lock.
    fn wants_tending(&self) {}
}

/// Implements [`Memory`] for a pointer to one.
macro_rules! forwarded {
    ($pointer:ty) => {
        // SAFETY: everything is forwarded, and the guarantees are about the memory.
        unsafe impl<M: Memory> Memory for $pointer {
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
    };
}

forwarded!(&M);
#[cfg(feature = "alloc")]
forwarded!(alloc::sync::Arc<M>);
