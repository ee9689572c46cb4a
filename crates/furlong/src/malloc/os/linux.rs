//! Linux as the system below an allocator.

mod area;
mod hook;
mod latch;

use core::ffi::c_void;
use core::ptr::{self, NonNull};

use crate::malloc::{Latch, Misuse, PageSource};

pub use hook::{Hook, Trouble};

/// Pages of Linux, by `mmap`. `errno` is preserved.
#[derive(Clone, Copy, Debug, Default)]
pub struct Linux;

const PROTECTION: i32 = libc::PROT_READ | libc::PROT_WRITE;
/// Advice to mark pages as inaccessible in the table of pages. It changes no areas, of which a
/// process may have 65,530.
const GUARD_INSTALL: i32 = 102;
/// Advice to remove these marks.
const GUARD_REMOVE: i32 = 103;
const FLAGS: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;

/// Runs a closure that may fail and restores `errno`.
fn quietly<T>(call: impl FnOnce() -> T) -> T {
    // SAFETY: it always returns this thread's errno.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { errno.read() };
    let done = call();
    // SAFETY: as above.
    unsafe { errno.write(before) };
    done
}

fn map(len: usize) -> Option<NonNull<u8>> {
    // SAFETY: a new mapping at an address that the system chooses.
    let start = unsafe { libc::mmap(ptr::null_mut(), len, PROTECTION, FLAGS, -1, 0) };
    (start != libc::MAP_FAILED).then(|| NonNull::new(start.cast::<u8>()))?
}

fn unmap(start: usize, len: usize) {
    let place = ptr::with_exposed_provenance_mut(start);
    // SAFETY: the callers below cut off parts of their own new mapping, or were promised that the
    // memory is theirs.
    if len > 0 && unsafe { libc::munmap(place, len) } != 0 {
        // The process has too many areas to cut one in two: the addresses are lost, the memory not.
        // SAFETY: as above.
        unsafe { libc::madvise(place, len, libc::MADV_DONTNEED) };
    }
}

/// Maps a fresh page over this one: a filter that the process has made for itself may refuse the
/// advice that removes its mark.
fn mapped_anew(page: NonNull<u8>, size: usize) -> bool {
    let flags = FLAGS | libc::MAP_FIXED;
    // SAFETY: the caller's own page.
    let new = unsafe { libc::mmap(raw(page), size, PROTECTION, flags, -1, 0) };
    // A kernel without memory for its own records may have unmapped the page before it refused.
    if new == libc::MAP_FAILED && !area::are_mapped(page, size) {
        // SAFETY: no contract.
        unsafe { libc::abort() };
    }
    new != libc::MAP_FAILED
}

/// A random number. If the kernel has none, early after its start or behind a filter, it is made of
/// the process's start bytes, a place and the time. The start bytes alone are no substitute: the C
/// library uses all of them, and its pointer guard would be in every free block.
#[cold]
fn asked() -> u64 {
    let mut bytes = [0; 8];
    // SAFETY: a buffer of as many bytes.
    let got = quietly(|| unsafe {
        let (start, len) = (bytes.as_mut_ptr(), bytes.len());
        libc::syscall(libc::SYS_getrandom, start, len, libc::GRND_NONBLOCK)
    });
    if usize::try_from(got) == Ok(bytes.len()) {
        return u64::from_ne_bytes(bytes);
    }
    let now = clock(libc::CLOCK_MONOTONIC);
    let now = now.tv_nsec.cast_unsigned() ^ now.tv_sec.cast_unsigned() << 30;
    let place = bytes.as_ptr().addr() as u64;
    mixed(start_bytes().into_iter().chain([place, now]))
}

/// The random bytes that the kernel gives a process; zeros if it has none.
fn start_bytes() -> [u64; 2] {
    // SAFETY: an auxiliary value; 0 if the process has none.
    let bytes = unsafe { libc::getauxval(libc::AT_RANDOM) };
    if bytes == 0 {
        return [0; 2];
    }
    let words: *const [u64; 2] = ptr::with_exposed_provenance(bytes as usize);
    // SAFETY: the kernel put 16 bytes there for this process.
    unsafe { words.read_unaligned() }
}

