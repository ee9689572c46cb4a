//! Arm `flat`: a pointer per frame, from frame 0 to the highest. It is the limit for the speed of a
//! lookup, at 8 bytes a frame.
//!
//! A lookup loads a length and a pointer that may change, and then an entry of the table with
//! Acquire, as readers beside a writer would have to. That serves page lookups. Segments are found
//! in a sorted array beside the table. Only the writer can use that array, and so the whole arm.
#![forbid(unsafe_code)]

use core::ptr::NonNull;

use super::branchless::Sorted;
use super::snapshot::rebuild;
use crate::phys::{All, Arm, Branchless, Change, Found, Frames, RawArray, Refusal, Site};
use crate::sync::atomic::{AtomicPtr, Ordering};

/// The arm; see the [list of arms](crate::phys::Lookup).
#[derive(Clone, Copy, Debug)]
pub struct Flat;

/// Frames of the longest table: 512 MiB of pointers, for 256 GiB of memory.
const FRAMES_MAX: u64 = 1 << 26;

/// A pointer per frame, and the segments.
pub struct Table<D> {
    pages: RawArray<AtomicPtr<D>>,
    sorted: Sorted<D>,
}

impl Arm for Flat {
    type Shared<D> = ();
    type Private<D> = Table<D>;
    type Reader<'a, D: 'a> = &'a Table<D>;

    fn private<D>() -> Table<D> {
        Table {
            pages: RawArray::new(),
            sorted: Branchless::private(),
        }
    }

    #[inline]
    fn reader<'a, D>((): &'a (), table: &'a Table<D>) -> &'a Table<D> {
        table
    }

    #[inline]
    fn find<D>(table: &Table<D>, frame: u64, seen: impl FnMut()) -> Found {
        Branchless::find(&table.sorted, frame, seen)
    }

    #[inline]
    fn page<D>(
        table: &Table<D>,
        frame: u64,
        _: &All<'_, D>,
        mut seen: impl FnMut(),
    ) -> Option<NonNull<D>> {
        seen();
        let place = table.pages.get(usize::try_from(frame).ok()?)?;
        // Acquire: pairs with `flat-page`; the descriptor is seen initialised.
        NonNull::new(place.load(Ordering::Acquire))
    }

    fn prepare<D>(site: &mut Site<'_, Self, D>, frames: Frames, _: Change) -> Result<(), Refusal> {
        site.private.sorted.reserve(site.snapshot.most_pieces())?;
        let pages = &mut site.private.pages;
        if frames.end > FRAMES_MAX {
            return Err(Refusal::NoMemory);
        }
        if frames.end as usize <= pages.room() {
            return Ok(());
        }
        let copy = |old: &RawArray<AtomicPtr<D>>, at| {
            // Relaxed: the writer's own word.
            let page = old.get(at).map(|place| place.load(Ordering::Relaxed));
            AtomicPtr::new(page.unwrap_or(core::ptr::null_mut()))
        };
        let mut old = pages.grow(site.memory, frames.end as usize, copy)?;
        old.free(site.memory);
        Ok(())
    }

    fn update<D>(site: &mut Site<'_, Self, D>, frames: Frames) {
        let Table { pages, sorted } = &mut *site.private;
        rebuild(site.snapshot, frames, sorted, Sorted::take, Sorted::put);
        let set = |frame: u64, page: *mut D| {
            if let Some(place) = pages.get(frame as usize) {
                // Release, `flat-page`: pairs with the load in `page`.
                place.store(page, Ordering::Release);
            }
        };
        let mut from = frames.start;
        for index in site.snapshot.overlapping(frames) {
            for piece in site.snapshot.pieces_of(index) {
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
        site.private.pages.free(site.memory);
        site.private.sorted = Branchless::private();
    }

    /// Bytes of the page table, a pointer per frame.
    fn bytes<D>((): &(), table: &Table<D>) -> usize {
        table.pages.bytes()
    }
}
