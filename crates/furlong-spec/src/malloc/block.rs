//! A block that a program has, and contents that are nobody else's.
#![expect(unsafe_code, reason = "it fills memory that an allocator gave")]

use core::ptr::NonNull;

use furlong::malloc::{Config, Malloc};

/// Up to here all words of a block are written; of a longer one the first and the last so many
/// bytes, and a word of each page.
const WHOLE: usize = 512;
const PAGE: usize = 4096;
const WORD: usize = size_of::<u64>();

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

    /// The offsets of the words that are written.
    fn places(&self) -> impl Iterator<Item = usize> + use<> {
        let end = self.size / WORD * WORD;
        let first = end.min(WHOLE);
        let last = end.saturating_sub(WHOLE).max(first);
        let middle = (first..last).step_by(PAGE);
        (0..first)
            .step_by(WORD)
            .chain(middle)
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
    pub(super) fn usable<C: Config>(&self, malloc: &'static Malloc<C>) -> usize {
        // SAFETY: a live block of this allocator's.
        unsafe { malloc.usable_size(self.start.as_ptr()) }
    }

    /// A new block; the second answer is whether all of it is zero, where that was asked for.
    pub(super) fn allocate<C: Config>(
        malloc: &'static Malloc<C>,
        (size, align): (usize, usize),
        zeroed: bool,
        key: u64,
    ) -> Option<(Self, bool)> {
        let start = NonNull::new(if zeroed {
            malloc.allocate_zeroed(size, align)
        } else {
            malloc.allocate_aligned(size, align)
        })?;
        let mut zero = true;
        if zeroed {
            // SAFETY: a block of this size, all of which has been written.
            let bytes = unsafe { core::slice::from_raw_parts(start.as_ptr(), size) };
            zero = bytes.iter().all(|byte| *byte == 0);
        }
        Some((Self::new(start, size, key), zero))
    }

    /// Another size, perhaps elsewhere; the second answer is whether the contents came along. The
    /// block as it was where memory is short.
    pub(super) fn resize<C: Config>(
        self,
        malloc: &'static Malloc<C>,
        size: usize,
    ) -> Result<(Self, bool), Self> {
        // SAFETY: a live block of this allocator's, at a multiple of 16.
        let start = unsafe { malloc.resize(self.start.as_ptr(), size, 16) };
        let Some(start) = NonNull::new(start) else {
            return Err(self);
        };
        let before = Self { start, ..self };
        let intact = before.is_intact_to(size.min(before.size));
        Ok((Self::new(start, size, before.key), intact))
    }

    /// Frees it; whether it still had its contents.
    pub(super) fn free<C: Config>(self, malloc: &'static Malloc<C>, sized: bool) -> bool {
        let intact = self.is_intact();
        if sized {
            // SAFETY: a live block of this allocator's, of this size; it is not used any more.
            unsafe { malloc.free_sized(self.start.as_ptr(), self.size) };
        } else {
            // SAFETY: a live block of this allocator's, which is not used any more.
            unsafe { malloc.free(self.start.as_ptr()) };
        }
        intact
    }
}
