//! Arm `direct`: a table of tables, by frame number. Constant time, readers beside a writer.
//!
//! Frames are grouped in blocks of 64 and sections of 4,096. A *leaf* has for each block of its
//! section a pair of words, *valid* and *base*: bit `i` of the one says whether frame `i` is found,
//! and the other is where the descriptor of frame 0 would be, so that that of frame `f` is `f`
//! strides further on. One base serves all segments with descriptors in the same slab: 1 or
//! 8,161 fragments are looked up by the same few instructions, and hit or miss is a selection, not
//! a branch. Beside the pairs stand the *runs*: which segment a block's frames belong to.
//!
//! - A section that is one segment's has no leaf of its own but shares that segment's, all of whose
//!   blocks are alike: a terabyte takes 512 KiB of section words and one leaf.
//! - An empty section shares the empty leaf.
//! - The last section's leaf ends with its last block.
//! - Sections below 2^28 frames (1 TiB) stand in one array, the *root*, as long as the highest of
//!   them needs; those above in arrays of 4,096, under a *top*.
//!
//! Memory: 25 bytes a block of 64 frames in sections with holes or borders, and 8 + 2 n bytes more
//! for a block with pieces of n > 1 segments; 8 bytes a section everywhere below the highest frame,
//! or in 64 GiB around a segment above 1 TiB; 1.6 KiB a segment that has whole sections.
//!
//! A page lookup loads the limit, the root, the section's word, valid and base. Where segments of
//! one block have descriptors in different slabs, base says so, and the lookup goes on through runs
//! and the segment.
//!
//! # Order of changes
//!
//! Readers never look twice, so each word must be right by itself. The writer
//! - publishes a leaf, runs, or a longer root by one store when it is complete, and gives the old
//!   one back after a grace period;
//! - stores runs, then base, and then sets valid bits; to take frames out it clears valid bits, and
//!   changes base and runs only after a grace period: who saw a bit finds its base and its runs.

pub(super) mod geometry;
mod leaf;
mod root;
mod runs;
mod update;

use core::hint::select_unpredictable;
use core::ptr::NonNull;

use super::entry::All;
use super::error::Refusal;
use super::lookup::{Arm, Beside, Site};
use super::segment::Frames;
use crate::sync::atomic::Ordering;
use geometry::BLOCK_FRAMES;
use leaf::{Base, Leaf, Pair};
pub(super) use root::{Private, Root};

/// The arm; see the [module](super)'s list of arms.
#[derive(Clone, Copy, Debug)]
pub struct Direct;

impl Direct {
    #[cfg(not(loom))]
    pub(super) const fn shared_part<D>() -> Root<D> {
        Root::new()
    }

    #[cfg(loom)]
    pub(super) fn shared_part<D>() -> Root<D> {
        Root::new()
    }

    pub(super) const fn private_part<D>() -> Private<D> {
        Private::new()
    }
}

impl Arm for Direct {
    type Shared<D> = Root<D>;
    type Private<D> = Private<D>;
    type Reader<'a, D: 'a> = &'a Root<D>;

    fn shared<D>() -> Root<D> {
        Self::shared_part()
    }

    fn private<D>() -> Private<D> {
        Self::private_part()
    }

    #[inline]
    fn reader<'a, D>(shared: &'a Root<D>, _: &'a Private<D>) -> &'a Root<D> {
        shared
    }

    #[inline]
    fn find<D>(root: &Root<D>, frame: u64, mut seen: impl FnMut()) -> Option<u32> {
        match root.low(frame, &mut seen) {
            Some(leaf) => find_in(leaf, frame, seen),
            None => find_in(root.high(frame, &mut seen)?, frame, seen),
        }
    }

    #[inline]
    fn page<D>(
        root: &Root<D>,
        frame: u64,
        all: &All<'_, D>,
        mut seen: impl FnMut(),
    ) -> Option<NonNull<D>> {
        match root.low(frame, &mut seen) {
            Some(leaf) => page_in(leaf, frame, all, seen),
            None => high_page(root, frame, all, seen),
        }
    }

    fn prepare<D>(site: &mut Site<'_, Self, D>, frames: Frames, _: bool) -> Result<(), Refusal> {
        update::prepare(site, frames)
    }

    fn update<D>(site: &mut Site<'_, Self, D>, frames: Frames) {
        update::update(site, frames);
    }

    fn open<D>(site: &mut Site<'_, Self, D>) {
        site.private.open = true;
        site.private.publish(site.shared);
    }

    fn split<D>(site: &mut Site<'_, Self, D>, from: u32, to: u32) {
        update::split(site, from, to);
    }

    fn shrunk<D>(site: &mut Site<'_, Self, D>, index: u32, left: Frames) {
        update::shrunk(site, index, left);
    }

    fn settle<D>(site: &mut Site<'_, Self, D>, held: usize) {
        update::settle(site, held);
    }

    fn footprint<D>(_: &Root<D>, _: &Private<D>, frames: Frames, held: usize) -> usize {
        update::footprint::<D>(frames, held)
    }

    fn clear<D>(site: &mut Site<'_, Self, D>) {
        update::clear(site);
        update::free_shared(site);
    }

    fn bytes<D>(_: &Root<D>, private: &Private<D>) -> usize {
        private.bytes
    }
}

impl Beside for Direct {
    #[inline]
    fn reader_beside<D>(shared: &Root<D>) -> &Root<D> {
        shared
    }
}

#[inline(always)]
fn find_in<D>(leaf: Leaf<D>, frame: u64, mut seen: impl FnMut()) -> Option<u32> {
    seen();
    // Acquire: pairs with `pair-valid`; the runs that the bit speaks of are seen.
    let valid = leaf.pair(frame).valid.load(Ordering::Acquire);
    if valid >> (frame % BLOCK_FRAMES) & 1 == 0 {
        return None;
    }
    seen();
    leaf.runs(frame).segment(frame % BLOCK_FRAMES, &mut seen)
}

#[inline(always)]
fn page_in<D>(
    leaf: Leaf<D>,
    frame: u64,
    all: &All<'_, D>,
    mut seen: impl FnMut(),
) -> Option<NonNull<D>> {
    let Pair { valid, base } = leaf.pair(frame);
    seen();
    // Acquire: pairs with `pair-valid`; the base that the bit speaks of is seen.
    let valid = valid.load(Ordering::Acquire);
    // Acquire: pairs with `pair-base`; the descriptors are seen as they were made.
    let base = base.load(Ordering::Acquire);
    if Base::is_special(base) {
        return special(leaf, frame, all, base, seen);
    }
    let is_valid = valid >> (frame % BLOCK_FRAMES) & 1 == 1;
    let page = base.wrapping_add(frame as usize);
    NonNull::new(select_unpredictable(is_valid, page, core::ptr::null_mut()))
}

/// The page of a frame that is not below the limit.
#[inline(never)]
fn high_page<D>(
    root: &Root<D>,
    frame: u64,
    all: &All<'_, D>,
    mut seen: impl FnMut(),
) -> Option<NonNull<D>> {
    page_in(root.high(frame, &mut seen)?, frame, all, seen)
}

/// The page where base does not lead to it: there are no descriptors, or several slabs have those
/// of the block.
#[cold]
#[inline(never)]
fn special<D>(
    leaf: Leaf<D>,
    frame: u64,
    all: &All<'_, D>,
    base: *mut D,
    seen: impl FnMut(),
) -> Option<NonNull<D>> {
    if base.is_null() {
        return None;
    }
    let index = find_in(leaf, frame, seen)?;
    all.get(index).page(frame)
}
