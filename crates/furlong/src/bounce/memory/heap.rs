//! Memory for programs, from the global allocator, with identical addresses for CPU and device.

use alloc::alloc::{alloc, dealloc};
use core::alloc::Layout;
use core::ptr::NonNull;

use crate::addr::{Address, Iova, PhysAddr};
use crate::bounce::{Backing, Memory, SEGMENT, SLOT, Wanted};

/// Alignment of every block in bytes.
const ALIGN: u64 = SEGMENT as u64 * SLOT;

/// Memory for drivers in user space and for tests. Blocks come from the global allocator. A byte
/// has its virtual address for the CPU, for the device and as an original.
///
/// A physical address for [`map_raw`](crate::bounce::Pool::map_raw) is then the address of a
/// pointer with exposed provenance.
#[derive(Clone, Copy, Debug, Default)]
pub struct HeapMemory(());

impl HeapMemory {
    /// The global allocator's memory.
    pub const fn new() -> Self {
        Self(())
    }

    fn layout(len: usize) -> Option<Layout> {
        Layout::from_size_align(len, usize::try_from(ALIGN).ok()?).ok()
    }
}

// SAFETY: memory comes from the global allocator and is freed with the same layout; it has no other
// user; `read` and `write` are one copy each.
unsafe impl Memory for HeapMemory {
    fn obtain(&self, wanted: &Wanted) -> Option<Backing> {
        let layout =
            Self::layout(wanted.len).filter(|_| wanted.len > 0 && wanted.align <= ALIGN)?;
        // SAFETY: the size is not 0.
        let start = NonNull::new(unsafe { alloc(layout) })?;
        let device = Iova::new(start.as_ptr().addr() as u64);
        let backing = Backing {
            start,
            device,
            len: wanted.len,
        };
        let last = device.checked_add(wanted.len as u64 - 1)?;
        if last > wanted.reach {
            // SAFETY: obtained above, and without users.
            unsafe { self.free(backing) };
            return None;
        }
        Some(backing)
    }

    unsafe fn free(&self, backing: Backing) {
        let layout = Self::layout(backing.len).expect("it was obtained with this layout");
        // SAFETY: the caller gives back what `obtain` returned.
        unsafe { dealloc(backing.start.as_ptr(), layout) };
    }

    unsafe fn read(&self, from: PhysAddr, to: NonNull<u8>, len: usize) {
        let from = core::ptr::with_exposed_provenance::<u8>(from.raw() as usize);
        // SAFETY: the caller guarantees both; bounce memory is no original, so they do not overlap.
        unsafe { from.copy_to_nonoverlapping(to.as_ptr(), len) };
    }

    unsafe fn write(&self, to: PhysAddr, from: NonNull<u8>, len: usize) {
        let to = core::ptr::with_exposed_provenance_mut::<u8>(to.raw() as usize);
        // SAFETY: as in `read`.
        unsafe { to.copy_from_nonoverlapping(from.as_ptr(), len) };
    }
}
