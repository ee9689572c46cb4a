//! A live block with contents that differ from every other block's.
#![expect(unsafe_code, reason = "it fills memory that an allocator gave")]

use core::ptr::NonNull;

use furlong::malloc::{Config, Malloc, Zone};

/// Largest size, in bytes, of a block of which every word is written. A longer block has words
/// written in its first and last `WHOLE` bytes, one in each page of its first unit, and then one in
/// every `FEW` bytes. That reaches every unit, at a different page each time.
const WHOLE: usize = 512;
const PAGE: usize = 4096;
const UNIT: usize = 64 << 10;
const FEW: usize = 15 * PAGE;
const WORD: usize = size_of::<u64>();

/// A source of blocks: an allocator, or one of its zones.
///
/// # Safety
/// A block has the requested size, and belongs to no other caller until it is taken back. A block
/// of 8 bytes or more is aligned to 8.
pub unsafe trait Giver {
    /// Allocates a block of this size and alignment.
    fn give(&self, request: (usize, usize), zeroed: bool) -> Option<NonNull<u8>>;

    /// The usable size of a block, in bytes.
    ///
    /// # Safety
    /// The block is live and came from this source.
    unsafe fn usable(&self, block: NonNull<u8>) -> usize;

    /// Resizes a block that is aligned to 16.
    ///
    /// # Safety
    /// The block is live and came from this source. The returned block replaces it.
    unsafe fn resize(&self, block: NonNull<u8>, size: usize) -> Option<NonNull<u8>>;

    /// Frees a block. `size` is the requested size, if the caller gives it.
    ///
    /// # Safety
    /// The block is live, came from this source, and is not used any more.
    unsafe fn take(&self, block: NonNull<u8>, size: Option<usize>);
}

// SAFETY: allocators guarantee this, and the tests check it against the model.
unsafe impl<C: Config> Giver for &'static Malloc<C> {
    fn give(&self, (size, align): (usize, usize), zeroed: bool) -> Option<NonNull<u8>> {
        NonNull::new(if zeroed {
            self.allocate_zeroed(size, align)
        } else {
            self.allocate_aligned(size, align)
        })
    }

    unsafe fn usable(&self, block: NonNull<u8>) -> usize {
        // SAFETY: the caller's promise.
        unsafe { self.usable_size(block.as_ptr()) }
    }

    unsafe fn resize(&self, block: NonNull<u8>, size: usize) -> Option<NonNull<u8>> {
        // SAFETY: the caller's promise.
        NonNull::new(unsafe { Malloc::resize(self, block.as_ptr(), size, 16) })
    }

    unsafe fn take(&self, block: NonNull<u8>, size: Option<usize>) {
        match size {
            // SAFETY: the caller's promise.
            Some(size) => unsafe { self.free_sized(block.as_ptr(), size) },
            // SAFETY: the caller's promise.
            None => unsafe { self.free(block.as_ptr()) },
        }
    }
}

// SAFETY: as above.
unsafe impl<C: Config> Giver for Zone<C> {
    fn give(&self, (size, align): (usize, usize), zeroed: bool) -> Option<NonNull<u8>> {
        if zeroed {
            self.allocate_zeroed(size, align)
        } else {
            self.allocate(size, align)
        }
    }

    unsafe fn usable(&self, block: NonNull<u8>) -> usize {
        // SAFETY: the caller's promise.
        unsafe { self.malloc().usable_size(block.as_ptr()) }
    }

    unsafe fn resize(&self, block: NonNull<u8>, size: usize) -> Option<NonNull<u8>> {
        // SAFETY: the caller's promise.
        unsafe { Zone::resize(self, block, size, 16) }
    }

    unsafe fn take(&self, block: NonNull<u8>, _: Option<usize>) {
        // SAFETY: the caller's promise.
        unsafe { self.free(block) };
    }
}

