//! Slabs: arrays of descriptors that segments share.

use core::alloc::Layout;
use core::ptr::NonNull;

use super::Descriptor;
use super::direct::geometry::SECTION_BITS;
use super::error::NoMemory;
use super::late::Late;
use super::memory::Memory;
use super::pages::Pages;
use super::segment::Frames;
use crate::addr::Pfn;

/// An array of descriptors, described in memory of the table's.
pub(super) struct Slab<D> {
    next: Option<NonNull<Slab<D>>>,
    pages: NonNull<D>,
    /// Descriptors.
    len: usize,
    /// Those that a segment has.
    used: usize,
    /// A bit a descriptor, set where a segment has it. A slab whose descriptors are made late has
    /// none: all of it was one segment's, and what is given back is not used again.
    bits: Option<NonNull<u64>>,
    late: Option<Late>,
}

/// Whether the descriptor of `frame` in a slab has been made; `slab` is that of a live segment, as
/// its entry keeps it, or null.
pub(super) fn is_made<D>(slab: *mut (), frame: u64) -> bool {
    let Some(slab) = NonNull::new(slab.cast::<Slab<D>>()) else {
        return false;
    };
    // SAFETY: the slab lives as long as a segment has descriptors in it, and readers that found
    // that segment are waited for.
    let late = unsafe { &raw const (*slab.as_ptr()).late };
    // SAFETY: as above, and this part of it never changes.
    let late = unsafe { late.read() };
    late.is_none_or(|late| late.is_made(frame >> SECTION_BITS))
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
            bits: Some(bits),
            late: None,
        };
        // SAFETY: just allocated for it.
        unsafe { slab.write(header) };
        self.append(slab);
        Ok(())
    }

    fn append(&mut self, slab: NonNull<Slab<D>>) {
        match self.iter().last() {
            // SAFETY: slabs in the list are ours.
            Some(last) => unsafe { (*last.as_ptr()).next = Some(slab) },
            None => self.first = Some(slab),
        }
    }

    /// Bytes that a slab whose descriptors are made late takes, alignment included.
    pub(super) fn footprint_late(frames: Frames) -> Option<usize> {
        let pages = Layout::array::<D>(usize::try_from(frames.len()).ok()?).ok()?;
        let late = Late::footprint(frames)?;
        let rest = late + Memory::footprint(Layout::new::<Slab<D>>());
        pages
            .size()
            .checked_add(pages.align() + rest + Memory::OVERHEAD)
    }

    /// Descriptors for `frames` in a slab of their own, to be made section by section.
    pub(super) fn take_late(
        &mut self,
        memory: &mut Memory,
        frames: Frames,
    ) -> Result<Run<D>, NoMemory> {
        const { assert!(size_of::<D>() > 0, "a descriptor has an address of its own") };
        let len = usize::try_from(frames.len()).map_err(|_| NoMemory)?;
        let (pages_layout, _) = Self::layouts(len)?;
        let pages = memory.alloc(pages_layout)?;
        let slab = memory.alloc(Layout::new::<Slab<D>>());
        let late = Late::new(memory, frames);
        let (Ok(slab), Ok(late)) = (slab, late) else {
            if let Ok(late) = late {
                // SAFETY: just made.
                unsafe { late.free(memory) };
            }
            if let Ok(slab) = slab {
                // SAFETY: just allocated.
                unsafe { memory.free(slab, Layout::new::<Slab<D>>()) };
            }
            // SAFETY: just allocated.
            unsafe { memory.free(pages, pages_layout) };
            return Err(NoMemory);
        };
        let slab = slab.cast::<Slab<D>>();
        let header = Slab {
            next: None,
            pages: pages.cast(),
            len,
            used: len,
            bits: None,
            late: Some(late),
        };
        // SAFETY: just allocated for it.
        unsafe { slab.write(header) };
        self.append(slab);
        let pages = pages.cast();
        Ok(Run { slab, pages, len })
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
        // SAFETY: allocated so, and none of it is used.
        unsafe { memory.free(slab.pages.cast(), pages) };
        if let Some(words) = slab.bits {
            // SAFETY: as above.
            unsafe { memory.free(words.cast(), bits) };
        }
        if let Some(late) = slab.late {
            // SAFETY: as above.
            unsafe { late.free(memory) };
        }
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
            let bits = slab.words().iter().map(|word| u64::from(word.count_ones()));
            let bits = slab.bits.map_or(slab.used as u64, |_| bits.sum());
            (used + slab.used as u64, marked + bits)
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

    /// The first descriptor that has been made and is as `wanted`, of frames from `frame` on.
    ///
    /// # Safety
    /// They are not dropped meanwhile.
    pub(super) unsafe fn position(&self, frame: u64, wanted: impl Fn(&D) -> bool) -> Option<u64> {
        let first = self.pages;
        let is_wanted = |page: &NonNull<D>| {
            // SAFETY: they have been made; the caller's promise.
            wanted(unsafe { page.as_ref() })
        };
        let pages = self.made(frame).flat_map(|part| {
            // SAFETY: the part has so many descriptors.
            (0..part.len).map(move |at| unsafe { part.pages.add(at) })
        });
        let found = pages.into_iter().find(is_wanted)?;
        // SAFETY: both are in the run.
        Some(unsafe { found.offset_from_unsigned(first) } as u64)
    }

    /// Drops the descriptors of frames from `frame` on that have been made.
    ///
    /// # Safety
    /// Nobody looks at them any more.
    pub(super) unsafe fn unmake(&self, frame: u64) {
        for part in self.made(frame) {
            // SAFETY: the caller's promise, and they have been made.
            unsafe { part.unmake_all() };
        }
    }

    /// The parts of the run, whose frames begin with `frame`, that have been made.
    fn made(&self, frame: u64) -> impl Iterator<Item = Self> + use<'_, D> {
        let (mut from, end) = (frame, frame + self.len as u64);
        // SAFETY: the slab lives as long as descriptors of it are used.
        let is_late = unsafe { self.slab.as_ref() }.late.is_some();
        core::iter::from_fn(move || {
            while from < end {
                let next = if is_late {
                    ((from >> SECTION_BITS) + 1) << SECTION_BITS
                } else {
                    end
                };
                let (start, next) = (from, next.min(end));
                from = next;
                if is_made::<D>(self.slab(), start) {
                    return Some(self.part(start - frame, next - start));
                }
            }
            None
        })
    }

    /// # Safety
    /// They have been made, and nobody looks at them any more.
    unsafe fn unmake_all(&self) {
        let all = NonNull::slice_from_raw_parts(self.pages, self.len);
        // SAFETY: the caller's promise.
        unsafe { all.drop_in_place() };
    }
}

