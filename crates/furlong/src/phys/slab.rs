//! Slabs: arrays of descriptors that segments share.

use core::alloc::Layout;
use core::cell::Cell;
use core::ptr::NonNull;

use super::bits;
use super::by_address::{ByAddress, Links, Placed};
use super::direct::geometry::SECTION_BITS;
use super::error::NoMemory;
use super::making::Run;
use super::memory::{Host, Memory};
use super::pages::Share;
use super::segment::Frames;
use crate::sync::atomic::{AtomicU64, Ordering};

/// An array of descriptors. It stands behind them in the same piece of memory, and what readers
/// look at of it never changes.
pub(super) struct Slab<D> {
    /// No run of free descriptors is longer than its room.
    links: Links<Slab<D>>,
    pub(super) pages: NonNull<D>,
    /// Descriptors.
    len: usize,
    /// Those that a segment has.
    pub(super) used: Cell<usize>,
    /// None of those below it are free.
    low: Cell<usize>,
    pub(super) state: State,
}

impl<D> Placed for Slab<D> {
    fn links(&self) -> &Links<Self> {
        &self.links
    }
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
            links: Links::new(0),
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

    /// The first free run of `len` descriptors, or how long the longest one is.
    fn free_run(&self, len: usize) -> Result<usize, usize> {
        bits::clear_run(self.used_words(), self.low.get(), self.len, len)
    }

