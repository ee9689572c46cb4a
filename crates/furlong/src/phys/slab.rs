//! Slabs: arrays of descriptors that segments share.

use core::alloc::Layout;
use core::ptr::NonNull;

use super::Descriptor;
use super::error::NoMemory;
use super::memory::Memory;
use super::segment::Frames;
use crate::addr::Pfn;

/// Where the descriptor of frame 0 would be: that of frame f is f strides further on. One value
/// serves all segments whose descriptors lie in an array as their frames do in memory.
pub(super) struct Pages<D>(*mut D);

// SAFETY: an address; only unsafe code makes a reference of it.
unsafe impl<D: Sync> Send for Pages<D> {}
// SAFETY: as above.
unsafe impl<D: Sync> Sync for Pages<D> {}

impl<D> Clone for Pages<D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D> Copy for Pages<D> {}

impl<D> PartialEq for Pages<D> {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::eq(self.0, other.0)
    }
}

impl<D> Pages<D> {
    pub(super) fn at(start: *mut D) -> Self {
        Self(start)
    }

    pub(super) fn start(self) -> *mut D {
        self.0
    }

    /// So that the descriptor of `frame` is at `page`.
    fn with(page: *mut D, frame: u64) -> Self {
        Self(page.wrapping_sub(frame as usize))
    }

    /// The descriptor of `frame`.
    #[inline]
    pub(super) fn of(self, frame: u64) -> Option<NonNull<D>> {
        NonNull::new(self.0.wrapping_add(frame as usize))
    }
}

/// An array of descriptors, described in memory of the table's.
pub(super) struct Slab<D> {
    next: Option<NonNull<Slab<D>>>,
    pages: NonNull<D>,
    /// Descriptors.
    len: usize,
    /// Those that a segment has.
    used: usize,
    /// A bit a descriptor, set where a segment has it.
    bits: NonNull<u64>,
}

/// All slabs, the oldest first.
pub(super) struct Slabs<D> {
    first: Option<NonNull<Slab<D>>>,
}

// SAFETY: it owns the slabs.
unsafe impl<D: Send> Send for Slabs<D> {}

/// Descriptors in a row that have been taken from a slab.
pub(super) struct Run<D> {
    slab: NonNull<Slab<D>>,
    pages: NonNull<D>,
    len: usize,
}

impl<D> Clone for Run<D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D> Copy for Run<D> {}

impl<D> Slabs<D> {
    pub(super) const fn new() -> Self {
        Self { first: None }
    }

    fn layouts(len: usize) -> Result<(Layout, Layout), NoMemory> {
        let pages = Layout::array::<D>(len).map_err(|_| NoMemory)?;
        let bits = Layout::array::<u64>(len.div_ceil(64)).map_err(|_| NoMemory)?;
        Ok((pages, bits))
    }

    /// `len` descriptors in a row: free ones of the slabs that there are, oldest first, or of a new
    /// slab.
    pub(super) fn take(&mut self, memory: &mut Memory, len: u64) -> Result<Run<D>, NoMemory> {
        let len = usize::try_from(len).map_err(|_| NoMemory)?;
        if let Some(run) = self.scavenge(len) {
            return Ok(run);
        }
        let room = len.checked_next_multiple_of(64).ok_or(NoMemory)?;
        self.add(memory, room)?;
        self.scavenge(len).ok_or(NoMemory)
    }

    fn scavenge(&mut self, len: usize) -> Option<Run<D>> {
        let mut next = self.first;
        while let Some(mut at) = next {
            // SAFETY: slabs in the list are ours.
            let slab = unsafe { at.as_mut() };
            if let Some(from) = slab.free_run(len) {
                slab.mark(from, len, true);
                // SAFETY: the slab has `from + len` descriptors.
                let pages = unsafe { slab.pages.add(from) };
                return Some(Run {
                    slab: at,
                    pages,
                    len,
                });
            }
            next = slab.next;
        }
        None
    }

