//! A block that a program has, and contents that are nobody else's.
#![expect(unsafe_code, reason = "it fills memory that an allocator gave")]

use core::ptr::NonNull;

use furlong::malloc::{Config, Malloc, Zone};

/// Up to here all words of a block are written; of a longer one the first and the last so many
/// bytes, a word of each page of its first unit, and then one in so many pages that each unit has
/// some, at pages that differ.
const WHOLE: usize = 512;
const PAGE: usize = 4096;
const UNIT: usize = 64 << 10;
const FEW: usize = 15 * PAGE;
const WORD: usize = size_of::<u64>();

/// Who gives blocks: an allocator, or a zone of one.
///
/// # Safety
/// A block has as many bytes as it was asked for, which are nobody else's until it is taken back;
/// at a size of 8 or more it begins at a multiple of 8.
pub unsafe trait Giver {
    /// A block of a size at a multiple of an alignment.
    fn give(&self, request: (usize, usize), zeroed: bool) -> Option<NonNull<u8>>;

    /// How many bytes a block really has.
    ///
    /// # Safety
    /// A live block that this gave.
    unsafe fn usable(&self, block: NonNull<u8>) -> usize;

    /// Another size for a block at a multiple of 16.
    ///
    /// # Safety
    /// A live block that this gave, which the answer takes the place of.
    unsafe fn resize(&self, block: NonNull<u8>, size: usize) -> Option<NonNull<u8>>;

    /// Takes a block back, perhaps with the size that was asked for.
    ///
    /// # Safety
    /// A live block that this gave, and that nobody uses any more.
    unsafe fn take(&self, block: NonNull<u8>, size: Option<usize>);
}

// SAFETY: what an allocator is there for, and what is held against the model.
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

/// A block, filled with words that depend on its key.
#[derive(Debug)]
pub(super) struct Block {
    start: NonNull<u8>,
    size: usize,
    key: u64,
}

// SAFETY: who has it has the block.
unsafe impl Send for Block {}

impl Block {
    /// Fills a block of at least `size` bytes that the caller was given.
    fn new(start: NonNull<u8>, size: usize, key: u64) -> Self {
        let block = Self { start, size, key };
        for at in block.places() {
            // SAFETY: a word inside the block, which is aligned to more.
            unsafe { block.word(at).write(block.expected(at)) };
        }
        block
    }

    fn word(&self, at: usize) -> *mut u64 {
        self.start.as_ptr().wrapping_add(at).cast()
    }

    /// What the word at an offset holds.
    fn expected(&self, at: usize) -> u64 {
        (self.key ^ at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    /// The offsets of the words that are written: all near the ends, one in each page of the first
    /// unit, and some in each unit after it, for an allocator deals in these.
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

    /// Whether the first `len` bytes are as they were written.
    fn is_intact_to(&self, len: usize) -> bool {
        self.places().filter(|at| at + WORD <= len).all(|at| {
            // SAFETY: a word inside the block, which was written.
            unsafe { self.word(at).read() == self.expected(at) }
        })
    }

    /// Whether the block is as it was written.
    pub(super) fn is_intact(&self) -> bool {
        self.is_intact_to(self.size)
    }

    /// Where it begins.
    pub(super) fn address(&self) -> usize {
        self.start.as_ptr().addr()
    }

    /// How many bytes it really has.
    pub(super) fn usable(&self, giver: &impl Giver) -> usize {
        // SAFETY: a live block that it gave.
        unsafe { giver.usable(self.start) }
    }

    /// A new block; the second answer is whether all of it is zero, where that was asked for.
    pub(super) fn allocate(
        giver: &impl Giver,
        (size, align): (usize, usize),
        zeroed: bool,
        key: u64,
    ) -> Option<(Self, bool)> {
        let start = giver.give((size, align), zeroed)?;
        let mut zero = true;
        if zeroed {
            // SAFETY: a block of this size, all of which has been written.
            let bytes = unsafe { core::slice::from_raw_parts(start.as_ptr(), size) };
            // Line by line, for whole lines need no branch for each byte.
            let mut lines = bytes.chunks(64);
            zero = lines.all(|line| line.iter().fold(0, |any, byte| any | byte) == 0);
        }
        Some((Self::new(start, size, key), zero))
    }

    /// Another size, perhaps elsewhere; the second answer is whether the contents came along. The
    /// block as it was where memory is short.
    pub(super) fn resize(self, giver: &impl Giver, size: usize) -> Result<(Self, bool), Self> {
        // SAFETY: a live block that it gave, at a multiple of 16.
        let Some(start) = (unsafe { giver.resize(self.start, size) }) else {
            return Err(self);
        };
        let before = Self { start, ..self };
        let intact = before.is_intact_to(size.min(before.size));
        Ok((Self::new(start, size, before.key), intact))
    }

    /// Frees it; whether it still had its contents.
    pub(super) fn free(self, giver: &impl Giver, sized: bool) -> bool {
        let intact = self.is_intact();
        // SAFETY: a live block that it gave, of this size; it is not used any more.
        unsafe { giver.take(self.start, sized.then_some(self.size)) };
        intact
    }
}
