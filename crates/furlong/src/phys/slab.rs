//! Slabs: arrays of descriptors that segments share.

use core::alloc::Layout;
use core::cell::Cell;
use core::ptr::NonNull;

use super::bits;
use super::direct::geometry::SECTION_BITS;
use super::entry::Entries;
use super::error::NoMemory;
use super::making::Run;
use super::memory::{Host, Memory};
use super::pages::Share;
use super::segment::Frames;
use crate::sync::atomic::{AtomicU64, Ordering};

/// An array of descriptors. It stands behind them in the same piece of memory, and what readers
/// look at of it never changes.
pub(super) struct Slab<D> {
    next: Cell<Option<NonNull<Slab<D>>>>,
    before: Cell<Option<NonNull<Slab<D>>>>,
    pub(super) pages: NonNull<D>,
    /// Descriptors.
    len: usize,
    /// Those that a segment has.
    pub(super) used: Cell<usize>,
    /// None of those below it are free.
    low: Cell<usize>,
    pub(super) state: State,
}

/// What is known of a slab's descriptors.
pub(super) enum State {
    /// A bit a descriptor: whether a segment has it, and it has been made.
    Used(NonNull<[Cell<u64>]>),
    /// All of it was one segment's, and what is given back is not used again.
    Late(Late),
}

/// Descriptors that are made section by section, in memory of a host.
pub(super) struct Late {
    pub(super) host: Host,
    /// The section of the first bit.
    first: u64,
    /// A bit a section: whether its descriptors have been made.
    made: NonNull<[AtomicU64]>,
}

/// Where the parts of a slab stand in its piece.
pub(super) struct Parts {
    pub(super) all: Layout,
    slab: usize,
    words: usize,
}

impl<D> Slab<D> {
    /// Of a slab with so many descriptors, and words of this type.
    fn parts<W>(len: usize, words: usize) -> Result<Parts, NoMemory> {
        const { assert!(size_of::<D>() > 0, "a descriptor has an address of its own") };
        let parts = || {
            let pages = Layout::array::<D>(len)?.align_to(64)?;
            let (head, slab) = pages.extend(Layout::new::<Self>())?;
            let (all, words) = head.extend(Layout::array::<W>(words)?)?;
            Ok(Parts { all, slab, words })
        };
        parts().map_err(|_: core::alloc::LayoutError| NoMemory)
    }

    pub(super) fn parts_of(&self) -> Result<Parts, NoMemory> {
        match &self.state {
            State::Used(words) => Self::parts::<Cell<u64>>(self.len, words.len()),
            State::Late(late) => Self::parts::<AtomicU64>(self.len, late.made.len()),
        }
    }

    /// Puts a slab together in a piece for `parts`.
    ///
    /// # Safety
    /// The piece is for parts with so many descriptors and words of this type, and is nobody's.
    unsafe fn build<W>(
        piece: NonNull<u8>,
        parts: &Parts,
        (len, words): (usize, usize),
        word: impl Fn() -> W,
        state: impl FnOnce(NonNull<[W]>) -> State,
    ) -> NonNull<Self> {
        // SAFETY: the words stand there in the piece.
        let first = unsafe { piece.add(parts.words) }.cast::<W>();
        for at in 0..words {
            // SAFETY: there are so many.
            let place = unsafe { first.add(at) };
            // SAFETY: the piece is ours.
            unsafe { place.write(word()) };
        }
        let header = Self {
            next: Cell::new(None),
            before: Cell::new(None),
            pages: piece.cast(),
            len,
            used: Cell::new(0),
            low: Cell::new(0),
            state: state(NonNull::slice_from_raw_parts(first, words)),
        };
        // SAFETY: the header stands there in the piece.
        let slab = unsafe { piece.add(parts.slab) }.cast::<Self>();
        // SAFETY: the piece is ours.
        unsafe { slab.write(header) };
        slab
    }

    pub(super) fn used_words(&self) -> &[Cell<u64>] {
        match &self.state {
            // SAFETY: they live as long as the slab, and only its owner has them.
            State::Used(words) => unsafe { words.as_ref() },
            State::Late(_) => &[],
        }
    }

