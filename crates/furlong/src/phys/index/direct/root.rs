//! The way from a frame to its section's cell or leaf, and the writer's private data.

use super::cell::CellRef;
use super::geometry::{BLOCKS, LOW_FRAMES, block_of};
use super::leaf::{Block, Leaf};
use super::runs::Spares;
use super::wide::{Top, Wide};
use crate::forms::default_is_new;
use crate::phys::{
    BLOCK_FRAMES, Deferred, Hidden, Memory, NoMemory, RawArray, SECTION_BITS, SECTION_FRAMES,
};
use crate::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use crate::sync::record;

/// A section's word. With the lowest bit set it leads to a cell. Otherwise it is the address at
/// which the block of frame 0 would be: a frame's block is at its index from there, as if there
/// were no sections.
pub(super) type Word<D> = AtomicPtr<Block<D>>;

/// The word of a section whose blocks begin at `first`.
fn word_of<D>(section: usize, first: *mut Block<D>) -> *mut Block<D> {
    first.wrapping_sub(section.wrapping_mul(BLOCKS))
}

/// The block of a frame, by the word of its section.
#[inline(always)]
pub(super) fn block<'a, D>(word: *mut Block<D>, frame: u64) -> &'a Block<D> {
    let block = word.wrapping_add(block_of(frame));
    // SAFETY: a word leads to a leaf that has all blocks of the section, or of near frames. Leaves
    // are freed after a grace period, and the writer keeps those that it works with.
    unsafe { &*block }
}

#[cold]
#[inline(always)]
fn out_of_the_way() {}

record! {
    /// The readers' data.
    pub struct Root<D> {
        /// Frames below it are in the near leaf, and there are no others; 0 if there are sections.
        near_limit: AtomicU64 = AtomicU64::new(0),
        near: Word<D> = AtomicPtr::new(core::ptr::null_mut()),
        /// Frames below it have words in the array; 0 in a wide table.
        limit: AtomicU64 = AtomicU64::new(0),
        words: AtomicPtr<Word<D>> = AtomicPtr::new(core::ptr::null_mut()),
        /// Frames below it are found through the top; 0 unless the table is wide.
        wide_limit: AtomicU64 = AtomicU64::new(0),
        top: Top<D> = Top::new(),
    }
    pub(crate) const fn new;
}

default_is_new! { Root<D> where [D] }

/// The writer's data.
pub struct Private<D> {
    /// True once readers may look; until then nothing is published.
    pub(super) open: bool,
    /// The leaf of the frames from 0 on, in a table that began with few frames.
    pub(super) near: Option<Leaf<D>>,
    /// Frames below it have words; 0 while the near leaf has all frames, and in a wide table.
    pub(super) limit: u64,
    words: RawArray<Word<D>>,
    pub(super) wide: Wide<D>,
    /// The cell of all empty sections, once it has been made.
    pub(super) empty: Option<CellRef<D>>,
    /// Spare leaves of a section, for changes that must not fail.
    pub(super) spare: Option<Leaf<D>>,
    pub(super) spare_len: usize,
    pub(super) spare_runs: Spares,
    /// Leaves that the current change has unlinked.
    pub(super) retired: Option<Leaf<D>>,
    /// Bytes of everything that lookups can reach.
    pub(super) bytes: usize,
}

// SAFETY: it owns what it points to; of that, only descriptors are shared with others.
unsafe impl<D: Send + Sync> Send for Private<D> {}

impl<D> Root<D> {
    /// The start of the near leaf's blocks, if the frame is in it.
    #[inline(always)]
    pub(super) fn near(&self, frame: u64) -> Option<*mut Block<D>> {
        // Acquire: pairs with `root-near-limit`; the leaf that has all blocks below it is seen, or,
        // if there are sections, the data that leads to them.
        if frame < self.near_limit.load(Ordering::Acquire) {
            // Acquire: pairs with `root-near`; the leaf is seen initialised.
            return Some(self.near.load(Ordering::Acquire));
        }
        out_of_the_way();
        None
    }

