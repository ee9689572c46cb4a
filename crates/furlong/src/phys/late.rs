//! Descriptors that are made late: which of a slab's have been made, a bit a section.

use core::alloc::Layout;
use core::ptr::NonNull;

use super::direct::geometry::SECTION_BITS;
use super::error::NoMemory;
use super::memory::Memory;
use super::segment::Frames;
use crate::sync::atomic::{AtomicU64, Ordering};

/// Which descriptors of a slab have been made, by sections of their frames.
#[derive(Clone, Copy)]
pub(super) struct Late {
    first: u64,
    /// A bit a section.
    made: NonNull<AtomicU64>,
    words: usize,
}

impl Late {
    fn layout_of(words: usize) -> Result<Layout, NoMemory> {
        Layout::array::<AtomicU64>(words).map_err(|_| NoMemory)
    }

    /// Nothing is made of the sections of these frames.
    pub(super) fn new(memory: &mut Memory, frames: Frames) -> Result<Self, NoMemory> {
        let first = frames.start >> SECTION_BITS;
        let sections = ((frames.end - 1) >> SECTION_BITS) - first + 1;
        let words = sections.div_ceil(64) as usize;
        let made = memory.alloc(Self::layout_of(words)?)?.cast::<AtomicU64>();
        for at in 0..words {
            // SAFETY: so many words were allocated.
            let word = unsafe { made.add(at) };
            // SAFETY: as above.
            unsafe { word.write(AtomicU64::new(0)) };
        }
        Ok(Self { first, made, words })
    }

    /// Gives the bits back.
    ///
    /// # Safety
    /// Nobody asks for them any more.
    pub(super) unsafe fn free(self, memory: &mut Memory) {
        if let Ok(layout) = Self::layout_of(self.words) {
            // SAFETY: allocated so in `new`; the caller's promise.
            unsafe { memory.free(self.made.cast(), layout) };
        }
    }

    /// Bytes that it takes for so many frames.
    pub(super) fn footprint(frames: Frames) -> Option<usize> {
        let sections = (frames.len() >> SECTION_BITS) as usize + 2;
        let layout = Self::layout_of(sections.div_ceil(64)).ok()?;
        Some(Memory::footprint(layout))
    }

    fn word<'a>(self, section: u64) -> (&'a AtomicU64, u64) {
        let at = section - self.first;
        assert!(at / 64 < self.words as u64, "a section of the slab");
        // SAFETY: there are so many words.
        let word = unsafe { self.made.add((at / 64) as usize) };
        // SAFETY: they live as long as the slab, which has descriptors of a live segment.
        (unsafe { word.as_ref() }, 1 << (at % 64))
    }

    pub(super) fn is_made(self, section: u64) -> bool {
        let (word, bit) = self.word(section);
        // Acquire: pairs with `late-made`; the descriptors are seen as they were made.
        word.load(Ordering::Acquire) & bit != 0
    }

    pub(super) fn set_made(self, section: u64) {
        let (word, bit) = self.word(section);
        // Relaxed: the writer's own word.
        let before = word.load(Ordering::Relaxed);
        // Release, `late-made`: pairs with the load in `is_made`.
        word.store(before | bit, Ordering::Release);
    }
}
