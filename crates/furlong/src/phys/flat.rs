//! Arm `flat`: a pointer a frame, from frame 0 to the highest: the limit of what a lookup can be,
//! at 8 bytes a frame.
//!
//! That is for pages. Segments are found in a sorted array beside it.
#![forbid(unsafe_code)]

use alloc::vec::Vec;
use core::ptr::NonNull;

use super::branchless::{Branchless, Sorted};
use super::entry::All;
use super::error::Refusal;
use super::lookup::{Arm, Site};
use super::segment::Frames;
use super::slab::Pages;
use super::truth::rebuild;

/// The arm; see the [list of arms](super::Lookup).
#[derive(Clone, Copy, Debug)]
pub struct Flat;

/// The frames of the longest table: 512 MiB of pointers, for 256 GiB of memory.
const FRAMES_MAX: u64 = 1 << 26;

/// A descriptor for each frame below the highest, and the segments.
pub struct Table<D> {
    /// Null where there is none.
    pages: Vec<Pages<D>>,
    sorted: Sorted<D>,
}

impl Arm for Flat {
    type Shared<D> = ();
    type Private<D> = Table<D>;
    type Reader<'a, D: 'a> = &'a Table<D>;

    fn shared<D>() {}

    fn private<D>() -> Table<D> {
        Table {
            pages: Vec::new(),
            sorted: Branchless::private(),
        }
    }

    #[inline]
    fn reader<'a, D>((): &'a (), private: &'a Table<D>) -> &'a Table<D> {
        private
    }

    #[inline]
    fn find<D>(table: &Table<D>, frame: u64, seen: impl FnMut()) -> Option<u32> {
        Branchless::find(&table.sorted, frame, seen)
    }

    #[inline]
    fn page<D>(
        table: &Table<D>,
        frame: u64,
        _: All<'_, D>,
        mut seen: impl FnMut(),
    ) -> Option<NonNull<D>> {
        seen();
        NonNull::new(table.pages.get(frame as usize)?.start())
    }

    fn prepare<D>(site: &mut Site<'_, Self, D>, frames: Frames, _: bool) -> Result<(), Refusal> {
        if frames.end > FRAMES_MAX {
            return Err(Refusal::NoMemory);
        }
        let Table { pages, sorted } = site.private;
        sorted.reserve()?;
        let end = frames.end as usize;
        let more = pages.try_reserve_exact(end.saturating_sub(pages.len()));
        more.map_err(|_| Refusal::NoMemory)
    }

    fn update<D>(site: &mut Site<'_, Self, D>, frames: Frames) {
        let Table { pages, sorted } = &mut *site.private;
        rebuild(site.truth, frames, sorted, Sorted::take, Sorted::put);
        let len = pages.len().max(frames.end as usize);
        pages.resize(len, Pages::at(core::ptr::null_mut()));
        pages[frames.start as usize..frames.end as usize].fill(Pages::at(core::ptr::null_mut()));
        for index in site.truth.overlapping(frames) {
            for piece in site.truth.pieces_of(*index) {
                let part = piece.frames.meet(frames);
                for frame in part.start..part.end {
                    let page = piece.pages.and_then(|pages| pages.of(frame));
                    let page = page.map_or(core::ptr::null_mut(), NonNull::as_ptr);
                    pages[frame as usize] = Pages::at(page);
                }
            }
        }
    }

    fn clear<D>(site: &mut Site<'_, Self, D>) {
        *site.private = Self::private();
    }

    /// What pages are found by: a pointer a frame.
    fn bytes<D>((): &(), private: &Table<D>) -> usize {
        private.pages.len() * size_of::<Pages<D>>()
    }
}