    /// Adds a slab of `len` free descriptors.
    fn add(&mut self, memory: &mut Memory, len: usize) -> Result<(), NoMemory> {
        const { assert!(size_of::<D>() > 0, "a descriptor has an address of its own") };
        let (pages_layout, bits_layout) = Self::layouts(len)?;
        let slab = memory.alloc(Layout::new::<Slab<D>>())?.cast::<Slab<D>>();
        let pages = memory.alloc(pages_layout);
        let bits = memory.alloc(bits_layout);
        let (Ok(pages), Ok(bits)) = (pages, bits) else {
            for (piece, layout) in [(pages, pages_layout), (bits, bits_layout)] {
                if let Ok(piece) = piece {
                    // SAFETY: just allocated.
                    unsafe { memory.free(piece, layout) };
                }
            }
            // SAFETY: just allocated.
            unsafe { memory.free(slab.cast(), Layout::new::<Slab<D>>()) };
            return Err(NoMemory);
        };
        let bits = bits.cast::<u64>();
        // SAFETY: so many words were allocated.
        unsafe { bits.write_bytes(0, len.div_ceil(64)) };
        let header = Slab {
            next: None,
            pages: pages.cast(),
            len,
            used: 0,
            bits,
        };
        // SAFETY: just allocated for it.
        unsafe { slab.write(header) };
        match self.iter().last() {
            // SAFETY: slabs in the list are ours.
            Some(last) => unsafe { (*last.as_ptr()).next = Some(slab) },
            None => self.first = Some(slab),
        }
        Ok(())
    }

    /// Gives a run back whose descriptors are not made, or not any more. A slab of which nothing is
    /// used goes.
    pub(super) fn give_back(&mut self, memory: &mut Memory, mut run: Run<D>) {
        // SAFETY: a run's slab is in the list, for descriptors of it are used.
        let slab = unsafe { run.slab.as_mut() };
        let from = slab.index_of(run.pages);
        slab.mark(from, run.len, false);
        if slab.used == 0 {
            self.remove(memory, run.slab);
        }
    }

    fn remove(&mut self, memory: &mut Memory, gone: NonNull<Slab<D>>) {
        // SAFETY: it is in the list.
        let slab = unsafe { gone.read() };
        // SAFETY: slabs in the list are ours.
        let is_before = |at: &NonNull<Slab<D>>| unsafe { at.as_ref() }.next == Some(gone);
        match self.iter().find(is_before) {
            // SAFETY: slabs in the list are ours.
            Some(before) => unsafe { (*before.as_ptr()).next = slab.next },
            None => self.first = slab.next,
        }
        let Ok((pages, bits)) = Self::layouts(slab.len) else {
            return;
        };
        // SAFETY: allocated so in `add`, and none of it is used.
        unsafe { memory.free(slab.pages.cast(), pages) };
        // SAFETY: as above.
        unsafe { memory.free(slab.bits.cast(), bits) };
        // SAFETY: as above.
        unsafe { memory.free(gone.cast(), Layout::new::<Slab<D>>()) };
    }

    /// Whether a run lies in one of the slabs and is marked as used there.
    pub(super) fn has(&self, run: &Run<D>) -> bool {
        self.iter().any(|at| {
            // SAFETY: slabs in the list are ours.
            let slab = unsafe { at.as_ref() };
            let offset = run.pages.addr().get().wrapping_sub(slab.pages.addr().get());
            let from = offset.checked_div(size_of::<D>()).unwrap_or(0);
            at == run.slab
                && from.checked_add(run.len).is_some_and(|end| end <= slab.len)
                && (from..from + run.len).all(|at| slab.is_used(at))
        })
    }

    /// Descriptors that segments have, as the slabs count them, and as their bits do.
    pub(super) fn used(&self) -> (u64, u64) {
        self.iter().fold((0, 0), |(used, marked), at| {
            // SAFETY: slabs in the list are ours.
            let slab = unsafe { at.as_ref() };
            let bits = (0..slab.len).filter(|at| slab.is_used(*at)).count();
            (used + slab.used as u64, marked + bits as u64)
        })
    }

    fn iter(&self) -> impl Iterator<Item = NonNull<Slab<D>>> + use<D> {
        // SAFETY: slabs in the list are ours.
        core::iter::successors(self.first, |at| unsafe { at.as_ref() }.next)
    }
}

impl<D> Run<D> {
    /// The run of a segment's `frames`, whose descriptors are at `pages`, in `slab`.
    pub(super) fn of(pages: Pages<D>, slab: *mut (), frames: Frames) -> Option<Self> {
        Some(Self {
            slab: NonNull::new(slab.cast())?,
            pages: pages.of(frames.start)?,
            len: frames.len() as usize,
        })
    }

