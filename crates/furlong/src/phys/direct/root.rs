//! The way from a frame to its section's leaf, and what the writer keeps for itself.

use core::ptr::NonNull;

use super::super::error::NoMemory;
use super::super::limbo::Limbo;
use super::super::memory::Memory;
use super::super::segment::Frames;
use super::super::words::Words;
use super::geometry::{
    BLOCK_FRAMES, BLOCKS, LOW_FRAMES, MIDDLE_BITS, MIDDLE_FRAME_BITS, MIDDLE_SECTIONS, NEAR_FRAMES,
    SECTION_BITS, SECTION_FRAMES, block_of,
};
use super::leaf::{Block, Leaf};
use super::runs::Spares;
use crate::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use crate::sync::const_unless_loom;

/// A section's word: where the block of frame 0 would be, so that that of any frame of the section
/// is as many blocks further on as if there were no sections.
type Word<D> = AtomicPtr<Block<D>>;

/// What the word of a section says whose blocks begin at `first`.
fn word_of<D>(section: usize, first: *mut Block<D>) -> *mut Block<D> {
    first.wrapping_sub(section * BLOCKS)
}

/// The block of a frame, from what its section's word says.
#[inline(always)]
pub(super) fn block<'a, D>(word: *mut Block<D>, frame: u64) -> &'a Block<D> {
    let block = word.wrapping_add(block_of(frame));
    // SAFETY: a word leads to a leaf that has all blocks of the section, or of near frames. Leaves
    // are given back after a grace period; the writer keeps those that it works with.
    unsafe { &*block }
}

#[cold]
#[inline(always)]
fn out_of_the_way() {}

/// What readers look at.
pub struct Root<D> {
    /// Frames below it are in the near leaf, and there are no others; 0 where there are sections.
    near_limit: AtomicU64,
    near: Word<D>,
    /// Frames below it are in the words, and in their leaves.
    limit: AtomicU64,
    words: AtomicPtr<Word<D>>,
    /// Frames below it, and not below 2^28, are in the top.
    high_limit: AtomicU64,
    /// Middle tables, null where there is nothing.
    top: AtomicPtr<AtomicPtr<Word<D>>>,
}

/// What belongs to the writer.
pub struct Private<D> {
    /// Whether readers may look; until then nothing is published.
    pub(super) open: bool,
    /// The leaf of the frames from 0 on, in a table that began with few frames.
    pub(super) near: Option<Leaf<D>>,
    /// Frames below it have words; 0 while the near leaf has all.
    pub(super) limit: u64,
    words: Words<Word<D>>,
    high_limit: u64,
    top: Words<AtomicPtr<Word<D>>>,
    /// The leaf of all empty sections, once there can be one.
    pub(super) empty: Option<Leaf<D>>,
    /// Leaves with all blocks for a change that must not fail.
    pub(super) spare: Option<Leaf<D>>,
    pub(super) spare_len: usize,
    pub(super) spare_runs: Spares,
    /// Leaves that the change has unlinked.
    pub(super) retired: Option<Leaf<D>>,
    /// Bytes of all that lookups can come to.
    pub(super) bytes: usize,
}

// SAFETY: it owns what it points to, of which only descriptors are shared with others.
unsafe impl<D: Send + Sync> Send for Private<D> {}

impl<D> Root<D> {
    const_unless_loom! {
        pub(super) const fn new() -> Self {
            Self {
                near_limit: AtomicU64::new(0),
                near: AtomicPtr::new(core::ptr::null_mut()),
                limit: AtomicU64::new(0),
                words: AtomicPtr::new(core::ptr::null_mut()),
                high_limit: AtomicU64::new(0),
                top: AtomicPtr::new(core::ptr::null_mut()),
            }
        }
    }

    /// What leads to the [`block`] of a frame that is not high: the near leaf, or its section's
    /// word.
    #[inline(always)]
    pub(super) fn low(&self, frame: u64, seen: &mut impl FnMut()) -> Option<*mut Block<D>> {
        // Acquire: pairs with `root-near-limit`; the leaf that has all blocks below it is seen, or,
        // where there are sections, what has to do with them.
        if frame < self.near_limit.load(Ordering::Acquire) {
            // Acquire: pairs with `root-near`; the leaf is seen as it was made.
            return Some(self.near.load(Ordering::Acquire));
        }
        out_of_the_way();
        // Acquire: pairs with `root-limit`; words and leaves for all frames below it are seen.
        if frame >= self.limit.load(Ordering::Acquire) {
            return None;
        }
        seen();
        // Acquire: pairs with `root-words`; the words are seen as they were made.
        let words = self.words.load(Ordering::Acquire);
        // SAFETY: there are words for all sections below the limit, in this array and in every
        // later one.
        let word = unsafe { words.add((frame >> SECTION_BITS) as usize) };
        // SAFETY: arrays of words are given back after a grace period.
        let word = unsafe { &*word };
        // Acquire: pairs with `section-word`; the leaf is seen as it was made.
        Some(word.load(Ordering::Acquire))
    }