/// A live block, filled with words that depend on its key.
#[derive(Debug)]
pub(super) struct Block {
    start: NonNull<u8>,
    size: usize,
    key: u64,
}

// SAFETY: the value owns its block.
unsafe impl Send for Block {}

impl Block {
    /// Fills a block of at least `size` bytes.
    fn new(start: NonNull<u8>, size: usize, key: u64) -> Self {
        let block = Self { start, size, key };
        for at in block.places() {
            // SAFETY: a word within the block, which is aligned to at least 8.
            unsafe { block.word(at).write(block.expected(at)) };
        }
        block
    }

    fn word(&self, at: usize) -> *mut u64 {
        self.start.as_ptr().wrapping_add(at).cast()
    }

    /// The expected word at an offset.
    fn expected(&self, at: usize) -> u64 {
        (self.key ^ at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    /// Offsets of the words that are written: all near both ends, one in each page of the first
    /// unit, and some in every further unit. Units are what the allocator works in.
    fn places(&self) -> impl Iterator<Item = usize> + use<> {
        let end = self.size / WORD * WORD;
        let first = end.min(WHOLE);
        let last = end.saturating_sub(WHOLE).max(first);
        let pages = (first..last.min(UNIT)).step_by(PAGE);
        let units = (UNIT..last).step_by(FEW);
        (0..first)
            .step_by(WORD)
            .chain(pages)
            .chain(units)
            .chain((last..end).step_by(WORD))
    }

    /// True if the first `len` bytes are unchanged.
    fn is_intact_to(&self, len: usize) -> bool {
        self.places().filter(|at| at + WORD <= len).all(|at| {
            // SAFETY: a word within the block, which was written.
            unsafe { self.word(at).read() == self.expected(at) }
        })
    }

    /// True if the block is unchanged.
    pub(super) fn is_intact(&self) -> bool {
        self.is_intact_to(self.size)
    }

    /// The address of its first byte.
    pub(super) fn address(&self) -> usize {
        self.start.as_ptr().addr()
    }

    /// The usable size, in bytes.
    pub(super) fn usable(&self, giver: &(impl Giver + ?Sized)) -> usize {
        // SAFETY: a live block from this source.
        unsafe { giver.usable(self.start) }
    }

    /// Allocates a block. The flag is false if a block that has to be zero is not.
    pub(super) fn allocate(
        giver: &(impl Giver + ?Sized),
        (size, align): (usize, usize),
        zeroed: bool,
        key: u64,
    ) -> Option<(Self, bool)> {
        let start = giver.give((size, align), zeroed)?;
        let mut zero = true;
        if zeroed {
            // SAFETY: a block of this size, all of which is initialised.
            let bytes = unsafe { core::slice::from_raw_parts(start.as_ptr(), size) };
            // In lines of 64 bytes: a whole line needs no branch for each byte.
            let mut lines = bytes.chunks(64);
            zero = lines.all(|line| line.iter().fold(0, |any, byte| any | byte) == 0);
        }
        Some((Self::new(start, size, key), zero))
    }

    /// Resizes the block, which may move. The flag is true if the contents are unchanged. Returns
    /// the old block if memory is short.
    pub(super) fn resize(
        self,
        giver: &(impl Giver + ?Sized),
        size: usize,
    ) -> Result<(Self, bool), Self> {
        // SAFETY: a live block from this source, aligned to 16.
        let Some(start) = (unsafe { giver.resize(self.start, size) }) else {
            return Err(self);
        };
        let before = Self { start, ..self };
        let intact = before.is_intact_to(size.min(before.size));
        Ok((Self::new(start, size, before.key), intact))
    }

    /// Frees the block. Returns true if its contents were unchanged.
    pub(super) fn free(self, giver: &(impl Giver + ?Sized), sized: bool) -> bool {
        let intact = self.is_intact();
        // SAFETY: a live block from this source, of this size; it is not used any more.
        unsafe { giver.take(self.start, sized.then_some(self.size)) };
        intact
    }
}
