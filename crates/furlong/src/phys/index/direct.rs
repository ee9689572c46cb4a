//! Arm `direct`: a table of tables, indexed by frame number. Constant time, readers beside a
//! writer.
//!
//! Frames are grouped in *sections* of 4,096. A section has one of two forms.
//! - A *cell*, if lookups find at most one stretch of one segment in it. The cell has the stretch,
//!   its segment, and a *base*: the address at which the descriptor of frame 0 would be. The
//!   descriptor of frame `f` is `f` strides further on. Sections that lie wholly in one segment
//!   share a cell, and so do empty ones.
//! - A *leaf* otherwise: 64 *blocks* of 64 frames, of three words each. *valid*: bit `i` is set if
//!   frame `i` is found. *base*: as above; one base serves all segments with descriptors in the
//!   same slab. *runs*: the segments of the frames.
//!
//! A lookup takes the same few instructions with 1 fragment and with 8,161, and hit or miss is a
//! conditional move, not a branch.
//!
//! A section is reached in one of three ways, one for each kind of table.
//! - *near*: a table that begins with few frames, below 2^18 (1 GiB), has one leaf for all of them.
//! - *low*: any other table has an array with a *word* for each section. When a table outgrows its
//!   near leaf, words lead into that leaf.
//! - *wide*: a table with frames from 2^28 (1 TiB) on has the words of all frames in *pages* of 32,
//!   which exist where there is memory. Above them are *middle tables* of 2,048 pages, and a *top*.
//!   Low frames take the same way: two ways would mean a branch that the processor mispredicts.
//!   In a hole of memory, the way leads through an empty page to the empty cell.
//!
//! A page lookup loads the limit and the way, and then the cell, or valid and base. A null base
//! means that segments of one block have descriptors in different slabs or have none. The lookup
//! then continues through runs and the segment.
//!
//! # Memory
//!
//! A table of pointers takes 512 bytes for 64 frames. This arm takes the bytes below, exactly,
//! except that the allocator rounds up to 8, and pieces of more than 264 bytes to 64:
//!
//! | bytes | for each |
//! |---|---|
//! | 24 | block of the near leaf, from frame 0 to the highest; up to an eighth more after growth |
//! | 16 | leaf |
//! | 1,552 | section with two stretches or more that is not near |
//! | 32 | section with one stretch that is not all of it; table with sections |
//! | 32 | segment that has whole sections, and 32 for those without descriptors |
//! | 8 | section from frame 0 to the highest, rounded up to a power of two; not in a wide table |
//! | 256 | 512 MiB with a segment, in a wide table; and 256 for the empty page |
//! | 16,384 | 1 TiB with a segment, in a wide table; and 16,384 for the empty middle table |
//! | 8 | 1 TiB from frame 0 to the highest in a wide table, rounded up to a power of two |
//! | 8 + 2 n | block with n segments, two in one octet of frames, or with indices over 15 apart |
//! | 8 + 4 n | such a block with an index above 65,535 |
//!
//! Examples: 32 segments of 8 frames take 112 bytes, 1/18 of a table of pointers. 256 MiB in 8,161
//! fragments take 24,640 bytes, 1/21. A terabyte in one segment takes 512 KiB and three cells.
//!
//! # Order of changes
//!
//! Readers never retry, so each word must be right by itself. The writer
//! - publishes a complete cell, leaf, runs, or longer array by one store, and frees the old one
//!   after a grace period; of a cell only the index changes, when a hole below splits its segment;
//! - publishes sections before it clears the near leaf's limit, and continues to use that leaf's
//!   blocks: a reader that still uses the leaf sees current data;
//! - publishes the top before it clears the limit of the array of words. From then on the array is
//!   frozen: a reader that still uses it entered before that moment;
//! - stores runs, then base, and then sets valid bits. To take frames out it clears valid bits. It
//!   changes base and runs only after a grace period: a reader that saw a bit finds its base and
//!   its runs.

