//! How many frames stand where.
#![forbid(unsafe_code)]

use super::super::segment::FRAME_BITS;

/// Frames of a block: the bits of a word.
pub(in super::super) const BLOCK_FRAMES: u64 = 64;
const BLOCK_BITS: u32 = 6;

/// Frames of a section: 2 to this power. Small in models, so that they end.
pub(in super::super) const SECTION_BITS: u32 = if cfg!(loom) { 7 } else { 12 };
pub(in super::super) const SECTION_FRAMES: u64 = 1 << SECTION_BITS;
/// Blocks of a section.
pub(super) const BLOCKS: usize = 1 << (SECTION_BITS - BLOCK_BITS);

/// Frames below this have one leaf in a table that has no others: 2^18, for 96 KiB of blocks.
/// They stay in a core's cache, so that nothing would be won by sections.
pub(super) const NEAR_FRAMES: u64 = if cfg!(loom) {
    2 << SECTION_BITS
} else {
    1 << 18
};

/// Sections below this stand in one array, where there are no others.
const LOW_BITS: u32 = if cfg!(loom) { 10 } else { 28 };
pub(super) const LOW_SECTIONS: u64 = 1 << (LOW_BITS - SECTION_BITS);
pub(super) const LOW_FRAMES: u64 = LOW_SECTIONS << SECTION_BITS;

/// Sections of a page, in a table with frames above those: 2 to this power.
const PAGE_BITS: u32 = if cfg!(loom) { 1 } else { 5 };
pub(super) const PAGE_SECTIONS: usize = 1 << PAGE_BITS;
/// Frames of a page: 2 to this power.
pub(super) const PAGE_FRAME_BITS: u32 = SECTION_BITS + PAGE_BITS;

/// Pages of a middle table: 2 to this power.
const MIDDLE_BITS: u32 = if cfg!(loom) { 1 } else { 11 };
pub(super) const MIDDLE_PAGES: usize = 1 << MIDDLE_BITS;
/// Frames of a middle table: 2 to this power.
pub(super) const MIDDLE_FRAME_BITS: u32 = PAGE_FRAME_BITS + MIDDLE_BITS;

const _: () = assert!(MIDDLE_FRAME_BITS < FRAME_BITS && LOW_FRAMES < 1 << FRAME_BITS);
const _: () = assert!(NEAR_FRAMES.is_multiple_of(SECTION_FRAMES) && NEAR_FRAMES < LOW_FRAMES);

/// The block of a frame, counted from frame 0 on.
#[inline]
pub(super) const fn block_of(frame: u64) -> usize {
    (frame / BLOCK_FRAMES) as usize
}
