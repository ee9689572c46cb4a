//! What the allocator asks of the system: pages, and a handful of words.

use core::{fmt, ptr::NonNull};

use super::latch::Latch;

/// The system under an allocator.
///
/// Everything but `map`, `unmap`, `purge`, `random` and `stop` has a default for systems that lack
/// it.
///
/// # Context
/// Whoever allocates is in here, from wherever that may be: a kernel's interrupt handler, if it
/// allocates. But for `page_size`, `refused` and `stop` the caller is
/// [pinned](super::CurrentHeap::pin), which in a kernel is with interrupts off, and each method
/// says which latches of the allocator may be held, for which others spin. So nothing here sleeps,
/// or takes a lock under which somebody allocates or may be interrupted by who does.
///
/// # Safety
/// - Nothing here calls the allocator that it serves.
/// - Nothing here unwinds. Only `stop` may, and only where the allocator is behind no
///   [`Global`](super::Global): latches are given back, but what they guard may be half done.
/// - `page_size` is always the same.
/// - What `map` returns is aligned as asked, all zeros, nobody else's, and stays mapped until it is
///   unmapped, cut off or relocated. Each part of it may be, page by page.
/// - After `purge` each page is as it was, or all zeros, and zeros if it returned `true`. Nobody
///   writes there meanwhile, but other threads may read, and they see one or the other, too.
/// - Where `resize` returned `true` the mapping has `new` bytes, aligned as before and nobody
///   else's; what both lengths have is unchanged, and what was cut off is unmapped.
/// - Where `relocate` returned `true` the first `len` bytes of `to` are what was in `from`, and
///   `from` is unmapped: the allocator neither uses nor unmaps it any more.
/// - Where one of the two returned `false` nothing has changed.
/// - `wait` returns when [`Latch::try_lock`] has returned `true` to it, or the system has given the
///   latch to the caller, whose number is then in it. Nobody else changes a latch's holder.
pub unsafe trait PageSource: Sync + 'static {
    /// The size of a page: a power of two of at most 64 KiB, always the same.
    fn page_size(&self) -> usize {
        4096
    }

    /// Maps zeroed memory; nothing where there is none. Memory for blocks is asked for by arenas,
    /// of 4 MiB at a multiple of 4 MiB; see [`Malloc`](super::Malloc) for what else there is.
    ///
    /// # Shapes
    /// `len` is a multiple of the page size; `align` is a power of two of at least that. Addresses
    /// have 48 bits and their sign: what lies elsewhere is unmapped again, and memory is short.
    ///
    /// # Context
    /// Pinned, without a latch.
    fn map(&self, len: usize, align: usize) -> Option<NonNull<u8>>;

    /// Gives mapped memory, or a part of it, back for good.
    ///
    /// # Context
    /// Pinned, without a latch.
    ///
    /// # Safety
    /// Whole pages that `map` returned, which nobody uses.
    unsafe fn unmap(&self, start: NonNull<u8>, len: usize);

    /// Lets the system take what is in these pages; they stay mapped. Returns whether they read as
    /// zeros from now on.
    ///
    /// # Context
    /// Pinned, without a latch.
    ///
    /// # Safety
    /// Whole pages that `map` returned, whose contents nobody needs.
    unsafe fn purge(&self, start: NonNull<u8>, len: usize) -> bool;

    /// Whether `unmap` lets others have the addresses of arenas, too. If not, arenas are kept for
    /// ever: only what is in them is purged.
    fn returns_arenas(&self) -> bool {
        false
    }

    /// Makes a mapping longer or shorter without moving it. `false`: nothing has changed.
    ///
    /// # Context
    /// Pinned, without a latch.
    ///
    /// # Safety
    /// `start` and `old` are a mapping of `map`; what is cut off nobody uses.
    unsafe fn resize(&self, start: NonNull<u8>, old: usize, new: usize) -> bool {
        let _ = (start, old, new);
        false
    }

    /// Moves a mapping's pages, without copying, to the first pages of another, whose own are
    /// dropped. `false`: nothing has changed.
    ///
    /// # Context
    /// Pinned, without a latch.
    ///
    /// # Safety
    /// Two mappings of `map`, `from` of `len` and `to` of at least as many bytes; nobody uses
    /// `from` afterwards.
    unsafe fn relocate(&self, from: NonNull<u8>, len: usize, to: NonNull<u8>) -> bool {
        let _ = (from, len, to);
        false
    }

    /// Has memory behind pages before they are touched, if the system can.
    ///
    /// # Context
    /// As for the `map` of an arena.
    ///
    /// # Safety
    /// Whole pages that `map` returned.
    unsafe fn populate(&self, start: NonNull<u8>, len: usize) {
        let _ = (start, len);
    }

    /// Makes pages inaccessible, if the system can.
    ///
    /// # Context
    /// As for the `map` of an arena.
    ///
    /// # Safety
    /// Whole pages that `map` returned, which nobody will use.
    unsafe fn guard(&self, start: NonNull<u8>, len: usize) {
        let _ = (start, len);
    }

    /// The caller's number: not 0, below 2^30, and no other's that runs at the same time. A heap
    /// keeps it, so that it is asked for once a thread. Latches hold it; a system for whose `wait`
    /// one holder is like another has the same number for all.
    ///
    /// # Context
    /// Pinned.
    fn caller(&self) -> u32 {
        1
    }

    /// Waits until the caller has a latch that another holds: a kernel has its own way to wait.
    ///
    /// # Context
    /// Pinned; who waits for the pool's latch may hold a heap's.
    fn wait(&self, latch: &Latch, caller: u32) {
        while !latch.try_lock(caller) {
            crate::sync::spin_loop();
        }
    }

    /// Wakes one that waits for a latch that the caller gives back, or has given back just now.
    /// Called if [`Latch::sleepers`] is odd, or the system has added bits to [`Latch::holder`],
    /// which this then sets to 0.
    ///
    /// # Context
    /// As for `wait`.
    fn wake(&self, latch: &Latch, caller: u32) {
        let _ = (latch, caller);
    }

    /// Milliseconds since any moment, as cheaply as the system can say them. Where it is always the
    /// same moment, nothing is purged because time has passed.
    ///
    /// # Context
    /// Pinned, without a latch.
    fn now_ms(&self) -> u64 {
        0
    }

    /// A number that an attacker cannot guess, asked for once: the mark of free blocks, the seals
    /// and the random order of [`Hardening`](super::Hardening) are made of it, and who knows it
    /// knows them.
    ///
    /// # Context
    /// Pinned, under the pool's latch.
    fn random(&self) -> u64;

    /// Called before an allocation is refused: a process sets `errno`.
    fn refused(&self) {}

    /// Ends the program, because memory is corrupt or would be.
    ///
    /// # Context
    /// Any latch may be held, and memory is not to be trusted: it says what it has to, and halts.
    fn stop(&self, misuse: Misuse, address: usize) -> !;
}

/// A caller's mistake that would corrupt memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misuse {
    /// A block was freed that is free already.
    DoubleFree,
    /// A pointer was freed or resized that leads into the middle of a block or of free memory.
    NotABlock,
    /// A pointer was freed or resized that this allocator never gave out.
    Foreign,
    /// A block was written to after it had been freed.
    WrittenAfterFree,
    /// A block was written to behind its end, or in front of the next one.
    Overrun,
    /// A block was freed with a size that it does not have.
    WrongSize,
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl core::error::Error for Misuse {}

impl Misuse {
    /// What is wrong, in one line.
    #[must_use]
    pub const fn message(self) -> &'static str {
        match self {
            Self::DoubleFree => "block freed twice",
            Self::NotABlock => "pointer is not the start of a live block",
            Self::Foreign => "pointer was not allocated here",
            Self::WrittenAfterFree => "block written to after it was freed",
            Self::Overrun => "block written to past its end",
            Self::WrongSize => "block freed with a size that it does not have",
        }
    }
}
