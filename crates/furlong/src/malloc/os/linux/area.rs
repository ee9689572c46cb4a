//! Moving pages, whatever areas the kernel keeps them in.
//!
//! `mremap` unmaps the destination before it moves anything there. Before Linux 6.17 it then
//! refuses to move pages of several areas.

use core::ptr::{self, NonNull};

use super::{FLAGS, Linux, PROTECTION, raw};
use crate::malloc::PageSource;
use crate::sync::atomic::{AtomicU8, Ordering};

const FLAGS_OF_A_MOVE: i32 = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;

/// Not known yet, whether the kernel moves pages of several areas at once.
const UNKNOWN: u8 = 0;
const NO: u8 = 1;
const YES: u8 = 2;

fn page() -> usize {
    Linux.page_size()
}

/// See [`PageSource::relocate`].
///
/// # Safety
/// Its contract.
pub(super) unsafe fn relocate(from: NonNull<u8>, len: usize, to: NonNull<u8>, room: usize) -> bool {
    let several = moves_several();
    let more = (room - len).max(page());
    // SAFETY: the caller's pages.
    if !several && !unsafe { is_one(from, len, more) } {
        return false;
    }
    // One area of all the room, so that it can be moved and extended again.
    // SAFETY: two mappings of the caller's, of which the second has this room.
    if unsafe { moved(from, len, to, room) } {
        return true;
    }
    // SAFETY: as above.
    several && unsafe { moved(from, len, to, len) }
}

/// Moves pages to the place of others, which begins an area of `room` bytes.
///
/// # Safety
/// Two mappings of the caller's, the second of at least `room` bytes. If the pages are in several
/// areas, the kernel moves those or refuses before it unmaps anything.
///
/// Ends the process if the kernel ran out of memory halfway, and pages are lost.
unsafe fn moved(from: NonNull<u8>, len: usize, to: NonNull<u8>, room: usize) -> bool {
    // SAFETY: the caller's promise.
    let done = unsafe { libc::mremap(raw(from), len, room, FLAGS_OF_A_MOVE, raw(to)) };
    if done != libc::MAP_FAILED {
        return true;
    }
    // A kernel without memory for its own records refuses after it has unmapped the destination.
    // What is still mapped stays.
    let flags = FLAGS | libc::MAP_FIXED_NOREPLACE;
    // SAFETY: it replaces nothing.
    let again = unsafe { libc::mmap(raw(to), room, PROTECTION, flags, -1, 0) };
    if again != libc::MAP_FAILED && again != raw(to) {
        // A kernel before 4.17, for which the address is a wish.
        // SAFETY: a new mapping.
        unsafe { libc::munmap(again, room) };
    }
    if !are_mapped(from, len) || !are_mapped(to, room) {
        // SAFETY: no contract.
        unsafe { libc::abort() };
    }
    false
}

/// True if all these pages are mapped.
pub(super) fn are_mapped(start: NonNull<u8>, len: usize) -> bool {
    // Not `msync`, where a thread that was cancelled would end, in the middle of `realloc`.
    // SAFETY: it changes no memory without a file.
    (unsafe { libc::syscall(libc::SYS_msync, raw(start), len, libc::MS_ASYNC) }) == 0
}

/// True if pages are in one area, which may become `more` bytes longer.
///
/// # Safety
/// Mapped pages of the caller's.
unsafe fn is_one(from: NonNull<u8>, len: usize, more: usize) -> bool {
    // In place they are refused for want of room, unless they are in several areas (EFAULT), or
    // locked and more than the process may lock (EAGAIN).
    // SAFETY: what is mapped stays; without flags nothing moves.
    if unsafe { libc::mremap(raw(from), len, len + more, 0) } == libc::MAP_FAILED {
        // SAFETY: it always returns this thread's errno.
        let errno = unsafe { libc::__errno_location() };
        // SAFETY: as above.
        return unsafe { errno.read() } == libc::ENOMEM;
    }
    // SAFETY: the pages that have just been added.
    unsafe { libc::munmap(raw(from).wrapping_byte_add(len), more) };
    true
}

/// True if the kernel moves pages of several areas at once.
fn moves_several() -> bool {
    static KNOWN: AtomicU8 = AtomicU8::new(UNKNOWN);
    // Relaxed: whoever does not see the answer asks again.
    if KNOWN.load(Ordering::Relaxed) == UNKNOWN {
        let answer = if asked() { YES } else { NO };
        KNOWN.store(answer, Ordering::Relaxed);
    }
    KNOWN.load(Ordering::Relaxed) == YES
}