mod cell;
pub(crate) mod geometry;
mod leaf;
mod root;
mod runs;
#[cfg(all(test, not(loom), feature = "alloc"))]
mod tests;
mod update;
mod wide;

use core::hint::select_unpredictable;
use core::ptr::NonNull;

use super::lookup::Beside;
use crate::phys::{All, Arm, Change, Found, Frames, Refusal, Site};
use crate::sync::atomic::Ordering;
use cell::cell;
use geometry::BLOCK_FRAMES;
use leaf::Block;
use root::block;
pub(crate) use root::{Private, Root};

/// The arm; see the list of arms in the documentation of the trait [`Lookup`](crate::phys::Lookup).
#[derive(Clone, Copy, Debug)]
pub struct Direct;

impl Arm for Direct {
    type Shared<D> = Root<D>;
    type Private<D> = Private<D>;
    type Reader<'a, D: 'a> = &'a Root<D>;

    fn private<D>() -> Private<D> {
        Private::new()
    }

    #[inline]
    fn reader<'a, D>(shared: &'a Root<D>, _: &'a Private<D>) -> &'a Root<D> {
        shared
    }

    #[inline]
    fn find<D>(root: &Root<D>, frame: u64, mut seen: impl FnMut()) -> Found {
        if let Some(near) = root.near(frame) {
            return find_in(block(near, frame), frame, seen);
        }
        let Some(word) = root.word(frame, &mut seen) else {
            return None.into();
        };
        let Some(cell) = cell(word) else {
            return find_in(block(word, frame), frame, seen);
        };
        seen();
        Found {
            is_found: cell.has(frame),
            index: cell.index(),
        }
    }

    #[inline]
    fn page<D>(
        root: &Root<D>,
        frame: u64,
        all: &All<'_, D>,
        mut seen: impl FnMut(),
    ) -> Option<NonNull<D>> {
        let word = match root.near(frame) {
            Some(near) => near,
            None => {
                let word = root.word(frame, &mut seen)?;
                if let Some(cell) = cell(word) {
                    seen();
                    if cell.base.is_null() {
                        return elsewhere(root, frame, all, seen);
                    }
                    return select(cell.has(frame), frame, cell.base);
                }
                word
            }
        };
        seen();
        let (valid, base) = words_of(block(word, frame));
        if base.is_null() {
            return elsewhere(root, frame, all, seen);
        }
        select(valid >> (frame % BLOCK_FRAMES) & 1 == 1, frame, base)
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
    // Acquire: pairs with `block-valid`; the runs that belong to a set bit are seen.
    let valid = block.valid.load(Ordering::Acquire);
    let at = frame % BLOCK_FRAMES;
    Found {
        is_found: valid >> at & 1 == 1,
        index: block.runs().segment(at, seen),
    }
}

/// The two words of a block that a page lookup reads: valid and base.
#[inline(always)]
fn words_of<D>(block: &Block<D>) -> (u64, *mut D) {
    // Acquire: pairs with `block-valid`; the base and the runs that belong to a set bit are seen.
    let valid = block.valid.load(Ordering::Acquire);
    // Acquire: pairs with `block-base`; the descriptors are seen initialised.
    let base = block.base.load(Ordering::Acquire);
    (valid, base)
}

/// The descriptor of a frame if `is_valid`, selected without a branch.
#[inline(always)]
fn select<D>(is_valid: bool, frame: u64, base: *mut D) -> Option<NonNull<D>> {
    let page = base.wrapping_add(frame as usize);
    NonNull::new(select_unpredictable(is_valid, page, core::ptr::null_mut()))
}

/// The page of a frame whose base is null, through its segment.
#[cold]
#[inline(never)]
fn elsewhere<D>(
    root: &Root<D>,
    frame: u64,
    all: &All<'_, D>,
    seen: impl FnMut(),
) -> Option<NonNull<D>> {
    let Found { is_found, index } = Direct::find(root, frame, seen);
    // If the frame was not found, the entry may be that of a segment whose descriptors are gone.
    is_found.then(|| all.get(index).page(frame))?
}