    /// Free descriptors that can be taken.
    fn free(&self) -> usize {
        match self.state {
            State::Used(_) => self.len - self.used.get(),
            State::Late(_) => 0,
        }
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

    /// The host that it lies in, where its descriptors are made late.
    pub(super) fn host(&self) -> Option<Host> {
        match &self.state {
            State::Used(_) => None,
            State::Late(late) => Some(late.host),
        }
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

/// A piece of memory that becomes a slab.
#[must_use = "its memory is not given back"]
pub(super) struct Blank<D> {
    piece: NonNull<D>,
    parts: Parts,
    room: usize,
    len: usize,
}

impl<D> Blank<D> {
    /// The slab, of which the first places are taken. It is to be [added](Slabs::add).
    pub(super) fn build(self) -> Run<D> {
        let (slab, len) = (self.piece.cast(), self.len);
        let words = (self.room, bits::words_for(self.room));
        // SAFETY: the piece was allocated for it, and is nobody else's.
        let slab = unsafe { Slab::build(slab, &self.parts, words, || Cell::new(0), State::Used) };
        // SAFETY: just built.
        unsafe { slab.as_ref() }.take(0, len);
        Run { slab, from: 0, len }
    }
}

/// All slabs.
pub(super) struct Slabs<D> {
    /// Those that may have room for others: no host's.
    open: ByAddress<Slab<D>>,
    hosted: ByAddress<Slab<D>>,
}

// SAFETY: it owns the slabs.
unsafe impl<D: Send> Send for Slabs<D> {}

impl<D> Slabs<D> {
    pub(super) const fn new() -> Self {
        let (open, hosted) = (ByAddress::new(), ByAddress::new());
        Self { open, hosted }
    }

    fn tree(&self, slab: &Slab<D>) -> &ByAddress<Slab<D>> {
        match slab.state {
            State::Used(_) => &self.open,
            State::Late(_) => &self.hosted,
        }
    }

    fn append(&mut self, slab: NonNull<Slab<D>>) {
        let all = match self.open.at(slab).state {
            State::Used(_) => &mut self.open,
            State::Late(_) => &mut self.hosted,
        };
        // SAFETY: the slab stays in its piece until it is removed.
        unsafe { all.insert(slab) };
        self.note_room(slab, usize::MAX);
    }

    /// No run of a slab is longer than `longest`, and none than all that is free.
    fn note_room(&mut self, slab: NonNull<Slab<D>>, longest: usize) {
        let header = self.open.at(slab);
        let room = header.free().min(longest);
        if room != header.links.room() {
            self.open.set_room(slab, room);
        }
    }

    fn take_from(&mut self, slab: NonNull<Slab<D>>, from: usize, len: usize) -> Run<D> {
        let header = self.open.at(slab);
        header.take(from, len);
        let room = header.links.room();
        self.note_room(slab, room);
        Run { slab, from, len }
    }

    /// Gives a slab back of which nothing is used.
    fn remove(&mut self, memory: &mut Memory, slab: NonNull<Slab<D>>) {
        // SAFETY: the slab is ours, and nobody else knows it any more.
        let header = unsafe { slab.as_ref() };
        let host = header.host();
        match host {
            None => self.open.remove(slab),
            Some(_) => self.hosted.remove(slab),
        }
        if let Ok(parts) = header.parts_of() {
            // SAFETY: allocated so, none of it is used, and no list has it.
            unsafe { memory.free(header.pages.cast(), parts.all) };
        }
        if let Some(host) = host {
            memory.leave(host);
        }
    }

    /// The parts of a slab with so many descriptors, and how many it has room for.
    fn parts_for(len: u64) -> Result<(Parts, usize), NoMemory> {
        let len = usize::try_from(len).map_err(|_| NoMemory)?;
        let room = len.checked_next_multiple_of(64).ok_or(NoMemory)?;
        let parts = Slab::<D>::parts::<Cell<u64>>(room, bits::words_for(room))?;
        Ok((parts, room))
    }

    /// Bytes in a row that such a slab may need.
    pub(super) fn need(len: u64) -> Result<usize, NoMemory> {
        Ok(Memory::need(Self::parts_for(len)?.0.all))
    }

    /// Memory for such a slab.
    pub(super) fn blank(memory: &mut Memory, len: u64) -> Result<Blank<D>, NoMemory> {
        let (parts, room) = Self::parts_for(len)?;
        Ok(Blank {
            piece: memory.alloc(parts.all)?.cast(),
            parts,
            room,
            len: len as usize,
        })
    }

    /// Adds the slab of a run that was just built.
    pub(super) fn add(&mut self, run: &Run<D>) {
        self.append(run.slab);
    }

    /// `len` descriptors in a row that are free.
    pub(super) fn take(&mut self, len: u64) -> Option<Run<D>> {
        let len = usize::try_from(len).ok()?;
        while let Some(slab) = self.open.with_room(len) {
            match self.open.at(slab).free_run(len) {
                Ok(from) => return Some(self.take_from(slab, from, len)),
                Err(longest) => self.note_room(slab, longest),
            }
        }
        None
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
        Some(self.take_from(slab, from, len))
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
        Ok(self.take_from(slab, 0, len))
    }

    /// Takes a run back in which there are no descriptors. A slab of which nothing is used goes.
    ///
    /// # Cost
    /// A bit for each descriptor, 64 at a time, and none where the slab goes.
    pub(super) fn give_back(&mut self, memory: &mut Memory, run: Run<D>) {
        let Run { slab, from, len } = run;
        let header = self.open.at(slab);
        if header.used.get() == len {
            self.remove(memory, slab);
            return;
        }
        header.give(from, len);
        self.note_room(slab, usize::MAX);
    }

    /// Some places of a run were [skipped](Run::skip).
    pub(super) fn note_skipped(&mut self, run: &Run<D>) {
        self.note_room(run.slab, usize::MAX);
    }

    /// Whether a share lies in one of the slabs and is marked as used there.
    pub(super) fn has(&self, share: &Share<D>) -> bool {
        let slab = share.slab;
        let header = share.header();
        if self.tree(header).around(slab.addr().get())[0] != Some(slab) {
            return false;
        }
        let (from, len) = (header.index_of(share.pages), share.frames.len() as usize);
        let is_inside = from.checked_add(len).is_some_and(|end| end <= header.len);
        let words = header.used_words();
        is_inside && (words.is_empty() || bits::count(words, from, len) == len)
    }

    /// Descriptors that segments have, as the slabs count them, and as their bits do.
    pub(super) fn used(&self) -> (u64, u64) {
        let all = self.open.iter().chain(self.hosted.iter());
        all.fold((0, 0), |(used, marked), slab| {
            let slab = self.open.at(slab);
            let counted = slab.used.get();
            let bits = match &slab.state {
                State::Used(_) => bits::count(slab.used_words(), 0, slab.len),
                State::Late(_) => counted,
            };
            (used + counted as u64, marked + bits as u64)
        })
    }

    /// The places of a share.
    pub(super) fn run_of(share: &Share<D>) -> Run<D> {
        Run {
            slab: share.slab,
            from: share.header().index_of(share.pages),
            len: share.frames.len() as usize,
        }
    }
}