    /// The first free run of `len` descriptors.
    fn free_run(&self, len: usize) -> Option<usize> {
        if self.len - self.used.get() < len || matches!(self.state, State::Late(_)) {
            return None;
        }
        bits::clear_run(self.used_words(), self.low.get(), self.len, len)
    }

    /// Whether `from..from + len` are there, and nobody's.
    fn is_free(&self, from: usize, len: usize) -> bool {
        let is_inside = from.checked_add(len).is_some_and(|end| end <= self.len);
        let has_bits = matches!(self.state, State::Used(_));
        has_bits && is_inside && bits::count(self.used_words(), from, len) == 0
    }

    fn take(&self, from: usize, len: usize) {
        if let State::Used(_) = &self.state {
            bits::mark(self.used_words(), from, len, true);
        }
        self.used.set(self.used.get() + len);
        if self.low.get() == from {
            self.low.set(from + len);
        }
    }

    /// Those of `from..from + len` that were used are free.
    pub(super) fn give(&self, from: usize, len: usize) {
        let mut used = len;
        if let State::Used(_) = &self.state {
            used = bits::count(self.used_words(), from, len);
            bits::mark(self.used_words(), from, len, false);
        }
        self.used.set(self.used.get() - used);
        self.low.set(self.low.get().min(from));
    }

    /// The index of a descriptor.
    fn index_of(&self, page: NonNull<D>) -> usize {
        let offset = page.addr().get().wrapping_sub(self.pages.addr().get());
        offset / size_of::<D>()
    }
}

impl Late {
    fn word(&self, section: u64) -> (&AtomicU64, u64) {
        let at = section - self.first;
        // SAFETY: they live as long as the slab, which has descriptors of a live segment.
        let words = unsafe { self.made.as_ref() };
        (&words[(at / 64) as usize], 1 << (at % 64))
    }

    fn is_made(&self, section: u64) -> bool {
        let (word, bit) = self.word(section);
        // Acquire: pairs with `late-made`; the descriptors are seen as they were made.
        word.load(Ordering::Acquire) & bit != 0
    }

    pub(super) fn set_made(&self, section: u64) {
        let (word, bit) = self.word(section);
        // Relaxed: the writer's own word.
        let before = word.load(Ordering::Relaxed);
        // Release, `late-made`: pairs with the load in `is_made`.
        word.store(before | bit, Ordering::Release);
    }
}

/// Whether the descriptor of `frame` in a slab has been made; `slab` is that of a live segment, as
/// its entry keeps it, or null.
pub(super) fn is_made<D>(slab: *mut (), frame: u64) -> bool {
    // SAFETY: the slab lives as long as a segment has descriptors in it, and readers that found
    // that segment are waited for.
    let slab = unsafe { slab.cast::<Slab<D>>().as_ref() };
    slab.is_some_and(|slab| match &slab.state {
        State::Used(_) => true,
        State::Late(late) => late.is_made(frame >> SECTION_BITS),
    })
}

/// All slabs, the oldest first.
pub(super) struct Slabs<D> {
    first: Option<NonNull<Slab<D>>>,
    last: Option<NonNull<Slab<D>>>,
}

// SAFETY: it owns the slabs.
unsafe impl<D: Send> Send for Slabs<D> {}

impl<D> Slabs<D> {
    pub(super) const fn new() -> Self {
        let (first, last) = (None, None);
        Self { first, last }
    }

    fn iter(&self) -> impl Iterator<Item = NonNull<Slab<D>>> + use<D> {
        // SAFETY: slabs in the list are ours.
        core::iter::successors(self.first, |at| unsafe { at.as_ref() }.next.get())
    }

    fn append(&mut self, slab: NonNull<Slab<D>>) {
        let before = self.last.replace(slab);
        // SAFETY: slabs in the list are ours.
        unsafe { slab.as_ref() }.before.set(before);
        match before {
            // SAFETY: as above.
            Some(before) => unsafe { before.as_ref() }.next.set(Some(slab)),
            None => self.first = Some(slab),
        }
    }