    /// The word of a frame's section, if it has one.
    #[inline(always)]
    pub(super) fn word(&self, frame: u64, seen: &mut impl FnMut()) -> Option<*mut Block<D>> {
        // Acquire: pairs with `root-limit`; words for all frames below it are seen, or, in a wide
        // table, the top that replaced them.
        if frame >= self.limit.load(Ordering::Acquire) {
            // Acquire: pairs with `root-wide`; the top has room for all frames below it.
            if frame >= self.wide_limit.load(Ordering::Acquire) {
                return None;
            }
            return Some(self.top.word(frame, seen));
        }
        seen();
        // Acquire: pairs with `root-words`; the words are seen initialised.
        let words = self.words.load(Ordering::Acquire);
        // SAFETY: there are words for all sections below the limit, in this array and in every
        // later one.
        let word = unsafe { words.add((frame >> SECTION_BITS) as usize) };
        // SAFETY: arrays of words are freed after a grace period.
        let word = unsafe { &*word };
        // Acquire: pairs with `section-word`; the cell or leaf is seen initialised.
        Some(word.load(Ordering::Acquire))
    }
}

impl<D> Private<D> {
    pub(crate) const fn new() -> Self {
        Self {
            open: false,
            near: None,
            limit: 0,
            words: RawArray::new(),
            wide: Wide::new(),
            empty: None,
            spare: None,
            spare_len: 0,
            spare_runs: Spares::new(),
            retired: None,
            bytes: 0,
        }
    }

    /// The end of the frames in the near leaf.
    pub(super) fn near_end(&self) -> u64 {
        self.near
            .map_or(0, |leaf| leaf.blocks() as u64 * BLOCK_FRAMES)
    }

    /// Publishes the current structure to readers.
    pub(super) fn publish(&self, root: &Root<D>) {
        if !self.open {
            return;
        }
        if self.limit > 0 {
            // Release, `root-words`: pairs with the load in `word`.
            root.words.store(self.words.as_ptr(), Ordering::Release);
        }
        let wide_limit = self.wide.publish(&root.top);
        // Release, `root-wide`: pairs with the load in `word`, and comes after the top.
        root.wide_limit.store(wide_limit, Ordering::Release);
        // Release, `root-limit`: pairs with the load in `word`, and comes after the words, and
        // after the top that replaces them. A reader that saw the old limit still finds the words.
        root.limit.store(self.limit, Ordering::Release);
        let near = self.near.map_or(core::ptr::null_mut(), Leaf::as_ptr);
        // Release, `root-near`: pairs with the load in `near`.
        root.near.store(near, Ordering::Release);
        let has_sections = self.limit > 0 || wide_limit > 0;
        let near_limit = if has_sections { 0 } else { self.near_end() };
        // Release, `root-near-limit`: pairs with the load in `near`, and comes after the leaf, and
        // after words that replace it.
        root.near_limit.store(near_limit, Ordering::Release);
    }

    /// The word of a section that was prepared.
    fn place(&self, section: u64) -> &Word<D> {
        let word = if self.wide.is_used() {
            self.wide.word(section)
        } else {
            self.words.get(section as usize)
        };
        word.expect("the section was prepared")
    }

    /// The value of the word of a section that was prepared and is not near.
    pub(super) fn word(&self, section: u64) -> *mut Block<D> {
        // Relaxed: the writer's own word.
        self.place(section).load(Ordering::Relaxed)
    }

    /// The leaf of a section whose word leads to one.
    pub(super) fn leaf(&self, section: u64) -> Leaf<D> {
        let first = self
            .word(section)
            .wrapping_add((section as usize).wrapping_mul(BLOCKS));
        // SAFETY: leaves that words lead to are alive.
        unsafe { Leaf::from_ptr(first) }.expect("words lead somewhere")
    }

    /// Publishes `leaf` as the new content of a section.
    pub(super) fn set_leaf(&self, section: u64, leaf: Leaf<D>) {
        self.set_word(section, word_of(section as usize, leaf.as_ptr()));
    }

    /// Publishes `word` as the new word of a section.
    pub(super) fn set_word(&self, section: u64, word: *mut Block<D>) {
        // Release, `section-word`: pairs with the loads in `Root::word` and `Top::word`.
        self.place(section).store(word, Ordering::Release);
    }

