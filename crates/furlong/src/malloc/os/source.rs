//! The interface to the system: pages, and a few words.

use core::ptr::NonNull;

use crate::malloc::{Latch, Misuse};

/// The system below an allocator.
///
/// Every method but `map`, `unmap`, `purge`, `random` and `stop` has a default for systems that
/// lack the service.
///
/// # Context
/// These methods run in the context of the allocating caller, even in a kernel's interrupt handler
/// if that allocates. Except in `page_size`, `refused` and `stop`, the caller is
/// [pinned](crate::malloc::CurrentHeap::pin); in a kernel interrupts are then disabled. Each method
/// documents which latches of the allocator may be held, on which other callers spin. So no method
/// sleeps. None takes a lock under which code allocates, or whose holder may be interrupted by code
/// that allocates.
///
/// # Safety
/// - No method calls the allocator that it serves.
/// - No method unwinds. Only `stop` may, and only if no [`Global`](crate::malloc::Global) refers to
///   the
///   allocator: latches are released, but the data that they guard may be half updated.
/// - `page_size` is constant.
/// - Memory from `map` is aligned as requested, all zeros, unused by anyone else, and stays mapped
///   until it is unmapped, cut off or relocated. Any part of it may be, page by page.
/// - After `purge` each page is unchanged or all zeros; all are zeros if it returned `true`. Nobody
///   writes there meanwhile, but other threads may read, and see one or the other, too.
/// - `split_huge_pages` changes no contents. Others read and write there meanwhile.
/// - If `resize` returned `true`, the mapping has `new` bytes, aligned as before and unused by
///   anyone else. The bytes within both lengths are unchanged; those that were added are all zeros;
///   the part that was cut off is unmapped.
/// - If `relocate` returned `true`, the first `len` bytes of `to` are the former contents of
///   `from`, and `from` is unmapped: the allocator neither uses nor unmaps it any more.
/// - If either of the two returned `false`, nothing has changed.
/// - `wait` returns once [`Latch::try_lock`] has returned `true` to it, or once the system has
///   given the latch to the caller, whose number is then in it. Nobody else changes a latch's
///   holder.
pub unsafe trait PageSource: Sync + 'static {
    /// The size of a page: a power of two of at most 64 KiB, constant.
    fn page_size(&self) -> usize {
        4096
    }

    /// Maps zeroed memory; `None` if there is none. Memory for blocks is mapped in arenas, of 4 MiB
    /// at a multiple of 4 MiB. See [`Malloc`](crate::malloc::Malloc) for all other mappings.
    ///
    /// # Shapes
    /// `len` is a multiple of the page size; `align` is a power of two and at least the page size.
    /// Addresses are 48 bits, sign-extended: a mapping elsewhere is unmapped again, and the
    /// allocator is out of memory.
    ///
    /// # Context
    /// Pinned, without a latch.
    fn map(&self, len: usize, align: usize) -> Option<NonNull<u8>>;

    /// Unmaps mapped memory, or a part of it, for good.
    ///
    /// # Context
    /// Pinned, without a latch.
    ///
    /// # Safety
    /// Whole pages from `map`, which nobody uses.
    unsafe fn unmap(&self, start: NonNull<u8>, len: usize);

    /// Lets the system take the contents of pages, which stay mapped. Returns `true` if they read
    /// as zeros from now on.
    ///
    /// # Context
    /// Pinned, without a latch.
    ///
    /// # Safety
    /// Whole pages from `map`, whose contents nobody needs.
    unsafe fn purge(&self, start: NonNull<u8>, len: usize) -> bool;

    /// True if `unmap` makes the addresses of arenas available to others. Otherwise arenas are kept
    /// for ever, and only their contents are purged.
    fn returns_arenas(&self) -> bool {
        false
    }

    /// Makes a mapping longer or shorter without moving it. `false` if nothing has changed. If it
    /// is a part of a mapping, pages behind it may be in use, so it cannot be made longer.
    ///
    /// # Context
    /// Pinned, without a latch.
    ///
    /// # Safety
    /// `start` and `old` are a mapping from `map` or a part of one, of which pages may have been
    /// moved to others or come from others; nobody uses what is cut off.
    unsafe fn resize(&self, start: NonNull<u8>, old: usize, new: usize) -> bool {
        let _ = (start, old, new);
        false
    }

    /// Moves pages without copying to the place of others, which are dropped. The mapping there has
    /// `room` bytes from then on, of which those behind `len` are as before or all zeros. `false`
    /// if nothing has changed.
    ///
    /// # Context
    /// Pinned, without a latch.
    ///
    /// # Safety
    /// Whole pages from `map`, or that were moved; nobody uses `from` afterwards. Nobody needs the
    /// pages at `to`, of which there are `room` bytes, `len` at least.
    unsafe fn relocate(&self, from: NonNull<u8>, len: usize, to: NonNull<u8>, room: usize) -> bool {
        let _ = (from, len, to, room);
        false
    }

    /// Backs pages with memory before they are touched, if the system can.
    ///
    /// # Context
    /// As for the `map` of an arena.
    ///
    /// # Safety
    /// Whole pages from `map`.
    unsafe fn populate(&self, start: NonNull<u8>, len: usize) {
        let _ = (start, len);
    }

    /// Asks for huge pages behind pages that were never touched. `false` if the system
    /// refuses. It is free to use small ones, as for parts that are shorter than a huge page.
    ///
    /// # Context
    /// As for the `map` of an arena.
    ///
    /// # Safety
    /// Whole pages from `map`.
    unsafe fn prefer_huge_pages(&self, start: NonNull<u8>, len: usize) -> bool {
        let _ = (start, len);
        false
    }

    /// Replaces huge pages by small ones, for good, because parts of them are about to be purged.
    /// Otherwise the system may keep such a part until its whole huge page is free, or make a huge
    /// page of the rest again.
    ///
    /// # Shapes
    /// `start` and `len` are multiples of 2 MiB.
    ///
    /// # Context
    /// As for `purge`. It may need memory, for a table of pages: a system without does nothing.
    ///
    /// # Safety
    /// Whole pages from `map` for which `prefer_huge_pages` has returned `true`.
    unsafe fn split_huge_pages(&self, start: NonNull<u8>, len: usize) {
        let _ = (start, len);
    }

    /// Makes pages inaccessible. `false` if the system cannot; then nothing has changed.
    ///
    /// # Context
    /// As for the `map` of an arena.
    ///
    /// # Safety
    /// Whole pages from `map`, which nobody will use before they are accessible again.
    unsafe fn guard(&self, start: NonNull<u8>, len: usize) -> bool {
        let _ = (start, len);
        false
    }

    /// Makes pages accessible again that `guard` made inaccessible; they keep their contents.
    /// `false` if nothing has changed: the system is short of memory, or cannot.
    ///
    /// # Context
    /// As for the `map` of an arena.
    ///
    /// # Safety
    /// Whole pages from `map` that are the caller's.
    unsafe fn unguard(&self, start: NonNull<u8>, len: usize) -> bool {
        let _ = (start, len);
        false
    }

    /// Makes one page inaccessible. There may be one in each unit, so a system that would need an
    /// area of its own for each cannot. The page loses its contents: it is all zeros when it is
    /// accessible again. `purge`, `guard` and `unguard` leave it inaccessible, `unmap` ends it.
    /// `false` if nothing has changed. If the first call returns that, there are no others.
    ///
    /// # Context
    /// As for the `map` of an arena.
    ///
    /// # Safety
    /// A page from `map`, which nobody will use before it is accessible again.
    unsafe fn guard_page(&self, page: NonNull<u8>) -> bool {
        let _ = page;
        false
    }

    /// Makes a page accessible again that `guard_page` made inaccessible: who implements one
    /// implements both. `false` if nothing has changed.
    ///
    /// # Context
    /// As for the `map` of an arena.
    ///
    /// # Safety
    /// A page from `map` that is the caller's.
    unsafe fn unguard_page(&self, page: NonNull<u8>) -> bool {
        let _ = page;
        false
    }

    /// The caller's number: not 0, less than 2^30, and different from that of every other caller
    /// that runs at the same time. A heap caches it, so this is called once a thread. Latches hold
    /// it. A system whose `wait` does not distinguish holders may use one number for all.
    ///
    /// # Context
    /// Pinned.
    fn caller(&self) -> u32 {
        1
    }

    /// Waits until the caller holds a latch that another holds. A kernel can replace the spin by
    /// its own way to wait.
    ///
    /// # Context
    /// Pinned; a caller that waits for the pool's latch may hold a heap's.
    fn wait(&self, latch: &Latch, caller: u32) {
        while !latch.try_lock(caller) {
            crate::sync::spin_loop();
        }
    }

    /// Wakes a waiter of a latch that the caller is releasing or has just released. Called if
    /// [`Latch::sleepers`] is odd, or if the system has added bits to [`Latch::holder`]; this
    /// method then sets the holder to 0.
    ///
    /// # Context
    /// As for `wait`.
    fn wake(&self, latch: &Latch, caller: u32) {
        let _ = (latch, caller);
    }

    /// Milliseconds since any fixed moment, as cheaply as the system can tell. If it is constant,
    /// nothing is purged because time has passed.
    ///
    /// # Context
    /// Pinned, without a latch.
    fn now_ms(&self) -> u64 {
        0
    }

    /// A number that an attacker cannot guess; called once. The mark of free blocks, the seals and
    /// the random order of [`Hardening`](crate::malloc::Hardening) are derived from it, so whoever
    /// knows it knows all of them.
    ///
    /// # Context
    /// Pinned, under the pool's latch.
    fn random(&self) -> u64;

    /// Called before an allocation is refused: a process sets `errno`.
    fn refused(&self) {}

    /// Ends the program, because memory is corrupt or would be.
    ///
    /// # Context
    /// Any latch may be held, and memory cannot be trusted: report the misuse, and halt.
    fn stop(&self, misuse: Misuse, address: usize) -> !;
}