    /// The same for a high frame, if its section has a word.
    pub(super) fn high(&self, frame: u64, seen: &mut impl FnMut()) -> Option<*mut Block<D>> {
        let word = self.high_word(frame, seen)?;
        seen();
        // Acquire: pairs with `section-word`; the leaf is seen as it was made.
        Some(word.load(Ordering::Acquire))
    }

    fn high_word(&self, frame: u64, seen: &mut impl FnMut()) -> Option<&Word<D>> {
        // Acquire: pairs with `root-high`; the top has room for all frames below it.
        if frame >= self.high_limit.load(Ordering::Acquire) || frame < LOW_FRAMES {
            return None;
        }
        seen();
        // Acquire: pairs with `root-top`; its places are seen as they were made.
        let top = self.top.load(Ordering::Acquire);
        // SAFETY: there is a place for all frames below the limit, here and in every later top.
        let place = unsafe { top.add((frame >> MIDDLE_FRAME_BITS) as usize) };
        // SAFETY: tops are given back after a grace period.
        let place = unsafe { &*place };
        // Acquire: pairs with `top-middle`; the words are seen as they were made.
        let middle = NonNull::new(place.load(Ordering::Acquire))?;
        let at = (frame >> SECTION_BITS) as usize % MIDDLE_SECTIONS;
        // SAFETY: a middle table has so many words.
        let word = unsafe { middle.add(at) };
        // SAFETY: middle tables live as long as the structure.
        Some(unsafe { word.as_ref() })
    }
}

impl<D> Private<D> {
    pub(super) const fn new() -> Self {
        Self {
            open: false,
            near: None,
            limit: 0,
            words: Words::new(),
            high_limit: 0,
            top: Words::new(),
            empty: None,
            spare: None,
            spare_len: 0,
            spare_runs: Spares::new(),
            retired: None,
            bytes: 0,
        }
    }

    /// Frames below it are in the near leaf.
    pub(super) fn near_end(&self) -> u64 {
        self.near
            .map_or(0, |leaf| leaf.blocks() as u64 * BLOCK_FRAMES)
    }

    /// Lets readers see what there is.
    pub(super) fn publish(&self, root: &Root<D>) {
        if !self.open {
            return;
        }
        // Release, `root-words`: pairs with the load in `low`.
        root.words.store(self.words.as_ptr(), Ordering::Release);
        // Release, `root-limit`: pairs with the load in `low`, and comes after the words.
        root.limit.store(self.limit, Ordering::Release);
        // Release, `root-top`: pairs with the load in `high_word`.
        root.top.store(self.top.as_ptr(), Ordering::Release);
        // Release, `root-high`: pairs with the load in `high_word`, and comes after the top.
        root.high_limit.store(self.high_limit, Ordering::Release);
        let near = self.near.map_or(core::ptr::null_mut(), Leaf::as_ptr);
        // Release, `root-near`: pairs with the load in `low`.
        root.near.store(near, Ordering::Release);
        let near_limit = if self.limit == 0 { self.near_end() } else { 0 };
        // Release, `root-near-limit`: pairs with the load in `low`, and comes after the leaf, and
        // after words that take its place.
        root.near_limit.store(near_limit, Ordering::Release);
    }

    /// The word of a section that was prepared.
    pub(super) fn word(&self, section: u64) -> &Word<D> {
        let first = section << SECTION_BITS;
        let word = if first < LOW_FRAMES {
            self.words.get(section as usize)
        } else {
            self.middle(first >> MIDDLE_FRAME_BITS).map(|middle| {
                let at = section as usize % MIDDLE_SECTIONS;
                // SAFETY: a middle table has so many words.
                let place = unsafe { middle.add(at) };
                // SAFETY: middle tables live as long as the structure.
                unsafe { place.as_ref() }
            })
        };
        word.expect("the section was prepared")
    }

    /// The leaf of a section that was prepared, and is not near.
    pub(super) fn leaf(&self, section: u64) -> Leaf<D> {
        // Relaxed: the writer's own word.
        let word = self.word(section).load(Ordering::Relaxed);
        let first = word.wrapping_add(section as usize * BLOCKS);
        // SAFETY: leaves that words lead to are alive.
        unsafe { Leaf::from_ptr(first) }.expect("words lead somewhere")
    }

    /// Puts a leaf in the place of a section's, for readers to see.
    pub(super) fn set_leaf(&self, section: u64, leaf: Leaf<D>) {
        let word = word_of(section as usize, leaf.as_ptr());
        // Release, `section-word`: pairs with the loads in `low` and `high`.
        self.word(section).store(word, Ordering::Release);
    }

    fn middle(&self, at: u64) -> Option<NonNull<Word<D>>> {
        // Relaxed: the writer's own word.
        NonNull::new(self.top.get(at as usize)?.load(Ordering::Relaxed))
    }

    /// Bytes that a near leaf and words for `frames` take at most.
    pub(super) fn footprint(&self, frames: Frames) -> usize {
        let before = self.near.map_or(0, Leaf::blocks);
        let is_near = self.limit == 0 && (before > 0 || frames.end <= NEAR_FRAMES);
        let near = match frames.end.min(NEAR_FRAMES).div_ceil(BLOCK_FRAMES) as usize {
            blocks if is_near => Leaf::<D>::footprint(blocks.max(before + before / 8) + BLOCKS),
            _ => 0,
        };
        self.words_footprint(frames) + near
    }