    /// Gives a slab back of which nothing is used.
    fn remove(&mut self, memory: &mut Memory, slab: NonNull<Slab<D>>) {
        // SAFETY: slabs in the list are ours.
        let header = unsafe { slab.as_ref() };
        let (before, next) = (header.before.get(), header.next.get());
        match before {
            // SAFETY: as above.
            Some(before) => unsafe { before.as_ref() }.next.set(next),
            None => self.first = next,
        }
        match next {
            // SAFETY: as above.
            Some(next) => unsafe { next.as_ref() }.before.set(before),
            None => self.last = before,
        }
        let host = match &header.state {
            State::Used(_) => None,
            State::Late(late) => Some(late.host),
        };
        if let Ok(parts) = header.parts_of() {
            // SAFETY: allocated so, none of it is used, and no list has it.
            unsafe { memory.free(header.pages.cast(), parts.all) };
        }
        if let Some(host) = host {
            memory.leave(host);
        }
    }

    /// `len` descriptors in a row: free ones of the slabs that there are, oldest first, or of a new
    /// slab.
    pub(super) fn take(&mut self, memory: &mut Memory, len: u64) -> Result<Run<D>, NoMemory> {
        let len = usize::try_from(len).map_err(|_| NoMemory)?;
        if let Some(run) = self.scavenge(len) {
            return Ok(run);
        }
        let room = len.checked_next_multiple_of(64).ok_or(NoMemory)?;
        let words = bits::words_for(room);
        let parts = Slab::<D>::parts::<Cell<u64>>(room, words)?;
        let piece = memory.alloc(parts.all)?;
        // SAFETY: just allocated.
        let slab =
            unsafe { Slab::build(piece, &parts, (room, words), || Cell::new(0), State::Used) };
        self.append(slab);
        self.scavenge(len).ok_or(NoMemory)
    }

    /// Descriptors for `frames` where those of a segment with this share would go on to, if they
    /// are free: one address then serves both segments.
    pub(super) fn take_beside(&mut self, share: Share<D>, frames: Frames) -> Option<Run<D>> {
        let (header, slab) = (share.header(), share.slab);
        let first = header.index_of(share.pages) as u64;
        let from = (first + frames.start).checked_sub(share.frames.start)?;
        let (from, len) = (
            usize::try_from(from).ok()?,
            usize::try_from(frames.len()).ok()?,
        );
        if !header.is_free(from, len) {
            return None;
        }
        header.take(from, len);
        Some(Run { slab, from, len })
    }

    fn scavenge(&mut self, len: usize) -> Option<Run<D>> {
        self.iter().find_map(|slab| {
            // SAFETY: slabs in the list are ours.
            let header = unsafe { slab.as_ref() };
            let from = header.free_run(len)?;
            header.take(from, len);
            Some(Run { slab, from, len })
        })
    }

    /// Of a slab for these frames whose descriptors are made late.
    fn late_parts(frames: Frames) -> Result<(Parts, u64, usize), NoMemory> {
        let first = frames.start >> SECTION_BITS;
        let sections = ((frames.end - 1) >> SECTION_BITS) - first + 1;
        let len = usize::try_from(frames.len()).map_err(|_| NoMemory)?;
        let words = bits::words_for(sections as usize);
        Ok((Slab::<D>::parts::<AtomicU64>(len, words)?, first, words))
    }

    /// Bytes that descriptors of frames take which are made late, and what is kept about them.
    pub(super) fn footprint_late(frames: Frames) -> Option<usize> {
        let (parts, ..) = Self::late_parts(frames).ok()?;
        Memory::footprint(parts.all).checked_add(parts.all.align())
    }

    /// Descriptors for `frames` in a slab of their own, in memory of a host, to be made section by
    /// section.
    pub(super) fn take_late(
        &mut self,
        memory: &mut Memory,
        host: Host,
        frames: Frames,
    ) -> Result<Run<D>, NoMemory> {
        let (parts, first, words) = Self::late_parts(frames)?;
        let len = frames.len() as usize;
        let piece = memory.alloc_in(host, parts.all)?;
        let state = |made| State::Late(Late { host, first, made });
        // SAFETY: just allocated.
        let slab = unsafe { Slab::build(piece, &parts, (len, words), || AtomicU64::new(0), state) };
        self.append(slab);
        // SAFETY: just built.
        unsafe { slab.as_ref() }.take(0, len);
        Ok(Run { slab, from: 0, len })
    }