    /// As a segment that starts with `frame` keeps it.
    pub(super) fn pages(&self, frame: u64) -> Pages<D> {
        Pages::with(self.pages.as_ptr(), frame)
    }

    pub(super) fn slab(&self) -> *mut () {
        self.slab.as_ptr().cast()
    }

    /// A part of it.
    pub(super) fn part(&self, from: u64, len: u64) -> Self {
        assert!(from + len <= self.len as u64, "a part of the run");
        Self {
            slab: self.slab,
            // SAFETY: the run has so many descriptors.
            pages: unsafe { self.pages.add(from as usize) },
            len: len as usize,
        }
    }

    /// The first descriptor that is as `wanted`.
    ///
    /// # Safety
    /// They have been made, and are not dropped meanwhile.
    pub(super) unsafe fn position(&self, wanted: impl Fn(&D) -> bool) -> Option<u64> {
        let is_wanted = |at: &usize| {
            // SAFETY: the run has so many descriptors.
            let page = unsafe { self.pages.add(*at) };
            // SAFETY: the caller's promise.
            wanted(unsafe { page.as_ref() })
        };
        (0..self.len).find(is_wanted).map(|at| at as u64)
    }

    /// Drops the descriptors.
    ///
    /// # Safety
    /// They have been made, and nobody looks at them any more.
    pub(super) unsafe fn unmake(&self) {
        let all = NonNull::slice_from_raw_parts(self.pages, self.len);
        // SAFETY: the caller's promise.
        unsafe { all.drop_in_place() };
    }
}

impl<D: Descriptor> Run<D> {
    /// Makes the descriptors, of frames from `frame` on.
    pub(super) fn make(&self, frame: u64) {
        for at in 0..self.len {
            let made = D::of_frame(Pfn::new(frame + at as u64));
            // SAFETY: the run has so many places, and nobody looks at them yet.
            let place = unsafe { self.pages.add(at) };
            // SAFETY: as above.
            unsafe { place.write(made) };
        }
    }
}

impl<D> Slab<D> {
    fn words(&self) -> &[u64] {
        // SAFETY: so many words were allocated and written.
        unsafe { core::slice::from_raw_parts(self.bits.as_ptr(), self.len.div_ceil(64)) }
    }

    fn words_mut(&mut self) -> &mut [u64] {
        // SAFETY: so many words were allocated and written.
        unsafe { core::slice::from_raw_parts_mut(self.bits.as_ptr(), self.len.div_ceil(64)) }
    }

    fn is_used(&self, at: usize) -> bool {
        self.words()[at / 64] >> (at % 64) & 1 == 1
    }

    /// The index of a descriptor.
    fn index_of(&self, page: NonNull<D>) -> usize {
        let offset = page.addr().get() - self.pages.addr().get();
        offset.checked_div(size_of::<D>()).unwrap_or(0)
    }

    /// The first free run of `len` descriptors.
    fn free_run(&self, len: usize) -> Option<usize> {
        if self.len - self.used < len {
            return None;
        }
        let mut from = 0;
        while from + len <= self.len {
            let (at, free) = self.next_change(from, 0);
            if at - from >= len {
                return Some(from);
            }
            if !free {
                return None;
            }
            from = self.next_change(at, u64::MAX).0;
        }
        None
    }

    /// The first index from `from` on whose bit is not as in `same`, and whether there is one.
    fn next_change(&self, from: usize, same: u64) -> (usize, bool) {
        let mut at = from;
        while at < self.len {
            let word = (self.words()[at / 64] ^ same) >> (at % 64);
            if word != 0 {
                return ((at + word.trailing_zeros() as usize).min(self.len), true);
            }
            at = (at / 64 + 1) * 64;
        }
        (self.len, false)
    }

    fn mark(&mut self, from: usize, len: usize, used: bool) {
        let mut at = from;
        let end = from + len;
        while at < end {
            let count = (64 - at % 64).min(end - at);
            let mask = (u64::MAX >> (64 - count)) << (at % 64);
            let word = &mut self.words_mut()[at / 64];
            if used {
                *word |= mask;
            } else {
                *word &= !mask;
            }
            at += count;
        }
        if used {
            self.used += len;
        } else {
            self.used -= len;
        }
    }
}
