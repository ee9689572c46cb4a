//! What the allocator does to memory that it hands out: the only place that touches it.

use core::ptr;

/// A pointer to the block at an address.
#[inline(always)]
pub(crate) fn pointer(address: usize) -> *mut u8 {
    ptr::with_exposed_provenance_mut(address)
}

/// The first word of a block.
///
/// # Safety
/// A block of at least a word, which the caller holds: it is free, or being freed.
#[inline(always)]
pub(crate) unsafe fn first_word(address: usize) -> usize {
    // SAFETY: mapped, aligned and of at least a word, which has been written since it was mapped,
    // by this module before the block was handed out.
    unsafe { pointer(address).cast::<usize>().read() }
}

/// Writes the first word of a block.
///
/// # Safety
/// As for [`first_word`].
#[inline(always)]
pub(crate) unsafe fn set_first_word(address: usize, word: usize) {
    // SAFETY: as there.
    unsafe { pointer(address).cast::<usize>().write(word) };
}

/// Overwrites the beginning of a block with zeros.
///
/// # Safety
/// A block of at least `len` bytes, which the caller holds.
pub(crate) unsafe fn zero(address: usize, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { pointer(address).write_bytes(0, len) };
}

/// Copies the beginning of one block to another.
///
/// # Safety
/// Two different blocks of at least `len` bytes, which the caller holds.
pub(crate) unsafe fn copy(from: usize, to: usize, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { ptr::copy_nonoverlapping(pointer(from), pointer(to), len) };
}