#[cfg(all(test, not(loom)))]
mod tests {
    #[cfg(feature = "std")]
    use super::Latch;
    use super::{Misuse, NonNull, PageSource};
    #[cfg(feature = "std")]
    use crate::sync::atomic::Ordering;

    /// A system with nothing but what every system has.
    struct Bare;

    // SAFETY: it has no memory.
    unsafe impl PageSource for Bare {
        fn map(&self, _: usize, _: usize) -> Option<NonNull<u8>> {
            None
        }

        unsafe fn unmap(&self, _: NonNull<u8>, _: usize) {}

        unsafe fn purge(&self, _: NonNull<u8>, _: usize) -> bool {
            false
        }

        fn random(&self) -> u64 {
            4
        }

        fn stop(&self, misuse: Misuse, address: usize) -> ! {
            panic!("{misuse} {address}")
        }
    }

    #[test]
    fn a_system_without_a_service_says_so() {
        let place = NonNull::<u8>::dangling();
        assert_eq!(
            (Bare.page_size(), Bare.caller(), Bare.now_ms()),
            (4096, 1, 0)
        );
        assert!(!Bare.returns_arenas());
        // SAFETY: it does nothing.
        assert!(!unsafe { Bare.resize(place, 1, 2) });
        // SAFETY: as above.
        assert!(!unsafe { Bare.relocate(place, 1, place, 1) });
    }

    #[cfg(feature = "std")]
    #[test]
    fn a_caller_without_a_way_to_sleep_spins_until_it_holds_the_latch() {
        static LATCH: Latch = Latch::new();
        let holder = || LATCH.holder().load(Ordering::SeqCst);
        assert!(LATCH.try_lock(7) && !LATCH.try_lock(8));
        let other = std::thread::spawn(|| Bare.wait(&LATCH, 9));
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert!(!other.is_finished() && holder() == 7);
        LATCH.unlock(7, |_| panic!("nobody sleeps"));
        other.join().expect("it gets the latch");
        assert_eq!((holder(), LATCH.sleepers().load(Ordering::SeqCst)), (9, 0));
        Bare.wake(&LATCH, 9);
        assert_eq!(holder(), 9);
    }
}