    fn words_footprint(&self, frames: Frames) -> usize {
        let word = size_of::<Word<D>>();
        let low = frames.end.min(LOW_FRAMES).div_ceil(SECTION_FRAMES) as usize;
        let low = low.next_power_of_two() * word;
        if frames.end <= LOW_FRAMES {
            return low;
        }
        let last = ((frames.end - 1) >> MIDDLE_FRAME_BITS) as usize;
        let first = (frames.start.max(LOW_FRAMES) >> MIDDLE_FRAME_BITS) as usize;
        let middles = (last - first + 1) * MIDDLE_SECTIONS * word;
        low + middles + (last + 1).next_power_of_two() * word
    }

    /// Makes words for all low sections below `sections`. Near ones lead into the near leaf, which
    /// has all their blocks, the others to the empty leaf, which there is.
    pub(super) fn grow_words(
        &mut self,
        memory: &mut Memory,
        limbo: &mut Limbo,
        sections: usize,
    ) -> Result<(), NoMemory> {
        if sections <= self.words.room() {
            return Ok(());
        }
        let before = self.words.bytes();
        let (near, empty) = (self.near, self.empty);
        let empty = empty.expect("there is an empty leaf first").as_ptr();
        let copy = |old: &Words<Word<D>>, at: usize| {
            // Relaxed: the writer's own word.
            let old = old.get(at).map(|word| word.load(Ordering::Relaxed));
            let near = near.filter(|leaf| at * BLOCKS < leaf.blocks());
            let near = near.map(Leaf::as_ptr);
            AtomicPtr::new(old.or(near).unwrap_or(word_of(at, empty)))
        };
        let room = sections.next_power_of_two();
        let old = self.words.grow(memory, room, copy)?;
        // SAFETY: the new one is published before the change is over; see `update::prepare`.
        unsafe { old.retire(limbo) };
        self.bytes = self.bytes + self.words.bytes() - before;
        self.limit = room as u64 * SECTION_FRAMES;
        Ok(())
    }

    /// Makes middle tables for high frames `start..end`.
    pub(super) fn grow_top(
        &mut self,
        memory: &mut Memory,
        limbo: &mut Limbo,
        start: u64,
        end: u64,
    ) -> Result<(), NoMemory> {
        let last = (end - 1) >> MIDDLE_FRAME_BITS;
        if last as usize >= self.top.room() {
            let before = self.top.bytes();
            let copy = |old: &Words<AtomicPtr<Word<D>>>, at| {
                // Relaxed: the writer's own word.
                let middle = old.get(at).map(|place| place.load(Ordering::Relaxed));
                AtomicPtr::new(middle.unwrap_or(core::ptr::null_mut()))
            };
            let room = (last as usize + 1).next_power_of_two();
            let old = self.top.grow(memory, room, copy)?;
            // SAFETY: as in `grow_words`.
            unsafe { old.retire(limbo) };
            self.bytes = self.bytes + self.top.bytes() - before;
            self.high_limit = (room as u64) << MIDDLE_FRAME_BITS;
        }
        for at in start >> MIDDLE_FRAME_BITS..=last {
            if self.middle(at).is_none() {
                self.add_middle(memory, at)?;
            }
        }
        Ok(())
    }

    fn add_middle(&mut self, memory: &mut Memory, at: u64) -> Result<(), NoMemory> {
        let empty = self.empty.expect("there is an empty leaf first");
        let mut middle = Words::new();
        let first = at as usize * MIDDLE_SECTIONS;
        let make = |_: &_, section| AtomicPtr::new(word_of(first + section, empty.as_ptr()));
        middle.grow(memory, MIDDLE_SECTIONS, make)?;
        self.bytes += middle.bytes();
        let place = self.top.get(at as usize).expect("the top was grown");
        // Release, `top-middle`: pairs with the load in `high_word`.
        place.store(middle.as_ptr(), Ordering::Release);
        Ok(())
    }

    /// All sections that have leaves of their own or share one, for a walk through everything.
    pub(super) fn sections(&self) -> impl Iterator<Item = u64> + use<'_, D> {
        let low = self.near_end() >> SECTION_BITS..self.limit >> SECTION_BITS;
        let middles = 0..self.top.room() as u64;
        let middles = middles.filter(|at| self.middle(*at).is_some());
        low.chain(middles.flat_map(|at| at << MIDDLE_BITS..(at + 1) << MIDDLE_BITS))
    }

    /// Gives the arrays back. There are no readers.
    pub(super) fn free_arrays(&mut self, memory: &mut Memory) {
        for at in 0..self.top.room() as u64 {
            if let Some(start) = self.middle(at) {
                let room = MIDDLE_SECTIONS;
                Words::from_start(start, room).free(memory);
            }
        }
        self.top.free(memory);
        self.words.free(memory);
        (self.limit, self.high_limit, self.bytes) = (0, 0, 0);
    }
}
