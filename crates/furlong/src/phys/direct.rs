//! Arm `direct`: a table of tables, by frame number. Constant time, readers beside a writer.
//!
//! Frames are grouped in *blocks* of 64, of three words each. *valid*: bit `i` says whether frame
//! `i` is found. *base*: where the descriptor of frame 0 would be, so that that of frame `f` is `f`
//! strides further on; one base serves all segments with descriptors in the same slab. *runs*:
//! which segments the frames belong to. 1 or 8,161 fragments are looked up by the same few
//! instructions, an empty block looks like any other, and hit or miss is a selection, not a branch.
//!
//! Blocks stand in *leaves*.
//! - A table that begins with few frames, below 2^18 (1 GiB), has one leaf for all, the near leaf.
//! - Any other has *sections* of 4,096 frames, 64 blocks each. A section that is one segment's has
//!   no leaf of its own but shares that segment's, all of whose blocks are alike; an empty one
//!   shares the empty leaf. When a table outgrows its near leaf, words of sections lead into it.
//! - A section's *word* is where the block of frame 0 would be. Those below 2^28 frames (1 TiB)
//!   stand in one array, those above in arrays of 4,096, under a *top*.
//!
//! A page lookup loads the limit, the near leaf, or the array and the word, and then valid and
//! base. Where base says that there is more to it, because segments of one block have descriptors
//! in different slabs or in none, the lookup goes on through runs and the segment.
//!
//! # Memory
//!
//! A table of pointers takes 512 bytes for 64 frames. This takes, to the byte but for the
//! allocator, which rounds up to 8, and what has more than 264 bytes to 64:
//!
//! | bytes | for each |
//! |---|---|
//! | 24 | block of the near leaf, from frame 0 to the highest; up to an eighth more after growth |
//! | 16 | leaf |
//! | 1,552 | section with holes or borders that is not near |
//! | 1,552 | segment that has whole sections, and 1,552 for those without descriptors |
//! | 1,552 | table with sections: the empty leaf |
//! | 8 | section from frame 0 to the highest below 1 TiB, rounded up to a power of two |
//! | 32,768 | 64 GiB with a segment above 1 TiB |
//! | 8 | 64 GiB from frame 0 to the highest above 1 TiB, rounded up to a power of two |
//! | 8 + 2 n | block with n segments, two in one octet of frames, or with indices over 15 apart |
//! | 8 + 4 n | such a block with an index above 65,535 |
//!
//! So 32 segments of 8 frames take 112 bytes, 1/18 of a table of pointers; 256 MiB in 8,161
//! fragments 24,640 bytes, 1/21; a terabyte in one segment 512 KiB and two leaves.
//!
//! # Order of changes
//!
//! Readers never look twice, so each word must be right by itself. The writer
//! - publishes a leaf, runs, or a longer array by one store when it is complete, and gives the old
//!   one back after a grace period;
//! - publishes sections before it takes the near leaf's limit away, and goes on with that leaf's
//!   blocks: who still looks there sees what the others see;
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
use super::lookup::{Arm, Beside, Change, Found, Site};
use super::segment::Frames;
use crate::sync::atomic::Ordering;
use geometry::BLOCK_FRAMES;
use leaf::Block;
use root::block;
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
    fn find<D>(root: &Root<D>, frame: u64, mut seen: impl FnMut()) -> Found {
        let word = match root.low(frame, &mut seen) {
            Some(word) => word,
            None => match root.high(frame, &mut seen) {
                Some(word) => word,
                None => return None.into(),
            },
        };
        find_in(block(word, frame), frame, seen)
    }

    #[inline]
    fn page<D>(
        root: &Root<D>,
        frame: u64,
        all: &All<'_, D>,
        mut seen: impl FnMut(),
    ) -> Option<NonNull<D>> {
        let Some(word) = root.low(frame, &mut seen) else {
            return elsewhere(root, frame, all, seen);
        };
        seen();
        let (valid, base) = words_of(block(word, frame));
        if base.is_null() {
            return elsewhere(root, frame, all, seen);
        }
        select(valid, frame, base)
    }

    fn prepare<D>(
        site: &mut Site<'_, Self, D>,
        frames: Frames,
        change: Change,
    ) -> Result<(), Refusal> {
        update::prepare(site, frames, change)
    }

    fn update<D>(site: &mut Site<'_, Self, D>, frames: Frames) {
        update::update(site, frames);
    }

    fn open<D>(site: &mut Site<'_, Self, D>) {
        site.private.open = true;
        site.private.publish(site.shared);
    }

    fn shrunk<D>(site: &mut Site<'_, Self, D>, index: u32, left: Frames) {
        update::shrunk(site, index, left);
    }

    fn settle<D>(site: &mut Site<'_, Self, D>, held: usize) {
        update::settle(site, held);
    }

    fn footprint<D>(_: &Root<D>, private: &Private<D>, frames: Frames, held: usize) -> usize {
        update::footprint(private, frames, held)
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
fn find_in<D>(block: &Block<D>, frame: u64, mut seen: impl FnMut()) -> Found {
    seen();
    // Acquire: pairs with `block-valid`; the runs that the bit speaks of are seen.
    let valid = block.valid.load(Ordering::Acquire);
    let at = frame % BLOCK_FRAMES;
    Found {
        is_found: valid >> at & 1 == 1,
        index: block.runs().segment(at, seen),
    }
}

/// What a page lookup reads of a block: valid, and base.
#[inline(always)]
fn words_of<D>(block: &Block<D>) -> (u64, *mut D) {
    // Acquire: pairs with `block-valid`; the base and the runs that the bit speaks of are seen.
    let valid = block.valid.load(Ordering::Acquire);
    // Acquire: pairs with `block-base`; the descriptors are seen as they were made.
    let base = block.base.load(Ordering::Acquire);
    (valid, base)
}

/// The descriptor of a frame, if its bit is set; without a branch.
#[inline(always)]
fn select<D>(valid: u64, frame: u64, base: *mut D) -> Option<NonNull<D>> {
    let is_valid = valid >> (frame % BLOCK_FRAMES) & 1 == 1;
    let page = base.wrapping_add(frame as usize);
    NonNull::new(select_unpredictable(is_valid, page, core::ptr::null_mut()))
}

/// The page of a frame that is high, or to which base does not lead.
#[cold]
#[inline(never)]
fn elsewhere<D>(
    root: &Root<D>,
    frame: u64,
    all: &All<'_, D>,
    mut seen: impl FnMut(),
) -> Option<NonNull<D>> {
    let word = match root.low(frame, &mut seen) {
        Some(word) => word,
        None => root.high(frame, &mut seen)?,
    };
    let block = block(word, frame);
    let (valid, base) = words_of(block);
    if base.is_null() {
        let Found { is_found, index } = find_in(block, frame, seen);
        // An entry that was not found may be of a segment whose descriptors are gone.
        return is_found.then(|| all.get(index).page(frame))?;
    }
    seen();
    select(valid, frame, base)
}