impl<D: Descriptor> Run<D> {
    /// Says that the descriptors of `frame`'s section have been made, for each live segment.
    pub(super) fn set_made(&self, frame: u64) {
        // SAFETY: the slab lives as long as descriptors of it are used.
        if let Some(late) = unsafe { self.slab.as_ref() }.late {
            late.set_made(frame >> SECTION_BITS);
        }
    }

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
        self.bits.map_or(&[], |bits| {
            // SAFETY: so many words were allocated and written.
            unsafe { core::slice::from_raw_parts(bits.as_ptr(), self.len.div_ceil(64)) }
        })
    }

    fn words_mut(&mut self) -> &mut [u64] {
        self.bits.map_or(&mut [], |bits| {
            // SAFETY: so many words were allocated and written.
            unsafe { core::slice::from_raw_parts_mut(bits.as_ptr(), self.len.div_ceil(64)) }
        })
    }

    /// Whether a segment has the descriptor, as far as there are bits.
    fn is_used(&self, at: usize) -> bool {
        let word = self.words().get(at / 64);
        word.is_none_or(|word| word >> (at % 64) & 1 == 1)
    }

    /// The index of a descriptor.
    fn index_of(&self, page: NonNull<D>) -> usize {
        let offset = page.addr().get() - self.pages.addr().get();
        offset.checked_div(size_of::<D>()).unwrap_or(0)
    }

    /// The first free run of `len` descriptors.
    fn free_run(&self, len: usize) -> Option<usize> {
        if self.bits.is_none() || self.len - self.used < len {
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
            if let Some(word) = self.words_mut().get_mut(at / 64) {
                *word = if used { *word | mask } else { *word & !mask };
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
