//! Accesses to the memory of blocks: no other file touches it.

use core::ptr;

/// A pointer to the block at an address.
#[inline(always)]
pub(crate) fn pointer(address: usize) -> *mut u8 {
    ptr::with_exposed_provenance_mut(address)
}

/// The first word of a block.
///
/// Its holder may have left the word uninitialised, and in Rust a load of uninitialised memory is
/// undefined. So the load is an assembly instruction, which is opaque to the compiler and returns
/// whatever number is in memory.
///
/// # Safety
/// A block of at least a word, which the caller holds: it is free, or being freed.
#[inline(always)]
pub(crate) unsafe fn first_word(address: usize) -> usize {
    let word;
    #[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
    // SAFETY: mapped, aligned and of at least a word; nobody else uses it.
    unsafe {
        core::arch::asm!(
            "mov {word}, qword ptr [{address}]",
            word = lateout(reg) word,
            address = in(reg) address,
            options(readonly, nostack, preserves_flags),
        );
    }
    #[cfg(all(target_arch = "aarch64", target_pointer_width = "64"))]
    // SAFETY: as above.
    unsafe {
        core::arch::asm!(
            "ldr {word}, [{address}]",
            word = lateout(reg) word,
            address = in(reg) address,
            options(readonly, nostack, preserves_flags),
        );
    }
    #[cfg(not(all(
        any(target_arch = "x86_64", target_arch = "aarch64"),
        target_pointer_width = "64"
    )))]
    {
        // The best substitute elsewhere: the compiler cannot tell where the pointer leads.
        let place = core::hint::black_box(pointer(address).cast::<usize>());
        // SAFETY: as above.
        word = unsafe { place.read_volatile() };
    }
    word
}

/// True if a block's first word equals `word`, read by an assembly instruction: see [`first_word`].
///
/// # Safety
/// As for [`first_word`].
#[inline(always)]
pub(crate) unsafe fn begins_with(address: usize, word: usize) -> bool {
    #[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
    // SAFETY: as in first_word; both exits are returns of this function.
    unsafe {
        core::arch::asm!(
            "cmp qword ptr [{address}], {word}",
            "je {equal}",
            address = in(reg) address,
            word = in(reg) word,
            equal = label { return true },
            options(readonly, nostack),
        );
        false
    }
    #[cfg(not(all(target_arch = "x86_64", target_pointer_width = "64")))]
    // SAFETY: the caller's promise.
    unsafe {
        first_word(address) == word
    }
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
