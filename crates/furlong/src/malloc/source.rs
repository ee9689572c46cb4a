//! What the allocator asks of the system: pages, and a handful of words.

use core::{fmt, ptr::NonNull};

/// The system under an allocator.
///
/// Everything but `map`, `unmap`, `purge` and `stop` has a default for systems that lack it.
///
/// # Safety
/// `map` returns memory that is aligned as asked, all zeros, nobody else's, and stays mapped until
/// it is unmapped. Nothing here allocates from the allocator that it serves.
pub unsafe trait PageSource: Sync + 'static {
    /// The size of a page: a power of two of at most 64 KiB.
    fn page_size(&self) -> usize {
        4096
    }

    /// Maps zeroed memory.
    ///
    /// # Shapes
    /// `len` is a multiple of the page size; `align` is a power of two of at least that.
    fn map(&self, len: usize, align: usize) -> Option<NonNull<u8>>;

    /// Gives mapped memory, or a part of it, back for good.
    ///
    /// # Safety
    /// Whole pages that `map` returned, which nobody uses.
    unsafe fn unmap(&self, start: NonNull<u8>, len: usize);

    /// Lets the system take what is in these pages; they stay mapped. Returns whether they read as
    /// zeros from now on.
    ///
    /// # Safety
    /// Whole pages that `map` returned, whose contents nobody needs.
    unsafe fn purge(&self, start: NonNull<u8>, len: usize) -> bool;

    /// Makes a mapping longer or shorter without moving it. `false`: nothing has changed.
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
    /// # Safety
    /// Two mappings of `map`, `to` at least `len` long; nobody uses `from` afterwards.
    unsafe fn relocate(&self, from: NonNull<u8>, len: usize, to: NonNull<u8>) -> bool {
        let _ = (from, len, to);
        false
    }

    /// Has memory behind pages before they are touched, if the system can.
    ///
    /// # Safety
    /// Whole pages that `map` returned.
    unsafe fn populate(&self, start: NonNull<u8>, len: usize) {
        let _ = (start, len);
    }

    /// Makes pages inaccessible, if the system can.
    ///
    /// # Safety
    /// Whole pages that `map` returned, which nobody will use.
    unsafe fn guard(&self, start: NonNull<u8>, len: usize) {
        let _ = (start, len);
    }

    /// Waits a moment for a lock of another thread.
    fn relax(&self) {
        crate::sync::spin_loop();
    }

    /// Milliseconds since any moment, as cheaply as the system can say them. Where it is always the
    /// same moment, nothing is purged because time has passed.
    fn now_ms(&self) -> u64 {
        0
    }

    /// A number that an attacker cannot guess.
    fn random(&self) -> u64 {
        0x9e37_79b9_7f4a_7c15
    }

    /// Called before an allocation is refused: a process sets `errno`.
    fn refused(&self) {}

    /// Ends the program, because memory is corrupt or would be.
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
