//! Arm `flat`: a pointer a frame, from frame 0 to the highest: the limit of what a lookup can be,
//! at 8 bytes a frame.
//!
//! The table is reached as readers beside a writer would have to reach it, through a length and a
//! pointer that may change. That is for pages; segments are found in a sorted array beside it,
//! which the writer alone can use.

use core::ptr::NonNull;

use super::branchless::{Branchless, Sorted};
use super::entry::All;
use super::error::Refusal;
use super::lookup::{Arm, Found, Site};
use super::segment::Frames;
use super::truth::rebuild;
use super::words::Words;
use crate::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// The arm; see the [list of arms](super::Lookup).
#[derive(Clone, Copy, Debug)]
pub struct Flat;

/// The frames of the longest table: 512 MiB of pointers, for 256 GiB of memory.
const FRAMES_MAX: u64 = 1 << 26;

/// What readers look at.
pub struct Table<D> {
    /// Frames below it have a place.
    limit: AtomicU64,
    pages: AtomicPtr<AtomicPtr<D>>,
}

/// What belongs to the writer.
pub struct Private<D> {
    pages: Words<AtomicPtr<D>>,
    sorted: Sorted<D>,
}

// SAFETY: it owns the words, which are addresses.
unsafe impl<D: Send + Sync> Send for Private<D> {}

/// What a lookup looks at.
pub struct Reader<'a, D> {
    table: &'a Table<D>,
    sorted: &'a Sorted<D>,
}

impl<D> Clone for Reader<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D> Copy for Reader<'_, D> {}

impl<D> Table<D> {
    /// The descriptor of a frame; null if there is none.
    #[inline(always)]
    fn page(&self, frame: u64) -> *mut D {
        // Acquire: pairs with `flat-limit`; there is a place for each frame below it.
        if frame >= self.limit.load(Ordering::Acquire) {
            return core::ptr::null_mut();
        }
        // Acquire: pairs with `flat-pages`; the places are seen as they were made.
        let pages = self.pages.load(Ordering::Acquire);
        // SAFETY: this table and every later one has a place for each frame below the limit.
        let place = unsafe { pages.add(frame as usize) };
        // SAFETY: tables are given back after a grace period.
        let place = unsafe { &*place };
        // Acquire: pairs with `flat-page`; the descriptor is seen as it was made.
        place.load(Ordering::Acquire)
    }
}

impl Arm for Flat {
    type Shared<D> = Table<D>;
    type Private<D> = Private<D>;
    type Reader<'a, D: 'a> = Reader<'a, D>;

    fn shared<D>() -> Table<D> {
        Table {
            limit: AtomicU64::new(0),
            pages: AtomicPtr::new(core::ptr::null_mut()),
        }
    }

    fn private<D>() -> Private<D> {
        Private {
            pages: Words::new(),
            sorted: Branchless::private(),
        }
    }

    #[inline]
    fn reader<'a, D>(table: &'a Table<D>, private: &'a Private<D>) -> Reader<'a, D> {
        let sorted = &private.sorted;
        Reader { table, sorted }
    }

    #[inline]
    fn find<D>(reader: Reader<'_, D>, frame: u64, seen: impl FnMut()) -> Found {
        Branchless::find(reader.sorted, frame, seen)
    }

    #[inline]
    fn page<D>(
        reader: Reader<'_, D>,
        frame: u64,
        _: &All<'_, D>,
        mut seen: impl FnMut(),
    ) -> Option<NonNull<D>> {
        seen();
        NonNull::new(reader.table.page(frame))
    }

    fn prepare<D>(site: &mut Site<'_, Self, D>, frames: Frames, _: bool) -> Result<(), Refusal> {
        site.private.sorted.reserve()?;
        let pages = &mut site.private.pages;
        if frames.end > FRAMES_MAX {
            return Err(Refusal::NoMemory);
        }
        if frames.end as usize <= pages.room() {
            return Ok(());
        }
        site.limbo.reserve(site.memory, 1)?;
        let copy = |old: &Words<AtomicPtr<D>>, at| {
            // Relaxed: the writer's own word.
            let page = old.get(at).map(|place| place.load(Ordering::Relaxed));
            AtomicPtr::new(page.unwrap_or(core::ptr::null_mut()))
        };
        let old = pages.grow(site.memory, frames.end as usize, copy)?;
        // Release, `flat-pages`: pairs with the load in `Table::page`.
        site.shared.pages.store(pages.as_ptr(), Ordering::Release);
        // Release, `flat-limit`: pairs with the load in `Table::page`, and comes after the pages.
        site.shared.limit.store(frames.end, Ordering::Release);
        // SAFETY: the new table has been published.
        unsafe { old.retire(site.limbo) };
        Ok(())
    }

    fn update<D>(site: &mut Site<'_, Self, D>, frames: Frames) {
        let Private { pages, sorted } = &mut *site.private;
        rebuild(site.truth, frames, sorted, Sorted::take, Sorted::put);
        let set = |frame: u64, page: *mut D| {
            if let Some(place) = pages.get(frame as usize) {
                // Release, `flat-page`: pairs with the load in `Table::page`.
                place.store(page, Ordering::Release);
            }
        };
        let mut from = frames.start;
        for index in site.truth.overlapping(frames) {
            for piece in site.truth.pieces_of(*index) {
                let part = piece.frames.meet(frames);
                if part.is_empty() {
                    continue;
                }
                (from..part.start).for_each(|frame| set(frame, core::ptr::null_mut()));
                for frame in part.start..part.end {
                    let page = piece.pages.and_then(|pages| pages.of(frame));
                    set(frame, page.map_or(core::ptr::null_mut(), NonNull::as_ptr));
                }
                from = part.end;
            }
        }
        (from..frames.end).for_each(|frame| set(frame, core::ptr::null_mut()));
    }

    fn clear<D>(site: &mut Site<'_, Self, D>) {
        // Relaxed: there are no readers.
        site.shared.limit.store(0, Ordering::Relaxed);
        site.private.pages.free(site.memory);
        site.private.sorted = Branchless::private();
    }

    /// What pages are found by: a pointer a frame.
    fn bytes<D>(_: &Table<D>, private: &Private<D>) -> usize {
        private.pages.bytes()
    }
}
