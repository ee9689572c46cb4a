//! Sizes of blocks, sections, pages and middle tables.
#![forbid(unsafe_code)]

use crate::phys::FRAME_BITS;

/// Frames of a block: the bits of a word.
pub(crate) const BLOCK_FRAMES: u64 = 64;
const BLOCK_BITS: u32 = 6;

/// log2 of the frames of a section. Small under loom, so that its models terminate.
pub(crate) const SECTION_BITS: u32 = if cfg!(loom) { 7 } else { 12 };
pub(crate) const SECTION_FRAMES: u64 = 1 << SECTION_BITS;
/// Blocks of a section.
pub(super) const BLOCKS: usize = 1 << (SECTION_BITS - BLOCK_BITS);

/// Frames below this share one leaf in a table that has no others: 2^18, with 96 KiB of blocks.
/// These fit in a core's cache, so sections would gain nothing.
pub(super) const NEAR_FRAMES: u64 = if cfg!(loom) {
    2 << SECTION_BITS
} else {
    1 << 18
};

/// A table whose frames are all below this has the words of its sections in one array.
const LOW_BITS: u32 = if cfg!(loom) { 10 } else { 28 };
pub(super) const LOW_SECTIONS: u64 = 1 << (LOW_BITS - SECTION_BITS);
pub(super) const LOW_FRAMES: u64 = LOW_SECTIONS << SECTION_BITS;

/// log2 of the sections of a page, in a wide table.
const PAGE_BITS: u32 = if cfg!(loom) { 1 } else { 5 };
pub(super) const PAGE_SECTIONS: usize = 1 << PAGE_BITS;
/// log2 of the frames of a page.
pub(super) const PAGE_FRAME_BITS: u32 = SECTION_BITS + PAGE_BITS;

/// log2 of the pages of a middle table.
const MIDDLE_BITS: u32 = if cfg!(loom) { 1 } else { 11 };
pub(super) const MIDDLE_PAGES: usize = 1 << MIDDLE_BITS;
/// log2 of the frames of a middle table.
pub(super) const MIDDLE_FRAME_BITS: u32 = PAGE_FRAME_BITS + MIDDLE_BITS;

const _: () = assert!(MIDDLE_FRAME_BITS < FRAME_BITS && LOW_FRAMES < 1 << FRAME_BITS);
const _: () = assert!(NEAR_FRAMES.is_multiple_of(SECTION_FRAMES) && NEAR_FRAMES < LOW_FRAMES);

/// The index of a frame's block, counted from frame 0.
#[inline]
pub(super) const fn block_of(frame: u64) -> usize {
    (frame / BLOCK_FRAMES) as usize
}