/// A number that depends on each bit of some words.
fn mixed(words: impl Iterator<Item = u64>) -> u64 {
    words.fold(0, |sum, word| {
        let product = (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        product ^ product >> 32
    })
}

/// The time of a clock, or 0.
fn clock(which: libc::clockid_t) -> libc::timespec {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: a place for the result.
    quietly(|| unsafe { libc::clock_gettime(which, &raw mut now) });
    now
}

fn raw(start: NonNull<u8>) -> *mut c_void {
    start.as_ptr().cast()
}

// SAFETY: mmap returns fresh zeroed pages; the excess for the alignment is unmapped; nothing here
// allocates.
unsafe impl PageSource for Linux {
    fn page_size(&self) -> usize {
        // SAFETY: no contract.
        let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        usize::try_from(size).unwrap_or(4096)
    }

    fn map(&self, len: usize, align: usize) -> Option<NonNull<u8>> {
        quietly(|| {
            let first = map(len)?;
            if first.addr().get() % align == 0 {
                return Some(first);
            }
            unmap(first.as_ptr().expose_provenance(), len);
            let start = map(len.checked_add(align)?)?.as_ptr();
            let front = start.addr().next_multiple_of(align) - start.addr();
            unmap(start.expose_provenance(), front);
            unmap(start.expose_provenance() + front + len, align - front);
            NonNull::new(start.wrapping_add(front))
        })
    }

    unsafe fn unmap(&self, start: NonNull<u8>, len: usize) {
        quietly(|| unmap(start.as_ptr().expose_provenance(), len));
    }

    fn returns_arenas(&self) -> bool {
        true
    }

    unsafe fn purge(&self, start: NonNull<u8>, len: usize) -> bool {
        // SAFETY: the caller does not need the contents.
        quietly(|| unsafe { libc::madvise(raw(start), len, libc::MADV_DONTNEED) } == 0)
    }

    unsafe fn resize(&self, start: NonNull<u8>, old: usize, new: usize) -> bool {
        // SAFETY: the caller's mapping; without flags it does not move.
        quietly(|| unsafe { libc::mremap(raw(start), old, new, 0) } != libc::MAP_FAILED)
    }

    unsafe fn relocate(&self, from: NonNull<u8>, len: usize, to: NonNull<u8>, room: usize) -> bool {
        // SAFETY: the caller's promise.
        quietly(|| unsafe { area::relocate(from, len, to, room) })
    }

    unsafe fn populate(&self, start: NonNull<u8>, len: usize) {
        // SAFETY: mapped pages; a kernel without this advice refuses it.
        quietly(|| unsafe { libc::madvise(raw(start), len, libc::MADV_POPULATE_WRITE) });
    }

    unsafe fn prefer_huge_pages(&self, start: NonNull<u8>, len: usize) -> bool {
        // With larger pages than these, huge ones are longer than an arena.
        // SAFETY: mapped pages; a kernel without huge pages refuses the advice.
        quietly(|| unsafe { libc::madvise(raw(start), len, libc::MADV_HUGEPAGE) } == 0)
            && self.page_size() == 4096
    }

    unsafe fn split_huge_pages(&self, start: NonNull<u8>, len: usize) {
        // The kernel's thread that makes huge pages of small ones leaves these alone from now on.
        // SAFETY: mapped pages, which keep their contents.
        quietly(|| unsafe { libc::madvise(raw(start), len, libc::MADV_NOHUGEPAGE) });
        for at in (0..len).step_by(2 << 20) {
            // Advice on a part of a huge page splits it, if no other process shares it. Only
            // `MADV_DONTNEED` leaves it: it unmaps the part, whose memory stays behind the rest
            // until memory is short.
            // SAFETY: as above; a kernel before 5.4 refuses this.
            let part = unsafe { start.add(at) };
            // SAFETY: as above.
            quietly(|| unsafe { libc::madvise(raw(part), self.page_size(), libc::MADV_COLD) });
        }
    }

    unsafe fn guard(&self, start: NonNull<u8>, len: usize) -> bool {
        // SAFETY: pages that nobody uses.
        quietly(|| unsafe { libc::mprotect(raw(start), len, libc::PROT_NONE) } == 0)
    }

    unsafe fn unguard(&self, start: NonNull<u8>, len: usize) -> bool {
        // SAFETY: the caller's pages.
        quietly(|| unsafe { libc::mprotect(raw(start), len, PROTECTION) } == 0)
    }

    unsafe fn guard_page(&self, page: NonNull<u8>) -> bool {
        // SAFETY: a page that nobody uses; a kernel before 6.13 refuses the advice.
        quietly(|| unsafe { libc::madvise(raw(page), self.page_size(), GUARD_INSTALL) } == 0)
    }

    unsafe fn unguard_page(&self, page: NonNull<u8>) -> bool {
        let size = self.page_size();
        // SAFETY: the caller's page.
        let done = quietly(|| unsafe { libc::madvise(raw(page), size, GUARD_REMOVE) } == 0);
        done || quietly(|| mapped_anew(page, size))
    }

    fn caller(&self) -> u32 {
        // SAFETY: no contract.
        let number = unsafe { libc::syscall(libc::SYS_gettid) };
        u32::try_from(number).unwrap_or(1)
    }

    fn wait(&self, latch: &Latch, caller: u32) {
        quietly(|| latch::wait(latch, caller));
    }

    fn wake(&self, latch: &Latch, caller: u32) {
        quietly(|| latch::wake(latch, caller));
    }

    fn now_ms(&self) -> u64 {
        // The clock of the last tick, which needs no system call.
        let now = clock(libc::CLOCK_MONOTONIC_COARSE);
        let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
        seconds * 1000 + u64::try_from(now.tv_nsec).unwrap_or(0) / 1_000_000
    }

    fn random(&self) -> u64 {
        asked()
    }

    fn refused(&self) {
        hook::tell(Trouble::Refused);
        // SAFETY: it always returns this thread's errno.
        let errno = unsafe { libc::__errno_location() };
        // SAFETY: as above.
        unsafe { errno.write(libc::ENOMEM) };
    }

    fn stop(&self, misuse: Misuse, address: usize) -> ! {
        let mut line = [0; 128];
        let len = message(&mut line, misuse.message(), address);
        // Not `write`, where a thread that was cancelled would end instead of the process.
        // SAFETY: a buffer of at least this length.
        unsafe { libc::syscall(libc::SYS_write, 2, line.as_ptr(), len) };
        hook::tell(Trouble::Misuse { misuse, address });
        // SAFETY: no contract.
        unsafe { libc::abort() }
    }
}

/// Formats the last line of the program without allocating; returns its length.
fn message(line: &mut [u8], what: &str, address: usize) -> usize {
    let digit = |shift: u32| b"0123456789abcdef"[address >> shift & 15];
    let digits = (0..16).rev().map(|at| digit(at * 4));
    let bytes = b"furlong malloc: ".iter().copied();
    let bytes = bytes.chain(what.bytes()).chain(b": 0x".iter().copied());
    let bytes = bytes
        .chain(digits.skip_while(|digit| *digit == b'0'))
        .chain([b'\n']);
    let slots = line.iter_mut().zip(bytes);
    slots.map(|(slot, byte)| *slot = byte).count()
}

#[cfg(test)]
pub(crate) mod tests {
    use core::ptr::with_exposed_provenance;
    use std::io;
    use std::os::fd::AsRawFd as _;

    use super::{Linux, PageSource, asked, clock, mapped_anew, message, mixed, start_bytes};

    #[test]
    fn the_last_line_says_what_and_where() {
        let mut line = [0; 64];
        let len = message(&mut line, "block freed twice", 0x7f00_0010);
        assert_eq!(
            &line[..len],
            b"furlong malloc: block freed twice: 0x7f000010\n"
        );
    }

    #[test]
    fn the_time_is_that_of_the_clock_in_milliseconds() {
        let ms = |time: libc::timespec| time.tv_sec as u64 * 1000 + time.tv_nsec as u64 / 1_000_000;
        let before = ms(clock(libc::CLOCK_MONOTONIC));
        let now = Linux.now_ms();
        let after = ms(clock(libc::CLOCK_MONOTONIC));
        assert!(before > 0, "the system has run for a while");
        // A coarse clock lags by a tick at most.
        assert!(
            now + 20 >= before && now <= after,
            "{before}, {now}, {after}"
        );
    }

    /// True if the system lets this process read an address. A list of its areas would not show the
    /// pages that are marked in the table of pages alone.
    pub(crate) fn is_accessible(address: usize) -> bool {
        let (_reader, writer) = io::pipe().expect("there are descriptors");
        let start = with_exposed_provenance(address);
        // SAFETY: the system refuses what may not be read.
        unsafe { libc::write(writer.as_raw_fd(), start, 1) == 1 }
    }

    #[test]
    fn a_page_is_accessible_and_zero_after_its_mark_was_removed_or_it_was_replaced() {
        let size = Linux.page_size();
        for replaces in [false, true] {
            let page = Linux.map(size, size).expect("there is a page");
            // SAFETY: a page of its own.
            unsafe { page.write(7) };
            // SAFETY: as above.
            let marked = unsafe { Linux.guard_page(page) };
            // An emulator takes advice that it does not know, and does nothing.
            let marked = marked && !is_accessible(page.as_ptr().expose_provenance());
            let done = match replaces {
                true => mapped_anew(page, size),
                // SAFETY: as above.
                false => unsafe { Linux.unguard_page(page) },
            };
            assert!(done);
            // SAFETY: as above.
            let first = unsafe { page.read() };
            assert!(first == 0 || !marked && !replaces);
            // SAFETY: as above.
            unsafe { page.write(8) };
            // SAFETY: nobody uses it from now on.
            unsafe { Linux.unmap(page, size) };
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_cut_off_and_an_address_of_zero_has_no_digits() {
        let mut line = [0; 20];
        assert_eq!(message(&mut line, "block freed twice", 1), 20);
        assert_eq!(&line, b"furlong malloc: bloc");
        let mut line = [0; 64];
        for (address, end) in [(0, ": 0x\n"), (usize::MAX, ": 0xffffffffffffffff\n")] {
            let len = message(&mut line, "", address);
            assert_eq!(line[..len], *format!("furlong malloc: {end}").as_bytes());
        }
    }

    #[test]
    fn a_random_number_that_is_asked_for_is_another_each_time() {
        let numbers = [(); 4].map(|()| asked());
        for at in 1..4 {
            assert!(!numbers[..at].contains(&numbers[at]), "{numbers:x?}");
            assert!(numbers[at] > u64::from(u32::MAX), "{numbers:x?}");
        }
    }

    #[test]
    fn a_number_of_start_bytes_and_a_time_is_neither() {
        let start = start_bytes();
        let made = [7, 8].map(|time| mixed(start.into_iter().chain([time])));
        assert!(start[0] != start[1] && made[0] != made[1]);
        assert!(made.iter().all(|made| !start.contains(made)), "{made:x?}");
    }
}