    /// Makes words for all sections below `sections`. Words of near sections lead into the near
    /// leaf, which has all their blocks. The others lead to the empty cell, which must exist.
    pub(super) fn grow_words(
        &mut self,
        memory: &mut Memory,
        deferred: &mut Deferred,
        sections: usize,
    ) -> Result<(), NoMemory> {
        if sections <= self.words.room() {
            return Ok(());
        }
        let before = self.words.bytes();
        let (near, empty) = (self.near, self.empty);
        let empty = empty.expect("there is an empty cell first").word();
        let copy = |old: &RawArray<Word<D>>, at: usize| {
            // Relaxed: the writer's own word.
            let old = old.get(at).map(|word| word.load(Ordering::Relaxed));
            AtomicPtr::new(old.or(near_word(near, at)).unwrap_or(empty))
        };
        let room = sections.next_power_of_two();
        let old = self.words.grow(memory, room, copy)?;
        // SAFETY: the new array is published before the change ends; see `update::prepare`.
        unsafe { old.retire(deferred) };
        self.bytes = self.bytes + self.words.bytes() - before;
        self.limit = room as u64 * SECTION_FRAMES;
        Ok(())
    }

    /// Makes pages for frames `start..end`, and for all existing sections if the table was not wide
    /// before. Sections of `hidden` frames may have empty words, but an abort will need their
    /// pages.
    pub(super) fn widen(
        &mut self,
        memory: &mut Memory,
        deferred: &mut Deferred,
        (start, end): (u64, u64),
        hidden: &[Hidden],
    ) -> Result<(), NoMemory> {
        let empty = self.empty.expect("there is an empty cell first").word();
        let is_first = !self.wide.is_used();
        let before = self.wide.bytes();
        let hidden = hidden.iter().filter(|_| is_first).map(|one| one.frames);
        let mut needed = hidden
            .map(|frames| (frames.start, frames.end))
            .chain([(start, end)]);
        let made = needed.try_for_each(|frames| self.wide.cover(memory, deferred, frames, empty));
        let made = made.and_then(|()| self.move_words(memory, deferred, empty, is_first));
        self.bytes = self.bytes + self.wide.bytes() - before;
        made?;
        if is_first {
            self.wide.use_it();
            self.bytes -= self.words.bytes();
            let words = core::mem::replace(&mut self.words, RawArray::new());
            // SAFETY: the top is published before the change ends; see `update::prepare`.
            unsafe { words.retire(deferred) };
            self.limit = 0;
        }
        Ok(())
    }

    /// Copies the array of words into pages, if `is_first`.
    fn move_words(
        &mut self,
        memory: &mut Memory,
        deferred: &mut Deferred,
        empty: *mut Block<D>,
        is_first: bool,
    ) -> Result<(), NoMemory> {
        let near = (self.near_end() >> SECTION_BITS) as usize;
        let sections = if is_first {
            near.max(self.words.room())
        } else {
            0
        };
        for section in 0..sections {
            // Relaxed: the writer's own word.
            let word = self
                .words
                .get(section)
                .map(|word| word.load(Ordering::Relaxed));
            let word = word.or(near_word(self.near, section)).unwrap_or(empty);
            let start = (section as u64) << SECTION_BITS;
            if word != empty {
                self.wide
                    .cover(memory, deferred, (start, start + 1), empty)?;
            }
            // An earlier try that ran out of memory may have left a page.
            if let Some(place) = self.wide.word(section as u64) {
                // Relaxed: `root-wide` publishes it.
                place.store(word, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// All sections with words of their own, for a walk through everything.
    pub(super) fn sections(&self) -> impl Iterator<Item = u64> + use<'_, D> {
        let near = self.near_end() >> SECTION_BITS;
        let low = 0..self.limit >> SECTION_BITS;
        let wide = self.wide.sections().filter(|_| self.wide.is_used());
        low.chain(wide).filter(move |section| *section >= near)
    }

    /// Frees the arrays. There must be no readers.
    pub(super) fn free_arrays(&mut self, memory: &mut Memory) {
        self.wide.free(memory);
        self.words.free(memory);
        (self.limit, self.bytes) = (0, 0);
    }

    /// The most bytes that words for frames up to `end` take, or pages for frames from `start` on.
    pub(super) fn words_footprint(&self, start: u64, end: u64) -> usize {
        if end <= LOW_FRAMES && !self.wide.is_used() {
            let sections = end.div_ceil(SECTION_FRAMES) as usize;
            return sections.next_power_of_two() * size_of::<Word<D>>();
        }
        let before = if self.wide.is_used() {
            0
        } else {
            self.limit.max(self.near_end())
        };
        Wide::<D>::footprint(start, end) + Wide::<D>::footprint(0, before.max(1))
    }
}

/// The word of a section that is in the near leaf.
fn near_word<D>(near: Option<Leaf<D>>, section: usize) -> Option<*mut Block<D>> {
    let near = near.filter(|leaf| section * BLOCKS < leaf.blocks());
    near.map(Leaf::as_ptr)
}
