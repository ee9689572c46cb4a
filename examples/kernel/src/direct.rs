//! The direct map: all memory is mapped where it is, so that an address is a pointer.
//!
//! Its provenance is exposed: there is one allocation, all of memory, which the machine came with.

use core::mem::MaybeUninit;
use core::ptr::{self, NonNull};
use core::slice;

use furlong::addr::{Address, PhysAddr};

/// Bytes of a page.
pub(crate) const PAGE: u64 = 4096;

/// The pointer by which the CPU reaches a byte of memory.
pub(crate) fn pointer(at: PhysAddr) -> NonNull<u8> {
    let pointer = ptr::with_exposed_provenance_mut(at.raw() as usize);
    NonNull::new(pointer).expect("nobody is given address 0")
}

/// The memory address that a pointer of the direct map is.
pub(crate) fn address(of: NonNull<u8>) -> PhysAddr {
    PhysAddr::new(of.as_ptr().expose_provenance() as u64)
}

/// Memory as values that were never written.
///
/// # Safety
/// The bytes are mapped, aligned for `T`, and nobody else's for good.
pub(crate) unsafe fn slice<T>(at: PhysAddr, len: usize) -> &'static mut [MaybeUninit<T>] {
    // SAFETY: the caller's promise.
    unsafe { slice::from_raw_parts_mut(pointer(at).as_ptr().cast(), len) }
}

/// The same with a value everywhere.
pub(crate) fn fill<T: Copy>(memory: &'static mut [MaybeUninit<T>], value: T) -> &'static mut [T] {
    for place in &mut *memory {
        place.write(value);
    }
    let (start, len) = (memory.as_mut_ptr().cast(), memory.len());
    // SAFETY: each place has just been written, and the borrow of all of them ends in this one.
    unsafe { slice::from_raw_parts_mut(start, len) }
}

/// Zeroes memory.
///
/// # Safety
/// The bytes are mapped, and nobody has a reference to them.
pub(crate) unsafe fn zero(at: PhysAddr, len: u64) {
    // SAFETY: the caller's promise.
    unsafe { pointer(at).write_bytes(0, len as usize) };
}

/// Copies bytes of memory that a device or a page table names.
///
/// # Safety
/// The bytes are mapped, and nobody writes them meanwhile.
pub(crate) unsafe fn read(at: PhysAddr, to: &mut [u8]) {
    let (from, to, len) = (pointer(at), NonNull::from(&mut *to).cast(), to.len());
    // SAFETY: the caller's promise; a slice that is borrowed for writing is elsewhere.
    unsafe { from.copy_to_nonoverlapping(to, len) };
}
