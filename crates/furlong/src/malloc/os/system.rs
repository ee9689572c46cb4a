//! The page source, called by address: the allocator's records justify each unsafe call.

use core::ptr::NonNull;

use super::block::{first_word, pointer, set_first_word, zero};
use super::source::PageSource;
use crate::malloc::Misuse;
#[cfg(not(loom))]
use crate::sync::atomic::{AtomicUsize, Ordering};

/// A page source, called with addresses of memory that was mapped according to the records.
pub(crate) trait System: PageSource {
    fn map_at(&self, len: usize, align: usize) -> Option<usize> {
        Some(self.map(len, align)?.as_ptr().expose_provenance())
    }

    fn unmap_at(&self, start: usize, len: usize) {
        // SAFETY: the records said that it was mapped, and no longer say that anybody has it.
        unsafe { self.unmap(at(start), len) };
    }

    fn purge_at(&self, start: usize, len: usize) -> bool {
        // SAFETY: the records say that it is mapped and that nobody has it.
        unsafe { self.purge(at(start), len) }
    }

    fn guard_at(&self, start: usize, len: usize) -> bool {
        // SAFETY: the records say that it is mapped and that nobody has it.
        unsafe { self.guard(at(start), len) }
    }

    fn unguard_at(&self, start: usize, len: usize) -> bool {
        // SAFETY: the records say that it is mapped and the caller's.
        unsafe { self.unguard(at(start), len) }
    }

    fn guard_page_at(&self, page: usize) -> bool {
        // SAFETY: as in guard_at.
        unsafe { self.guard_page(at(page)) }
    }

    fn unguard_page_at(&self, page: usize) -> bool {
        // SAFETY: as in unguard_at.
        unsafe { self.unguard_page(at(page)) }
    }

    fn populate_at(&self, start: usize, len: usize) {
        // SAFETY: the records say that it is mapped.
        unsafe { self.populate(at(start), len) };
    }

    fn prefer_huge_pages_at(&self, start: usize, len: usize) -> bool {
        // SAFETY: the records say that it is mapped.
        unsafe { self.prefer_huge_pages(at(start), len) }
    }

    fn split_huge_pages_at(&self, start: usize, len: usize) {
        // SAFETY: the records say that it is mapped.
        unsafe { self.split_huge_pages(at(start), len) };
    }

    fn resize_at(&self, start: usize, old: usize, new: usize) -> bool {
        // SAFETY: the records say that it is mapped and the caller's.
        unsafe { self.resize(at(start), old, new) }
    }

    fn relocate_at(&self, from: usize, len: usize, to: usize, room: usize) -> bool {
        // SAFETY: the caller holds both mappings; the second has this room.
        unsafe { self.relocate(at(from), len, at(to), room) }
    }
}

impl<S: PageSource> System for S {}

/// Converts an address to a pointer. Mapped memory does not begin at 0.
fn at(start: usize) -> NonNull<u8> {
    NonNull::new(pointer(start)).unwrap_or(NonNull::dangling())
}

/// Overwrites with zeros a part of a block that the caller holds, or of units that it has just
/// taken.
#[inline(always)]
pub(crate) fn clear(base: usize, len: usize) {
    // SAFETY: the records say that they are mapped and the caller's.
    unsafe { zero(base, len) };
}

/// Overwrites a whole block with zeros. Short ones need no call, since the compiler knows their
/// lengths.
#[inline(always)]
pub(crate) fn clear_block(base: usize, len: usize) {
    match len {
        16 => clear(base, 16),
        32 => clear(base, 32),
        48 => clear(base, 48),
        64 => clear(base, 64),
        _ => clear(base, len),
    }
}

/// True if words of a block that the caller holds, or of units that it has just taken, are zero.
#[inline(always)]
pub(crate) fn is_zero(start: usize, len: usize) -> bool {
    debug_assert!((start | len).is_multiple_of(8));
    // SAFETY: the records say that it is mapped and the caller's; the system has written all of it
    // since it was mapped, and both are multiples of a word.
    let words = unsafe { core::slice::from_raw_parts(pointer(start).cast::<u64>(), len / 8) };
    // All words, without an early exit, so that the loop can be vectorised.
    words.iter().fold(0, |all, word| all | word) == 0
}

/// A word of a block that the caller holds.
#[inline(always)]
pub(crate) fn word_at(address: usize) -> usize {
    // SAFETY: the records say that it is mapped and the caller's.
    unsafe { first_word(address) }
}

/// Writes a word of a block that the caller holds.
#[inline(always)]
pub(crate) fn put_word(address: usize, word: usize) {
    // SAFETY: as above.
    unsafe { set_first_word(address, word) };
}

/// Makes the first page of a block that the caller holds resident, and changes nothing. A read
/// instead would map the system's page of zeros, and the next write would be a second page fault.
#[cfg(not(loom))]
pub(crate) fn touch(address: usize) {
    // SAFETY: the records say that it is mapped and the caller's, and blocks are aligned to words.
    let word = unsafe { AtomicUsize::from_ptr(pointer(address).cast()) };
    // Relaxed: it orders nothing. An exchange is never dropped by the compiler.
    let _ = word.compare_exchange(0, 0, Ordering::Relaxed, Ordering::Relaxed);
}

/// Models have no pages.
#[cfg(loom)]
pub(crate) fn touch(_: usize) {}

/// Ends the program.
#[cold]
#[inline(never)]
pub(crate) fn stop(source: &impl PageSource, misuse: Misuse, address: usize) -> ! {
    source.stop(misuse, address)
}
