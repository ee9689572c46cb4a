//! Addresses of descriptors: by frame number, and as a segment's share of a slab.

use core::ptr::NonNull;

use super::slab::{Slab, State};
use crate::forms::copies;
use crate::phys::{Frames, Pool, SECTION_FRAMES, is_made};

/// The address at which the descriptor of frame 0 would be; that of frame f is f strides further
/// on. Segments share one value if the distances of their descriptors are those of their frames.
pub(crate) struct Pages<D>(*mut D);

// SAFETY: it is an address; only unsafe code makes a reference of it.
unsafe impl<D: Sync> Send for Pages<D> {}
// SAFETY: as above.
unsafe impl<D: Sync> Sync for Pages<D> {}

copies! { Pages<D> where [D]; }

impl<D> PartialEq for Pages<D> {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::eq(self.0, other.0)
    }
}

impl<D> Pages<D> {
    pub(crate) fn at(start: *mut D) -> Self {
        Self(start)
    }

    pub(crate) fn start(self) -> *mut D {
        self.0
    }

    /// The value for which the descriptor of `frame` is at `page`.
    pub(crate) fn with(page: *mut D, frame: u64) -> Self {
        Self(page.wrapping_sub(frame as usize))
    }

    /// The descriptor of `frame`.
    #[inline]
    pub(crate) fn of(self, frame: u64) -> Option<NonNull<D>> {
        NonNull::new(self.0.wrapping_add(frame as usize))
    }
}

/// Consecutive descriptors of a slab, for consecutive frames: those of a segment, or of a part of
/// it.
pub(crate) struct Share<D> {
    pub(crate) slab: NonNull<Slab<D>>,
    /// The descriptor of the first frame.
    pub(crate) pages: NonNull<D>,
    pub(crate) frames: Frames,
}

copies! { Share<D> where [D]; }

impl<D> Share<D> {
    /// The share of a segment with these pages and frames.
    pub(crate) fn of(pages: Pages<D>, slab: *mut (), frames: Frames) -> Option<Self> {
        Some(Self {
            slab: NonNull::new(slab.cast())?,
            pages: pages.of(frames.start)?,
            frames,
        })
    }

    /// The form in which a segment keeps it.
    pub(crate) fn pages(&self) -> Pages<D> {
        Pages::with(self.pages.as_ptr(), self.frames.start)
    }

    pub(crate) fn slab(&self) -> *mut () {
        self.slab.as_ptr().cast()
    }

    pub(crate) fn header(&self) -> &Slab<D> {
        // SAFETY: a slab lives as long as its descriptors are used.
        unsafe { self.slab.as_ref() }
    }

    /// The part of the share for these frames, which must be some of its own.
    pub(crate) fn part(&self, frames: Frames) -> Self {
        assert!(
            self.frames.covers(frames) && !frames.is_empty(),
            "a part of the share"
        );
        let from = (frames.start - self.frames.start) as usize;
        Self {
            slab: self.slab,
            // SAFETY: there are as many descriptors as frames.
            pages: unsafe { self.pages.add(from) },
            frames,
        }
    }

    /// True if no other share has descriptors in the slab.
    pub(crate) fn is_all(&self) -> bool {
        self.header().used.get() as u64 == self.frames.len()
    }

    /// Bytes of the slab.
    pub(crate) fn slab_bytes(&self) -> usize {
        let parts = self.header().parts_of();
        parts.map_or(0, |parts| Pool::footprint(parts.all))
    }

    /// Its parts, each with all descriptors made or none: sections if the slab is made late.
    pub(crate) fn sections(self) -> impl Iterator<Item = Self> {
        let is_late = matches!(self.header().state, State::Late(_));
        let Frames { start, end } = self.frames;
        let after = move |from: u64| {
            if is_late {
                (from + 1).next_multiple_of(SECTION_FRAMES).min(end)
            } else {
                end
            }
        };
        let first = Some((start, after(start)));
        let next = move |&(_, from): &(u64, u64)| (from < end).then(|| (from, after(from)));
        let parts = core::iter::successors(first, next);
        parts.map(move |(start, end)| self.part(Frames { start, end }))
    }

    /// The parts that have been made.
    pub(crate) fn made(self) -> impl Iterator<Item = Self> {
        let is_made = |part: &Self| is_made::<D>(part.slab(), part.frames.start);
        self.sections().filter(is_made)
    }

    /// The first frame whose descriptor has been made and satisfies `wanted`.
    ///
    /// # Safety
    /// None of its descriptors is dropped meanwhile.
    pub(crate) unsafe fn find(self, wanted: impl Fn(&D) -> bool) -> Option<u64> {
        self.made().find_map(|part| {
            // SAFETY: they have been made; the caller's promise.
            let pages = unsafe { part.as_slice().as_ref() };
            let at = pages.iter().position(&wanted)?;
            Some(part.frames.start + at as u64)
        })
    }

    pub(crate) fn as_slice(&self) -> NonNull<[D]> {
        NonNull::slice_from_raw_parts(self.pages, self.frames.len() as usize)
    }
}