    /// Takes a run back whose descriptors were not made. A slab of which nothing is used goes.
    pub(super) fn give_back(&mut self, memory: &mut Memory, run: Run<D>) {
        let slab = run.slab;
        drop(run);
        self.remove_unused(memory, slab);
    }

    fn remove_unused(&mut self, memory: &mut Memory, slab: NonNull<Slab<D>>) {
        // SAFETY: slabs in the list are ours.
        if unsafe { slab.as_ref() }.used.get() == 0 {
            self.remove(memory, slab);
        }
    }

    /// Gives back all slabs of which nothing is used, as there may be after a panic.
    pub(super) fn collect(&mut self, memory: &mut Memory) {
        let mut next = self.first;
        while let Some(slab) = next {
            // SAFETY: slabs in the list are ours.
            next = unsafe { slab.as_ref() }.next.get();
            self.remove_unused(memory, slab);
        }
    }

    /// Whether a share lies in one of the slabs and is marked as used there.
    pub(super) fn has(&self, share: &Share<D>) -> bool {
        self.iter().any(|slab| {
            // SAFETY: slabs in the list are ours.
            let header = unsafe { slab.as_ref() };
            let (from, len) = (header.index_of(share.pages), share.frames.len() as usize);
            let is_inside = from.checked_add(len).is_some_and(|end| end <= header.len);
            let words = header.used_words();
            let is_used = || words.is_empty() || bits::count(words, from, len) == len;
            slab == share.slab && is_inside && is_used()
        })
    }

    /// Descriptors that segments have, as the slabs count them, and as their bits do.
    pub(super) fn used(&self) -> (u64, u64) {
        self.iter().fold((0, 0), |(used, marked), slab| {
            // SAFETY: slabs in the list are ours.
            let slab = unsafe { slab.as_ref() };
            let counted = slab.used.get();
            let bits = match &slab.state {
                State::Used(_) => bits::count(slab.used_words(), 0, slab.len),
                State::Late(_) => counted,
            };
            (used + counted as u64, marked + bits as u64)
        })
    }

    /// The first frame of a segment's share whose descriptor has been made and is as `wanted`.
    pub(super) fn find(&self, share: Share<D>, wanted: impl Fn(&D) -> bool) -> Option<u64> {
        debug_assert!(self.has(&share), "a share of one of the slabs");
        share.made().find_map(|part| {
            // SAFETY: they have been made, and are not dropped while the slabs are borrowed.
            let pages = unsafe { part.as_slice().as_ref() };
            let at = pages.iter().position(&wanted)?;
            Some(part.frames.start + at as u64)
        })
    }

    /// Drops the descriptors of a share as far as they have been made; their places are free, and a
    /// slab of which nothing is used goes.
    ///
    /// # Safety
    /// Nobody looks at them any more, and no segment keeps the share.
    pub(super) unsafe fn unmake(&mut self, memory: &mut Memory, share: Share<D>) {
        let (from, len) = (
            share.header().index_of(share.pages),
            share.frames.len() as usize,
        );
        // What frees the places even if a drop panics.
        let run = Run {
            slab: share.slab,
            from,
            len,
        };
        for part in share.made() {
            // SAFETY: they have been made; the caller's promise.
            unsafe { part.as_slice().drop_in_place() };
        }
        self.give_back(memory, run);
    }

    /// Drops the descriptors of all segments, which these are in order.
    pub(super) fn unmake_all<const N: usize>(
        &mut self,
        memory: &mut Memory,
        entries: &mut Entries<D, N>,
        order: &[u32],
    ) {
        let all = entries.all();
        for index in order {
            let entry = all.get(*index);
            if let Some(share) = entry.share() {
                entry.forget_pages();
                // SAFETY: whoever looks at a descriptor borrows the entries, which are mutably
                // borrowed here.
                unsafe { self.unmake(memory, share) };
            }
        }
    }
}