/// Moves two pages of two areas, and says whether that is possible.
fn asked() -> bool {
    let page = page();
    // SAFETY: a new mapping at an address that the system chooses.
    let from = unsafe { libc::mmap(ptr::null_mut(), 4 * page, PROTECTION, FLAGS, -1, 0) };
    if from == libc::MAP_FAILED {
        return false;
    }
    let to = from.wrapping_byte_add(2 * page);
    // SAFETY: its first page, which nobody uses.
    if unsafe { libc::mprotect(from, page, libc::PROT_NONE) } != 0 {
        // SAFETY: the mapping, which is still one area.
        unsafe { libc::munmap(from, 4 * page) };
        return false;
    }
    // SAFETY: two halves of the mapping.
    let done = unsafe { libc::mremap(from, 2 * page, 2 * page, FLAGS_OF_A_MOVE, to) };
    // A kernel that refuses may have unmapped the second half, where others may be by now. If it
    // has not, two pages without memory stay.
    let rest = if done == to { to } else { from };
    // SAFETY: the half that is left.
    unsafe { libc::munmap(rest, 2 * page) };
    done == to
}

#[cfg(test)]
mod tests {
    use super::{FLAGS, NonNull, PROTECTION, are_mapped, is_one, page, ptr, raw, relocate};

    fn mapped(pages: usize) -> NonNull<u8> {
        let len = pages * page();
        // SAFETY: a new mapping.
        let start = unsafe { libc::mmap(ptr::null_mut(), len, PROTECTION, FLAGS, -1, 0) };
        assert_ne!(start, libc::MAP_FAILED);
        NonNull::new(start.cast()).expect("nothing is mapped at 0")
    }

    fn unmap(start: NonNull<u8>, pages: usize) {
        // SAFETY: a mapping of these tests.
        assert_eq!(unsafe { libc::munmap(raw(start), pages * page()) }, 0);
    }

    /// Six pages, of which the second is another area.
    fn areas() -> NonNull<u8> {
        let start = mapped(6);
        let second = raw(start).wrapping_byte_add(page());
        // SAFETY: a page of its own.
        let failed = unsafe { libc::mprotect(second, page(), libc::PROT_READ) };
        assert_eq!(failed, 0);
        // SAFETY: the first page may be written.
        unsafe { start.write(7) };
        start
    }

    #[test]
    fn pages_of_several_areas_are_told_from_those_of_one() {
        let start = areas();
        for (pages, one) in [(1, true), (2, false), (6, false)] {
            // SAFETY: pages of its own.
            let said = unsafe { is_one(start, pages * page(), page()) };
            assert_eq!(said, one, "{pages}");
        }
        // SAFETY: within the mapping.
        let third = unsafe { start.add(2 * page()) };
        // SAFETY: pages of its own.
        assert!(unsafe { is_one(third, 3 * page(), page()) });
        assert!(are_mapped(start, 6 * page()));
        unmap(start, 6);
    }

    #[test]
    fn a_mapping_that_could_be_extended_is_as_long_as_before() {
        let start = mapped(3);
        // SAFETY: two thirds of it, behind which there is room from now on.
        unsafe { libc::munmap(raw(start).wrapping_byte_add(2 * page()), page()) };
        // SAFETY: pages of its own.
        assert!(unsafe { is_one(start, 2 * page(), page()) });
        assert!(are_mapped(start, 2 * page()) && !are_mapped(start, 3 * page()));
        unmap(start, 2);
    }

    #[test]
    fn pages_of_several_areas_move_or_nothing_changes() {
        let (from, to) = (areas(), mapped(8));
        // SAFETY: two mappings of its own.
        let done = unsafe { relocate(from, 6 * page(), to, 8 * page()) };
        assert!(are_mapped(to, 8 * page()));
        let at = if done { to } else { from };
        // SAFETY: a page that may be read.
        assert_eq!(unsafe { at.read() }, 7);
        if !done {
            unmap(from, 6);
        }
        unmap(to, 8);
    }

    #[test]
    fn pages_of_one_area_become_one_of_all_the_room() {
        let (from, to) = (mapped(2), mapped(8));
        // SAFETY: a page of its own.
        unsafe { from.write(9) };
        // SAFETY: two mappings of its own.
        assert!(unsafe { relocate(from, 2 * page(), to, 8 * page()) });
        // SAFETY: a page that may be read.
        assert_eq!(unsafe { to.read() }, 9);
        // SAFETY: pages of its own.
        assert!(unsafe { is_one(to, 8 * page(), 3 * page()) });
        unmap(to, 8);
    }
}
