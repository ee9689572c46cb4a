//! Descriptors between their slab and their segment: taken, made, dropped if that panics.

use core::ptr::NonNull;

use super::Descriptor;
use super::bits;
use super::direct::geometry::SECTION_BITS;
use super::pages::Share;
use super::segment::Frames;
use super::slab::{Slab, Slabs, State, is_made};
use crate::addr::Pfn;

/// Descriptors in a row that no segment has and that are not made. Dropped, they are free again.
pub(super) struct Run<D> {
    pub(super) slab: NonNull<Slab<D>>,
    /// Index of the first one.
    pub(super) from: usize,
    pub(super) len: usize,
}

impl<D> Run<D> {
    fn header(&self) -> &Slab<D> {
        // SAFETY: a slab lives as long as descriptors of it are used.
        unsafe { self.slab.as_ref() }
    }

    fn at(&self, at: usize) -> NonNull<D> {
        assert!(at < self.len, "a descriptor of the run");
        // SAFETY: the slab has so many.
        unsafe { self.header().pages.add(self.from + at) }
    }

    /// What stays of a run is a segment's, whose descriptors are made later.
    pub(super) fn keep_late(self, frames: Frames) -> Share<D> {
        assert!(
            matches!(self.header().state, State::Late(_)) && self.len as u64 == frames.len(),
            "a slab for these frames"
        );
        let share = Share {
            slab: self.slab,
            pages: self.at(0),
            frames,
        };
        core::mem::forget(self);
        share
    }
}

impl<D> Drop for Run<D> {
    fn drop(&mut self) {
        self.header().give(self.from, self.len);
    }
}

/// Descriptors of a run that are made one segment after the other. Dropped, they are dropped, and
/// their places are free again: no lookup has found them.
pub(super) struct Making<D> {
    run: Run<D>,
    /// So many places from the run's start are made, or are not a segment's and free.
    done: usize,
}

impl<D: Descriptor> Making<D> {
    pub(super) fn new(run: Run<D>) -> Self {
        assert!(
            matches!(run.header().state, State::Used(_)),
            "a run of a slab with a bit a descriptor"
        );
        Self { run, done: 0 }
    }

    /// Makes the descriptors of `frames` from the place `from` on, which is not below those of
    /// before; what is between is free.
    pub(super) fn make(&mut self, from: u64, frames: Frames) -> Share<D> {
        let share = self.share(from, frames);
        let from = from as usize;
        let gap = from.checked_sub(self.done).expect("one above the other");
        self.run.header().give(self.run.from + self.done, gap);
        for (at, frame) in (from..).zip(frames.start..frames.end) {
            self.done = at;
            let page = D::of_frame(Pfn::new(frame));
            // SAFETY: the place is the run's, and nobody looks at it yet.
            unsafe { self.run.at(at).write(page) };
        }
        self.done = from + frames.len() as usize;
        share
    }
}

impl<D> Making<D> {
    /// Where the descriptors of `frames` are, from the place `from` on, made or not.
    pub(super) fn share(&self, from: u64, frames: Frames) -> Share<D> {
        assert!(
            from + frames.len() <= self.run.len as u64,
            "as many as were taken"
        );
        Share {
            slab: self.run.slab,
            pages: self.run.at(from as usize),
            frames,
        }
    }

    /// They are segments' from now on; what is behind them is free.
    pub(super) fn keep(self) {
        let rest = self.run.len - self.done;
        let slab = self.run.header();
        slab.give(self.run.from + self.done, rest);
        core::mem::forget(self);
    }
}

impl<D> Drop for Making<D> {
    fn drop(&mut self) {
        let slab = self.run.header();
        for at in bits::ones(slab.used_words(), self.run.from, self.done) {
            // SAFETY: the slab has so many.
            let page = unsafe { slab.pages.add(at) };
            // SAFETY: it was made, and no lookup has found it.
            unsafe { page.drop_in_place() };
        }
    }
}

impl<D: Descriptor> Slabs<D> {
    /// Makes the descriptors of a section, for the segments that have these shares of it, all of
    /// one slab and in order. Returns from which frame to which they go.
    pub(super) fn make_section(
        &mut self,
        shares: impl Iterator<Item = Share<D>> + Clone,
    ) -> Frames {
        let mut section = Section { shares, done: 0 };
        let mut hull: Option<Frames> = None;
        for share in section.shares.clone() {
            let Frames { start, end } = share.frames;
            assert!(!is_made::<D>(share.slab(), start), "they are to be made");
            debug_assert!(self.has(&share), "a share of one of the slabs");
            for frame in start..end {
                let page = D::of_frame(Pfn::new(frame));
                // SAFETY: there are as many descriptors as frames.
                let place = unsafe { share.pages.add((frame - start) as usize) };
                // SAFETY: nobody looks at it before its section is said to be made.
                unsafe { place.write(page) };
                section.done += 1;
            }
            let start = hull.map_or(start, |hull| hull.start);
            hull = Some(Frames { start, end });
        }
        if let Some(share) = section.shares.next()
            && let State::Late(late) = &share.header().state
        {
            late.set_made(share.frames.start >> SECTION_BITS);
        }
        core::mem::forget(section);
        hull.unwrap_or(Frames::NONE)
    }
}

/// Descriptors of a section that have been made, but are not said to be: dropped with it.
struct Section<D, S: Iterator<Item = Share<D>> + Clone> {
    shares: S,
    /// How many of them.
    done: u64,
}

impl<D, S: Iterator<Item = Share<D>> + Clone> Drop for Section<D, S> {
    fn drop(&mut self) {
        for share in self.shares.clone() {
            let len = share.frames.len().min(self.done);
            self.done -= len;
            let made = NonNull::slice_from_raw_parts(share.pages, len as usize);
            // SAFETY: so many were made, and nobody has seen them.
            unsafe { made.drop_in_place() };
        }
    }
}
