//! Descriptors between their slab and their segment: making them, and dropping them after a panic.

use core::ptr::NonNull;

use super::slab::{Slab, State};
use crate::addr::Pfn;
use crate::forms::copies;
use crate::phys::{Descriptor, Frames, SECTION_BITS, SECTION_FRAMES, Share, Slabs, is_made};

/// Consecutive places taken from a slab, to be given back to it.
#[must_use = "its places stay taken"]
pub(crate) struct Run<D> {
    pub(crate) slab: NonNull<Slab<D>>,
    /// Index of the first place.
    pub(crate) from: usize,
    pub(crate) len: usize,
}

copies! { Run<D> where [D]; }

impl<D> Run<D> {
    /// The places from `from` on, for the descriptors of `frames`.
    pub(crate) fn share(&self, from: u64, frames: Frames) -> Share<D> {
        assert!(
            from + frames.len() <= self.len as u64,
            "as many as were taken"
        );
        // SAFETY: a slab lives as long as its descriptors are used.
        let pages = unsafe { self.slab.as_ref() }.pages;
        Share {
            slab: self.slab,
            // SAFETY: the slab has this many places.
            pages: unsafe { pages.add(self.from + from as usize) },
            frames,
        }
    }
}

impl<D> Run<D> {
    /// Gives back some places, which have no descriptors.
    pub(crate) fn skip(&self, from: u64, len: u64) {
        // SAFETY: a slab lives as long as its descriptors are used.
        let slab = unsafe { self.slab.as_ref() };
        slab.give(self.from + from as usize, len as usize);
    }
}

/// New descriptors, one share after the other, that are not yet part of a segment. Its drop drops
/// them: no lookup has found them. It does not give back their places.
pub(crate) struct Made<D, S: Iterator<Item = Share<D>> + Clone> {
    shares: S,
    /// The number of descriptors made.
    done: u64,
}

impl<D, S: Iterator<Item = Share<D>> + Clone> Made<D, S> {
    /// Makes the descriptors of all frames of shares that have none.
    pub(crate) fn make(shares: S) -> Self
    where
        D: Descriptor,
    {
        let mut made = Self { shares, done: 0 };
        for share in made.shares.clone() {
            for (at, frame) in (share.frames.start..share.frames.end).enumerate() {
                let page = D::of_frame(Pfn::new(frame));
                // SAFETY: there are as many places as frames.
                let place = unsafe { share.pages.add(at) };
                // SAFETY: the place was taken for this descriptor, and nobody looks at it yet.
                unsafe { place.write(page) };
                made.done += 1;
            }
        }
        made
    }

    /// Keeps the descriptors: they are part of segments from now on.
    pub(crate) fn keep(self) {
        core::mem::forget(self);
    }
}

impl<D, S: Iterator<Item = Share<D>> + Clone> Drop for Made<D, S> {
    fn drop(&mut self) {
        for share in self.shares.clone() {
            let len = share.frames.len().min(self.done);
            self.done -= len;
            let made = NonNull::slice_from_raw_parts(share.pages, len as usize);
            // SAFETY: this number was made, and nobody has seen them.
            unsafe { made.drop_in_place() };
        }
    }
}

impl<D: Descriptor> Slabs<D> {
    /// Makes the descriptors of a section. The shares are those of its segments, all in one slab
    /// and in order. Returns the range of frames that got descriptors.
    pub(crate) fn make_section(
        &mut self,
        shares: impl Iterator<Item = Share<D>> + Clone,
    ) -> Frames {
        let mut hull: Option<Frames> = None;
        for share in shares.clone() {
            let Frames { start, end } = share.frames;
            assert!(!is_made::<D>(share.slab(), start), "they are to be made");
            debug_assert!(self.has(&share), "a share of one of the slabs");
            let start = hull.map_or(start, |hull| hull.start);
            hull = Some(Frames { start, end });
        }
        let first = shares.clone().next();
        let made = Made::make(shares);
        if let Some(share) = first
            && let State::Late(late) = &share.header().state
        {
            late.set_made(share.frames.start >> SECTION_BITS);
        }
        made.keep();
        hull.unwrap_or(Frames::NONE)
    }
}

/// Descriptors that no segment has any more, to be dropped without the lock. Meanwhile, other calls
/// may make descriptors beside them, in the sections at the two ends.
pub(crate) struct Leaving<D> {
    share: Share<D>,
    /// True if those of the first section, and of the last one, were made when they left.
    ends: [bool; 2],
}

impl<D> Leaving<D> {
    pub(crate) fn new(share: Share<D>) -> Self {
        let Frames { start, end } = share.frames;
        let ends = [start, end - 1].map(|frame| is_made::<D>(share.slab(), frame));
        Self { share, ends }
    }

    /// Drops those that were made.
    ///
    /// # Safety
    /// Nobody looks at them any more, and their places are not reused before this ends.
    pub(crate) unsafe fn drop_all(self) {
        if !core::mem::needs_drop::<D>() {
            return;
        }
        let Frames { start, end } = self.share.frames;
        let section = |frame: u64| frame / SECTION_FRAMES;
        let was_made = |part: &Share<D>| match part.frames.start {
            first if section(first) == section(start) => self.ends[0],
            last if section(last) == section(end - 1) => self.ends[1],
            between => is_made::<D>(part.slab(), between),
        };
        let mut parts = Rest(self.share.sections().filter(was_made));
        for part in parts.0.by_ref() {
            // SAFETY: they have been made; the caller's promise.
            unsafe { part.as_slice().drop_in_place() };
        }
    }
}

/// The remaining parts of a share. Its drop drops their descriptors, after a descriptor's drop has
/// panicked.
struct Rest<I: Iterator<Item = Share<D>>, D>(I);

impl<D, I: Iterator<Item = Share<D>>> Drop for Rest<I, D> {
    fn drop(&mut self) {
        for part in self.0.by_ref() {
            // SAFETY: as in `drop_all`, which has not reached them.
            unsafe { part.as_slice().drop_in_place() };
        }
    }
}
