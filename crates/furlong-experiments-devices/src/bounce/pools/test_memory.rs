//! Memory of pools with the same device addresses in every process, and access to it by device
//! address.

use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use furlong::addr::{Address, Iova, PhysAddr};
use furlong::bounce::{Backing, HeapMemory, Memory, Wanted};

/// Distance between the device addresses of two blocks: twice a block, so that an access beyond the
/// end of a block is detected.
pub(in crate::bounce) const STRIDE: u64 = 2 << 20;

/// Maximum number of blocks over a lifetime.
pub(in crate::bounce) const BLOCKS_MAX: usize = 8;

/// End of the device addresses of all blocks.
pub(in crate::bounce) const TOP: u64 = (BLOCKS_MAX as u64 + 1) * STRIDE;

/// Memory of a program. Memory that a pool frees is kept until `self` is dropped, so a device may
/// still hold its address.
#[derive(Debug, Default)]
pub(in crate::bounce) struct TestMemory {
    obtained: AtomicUsize,
    blocks: [OnceLock<Backing>; BLOCKS_MAX],
}

/// Memory that may be read and written during `'m`, by raw accesses only.
#[derive(Clone, Copy, Debug)]
pub(in crate::bounce) struct Place<'m> {
    start: NonNull<u8>,
    len: usize,
    owner: PhantomData<&'m ()>,
}

// SAFETY: it only names memory, which every thread may access.
unsafe impl Send for Place<'_> {}

impl Place<'_> {
    /// Names the `len` bytes from `start`.
    ///
    /// # Safety
    /// During the lifetime, which the caller chooses, `len` bytes from `start` may be read and
    /// written, and no reference to them exists.
    pub(in crate::bounce) unsafe fn new(start: NonNull<u8>, len: usize) -> Self {
        Self {
            start,
            len,
            owner: PhantomData,
        }
    }

    pub(in crate::bounce) fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    pub(in crate::bounce) fn len(&self) -> usize {
        self.len
    }
}

impl TestMemory {
    /// Returns the memory at a device address; `None` unless one block has all of it.
    pub(in crate::bounce) fn place(&self, at: Iova, len: usize) -> Option<Place<'_>> {
        let number = usize::try_from(at.raw() / STRIDE).ok()?.checked_sub(1)?;
        let offset = usize::try_from(at.raw() % STRIDE).ok()?;
        let block = self.blocks.get(number)?.get()?;
        let inside = offset.checked_add(len)? <= block.len;
        inside.then(|| {
            // SAFETY: inside the block, as just checked.
            let start = unsafe { block.start.add(offset) };
            // SAFETY: the block is freed when `self` is dropped, and no code makes references to
            // bounce memory.
            unsafe { Place::new(start, len) }
        })
    }
}

// SAFETY: each block comes from `HeapMemory`, once, and is freed when no pool can have it any more;
// copies are those of `HeapMemory`.
unsafe impl Memory for TestMemory {
    fn obtain(&self, wanted: &Wanted) -> Option<Backing> {
        if wanted.len as u64 > STRIDE {
            return None;
        }
        // Relaxed: the counter only makes numbers distinct; it publishes nothing.
        let number = self.obtained.fetch_add(1, Ordering::Relaxed);
        let cell = self.blocks.get(number)?;
        let heap = HeapMemory::new().obtain(wanted)?;
        let seen = Backing {
            start: heap.start,
            device: Iova::new((number as u64 + 1) * STRIDE),
            len: heap.len,
        };
        cell.set(heap).ok().map(|()| seen)
    }

    unsafe fn free(&self, _: Backing) {}

    unsafe fn read(&self, from: PhysAddr, to: NonNull<u8>, len: usize) {
        // SAFETY: the caller keeps the contract of this same method.
        unsafe { HeapMemory::new().read(from, to, len) }
    }

    unsafe fn write(&self, to: PhysAddr, from: NonNull<u8>, len: usize) {
        // SAFETY: the caller keeps the contract of this same method.
        unsafe { HeapMemory::new().write(to, from, len) }
    }
}

impl Drop for TestMemory {
    fn drop(&mut self) {
        for block in self.blocks.iter_mut().filter_map(OnceLock::take) {
            // SAFETY: obtained from `HeapMemory`; each borrower of the block has borrowed `self`.
            unsafe { HeapMemory::new().free(block) };
        }
    }
}
