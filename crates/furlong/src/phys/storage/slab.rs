//! Slabs: arrays of descriptors that segments share.

use core::alloc::Layout;
use core::cell::Cell;
use core::ptr::NonNull;

use super::bits;
use super::by_address::{ByAddress, Links, Placed};
use crate::phys::{Frames, Host, Memory, NoMemory, Pool, Run, SECTION_BITS, Share};
use crate::sync::atomic::{AtomicU64, Ordering};

/// Header of an array of descriptors. It follows them in the same piece of memory. The fields that
/// readers use never change.
pub(crate) struct Slab<D> {
    /// The room is an upper bound for the longest run of free descriptors.
    links: Links<Slab<D>>,
    pub(crate) pages: NonNull<D>,
    /// The number of descriptors.
    len: usize,
    /// The number of descriptors in use by segments.
    pub(crate) used: Cell<usize>,
    /// No descriptor below this index is free.
    low: Cell<usize>,
    pub(crate) state: State,
}

impl<D> Placed for Slab<D> {
    fn links(&self) -> &Links<Self> {
        &self.links
    }
}

/// State of a slab's descriptors.
pub(crate) enum State {
    /// A bit per descriptor, set if a segment uses it; its descriptor has been made then.
    Used(NonNull<[Cell<u64>]>),
    /// The slab was made for one segment. Descriptors that are given back are not used again.
    Late(Late),
}

/// Descriptors that are made section by section, in memory of a host.
pub(crate) struct Late {
    pub(crate) host: Host,
    /// The section of the first bit.
    first: u64,
    /// A bit per section, set if its descriptors have been made.
    made: NonNull<[AtomicU64]>,
}

/// Layout of a slab's piece: offsets of the header and of the words.
pub(super) struct Parts {
    pub(crate) all: Layout,
    slab: usize,
    words: usize,
}

impl<D> Slab<D> {
    /// The layout for `len` descriptors and `words` words of type `W`.
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

    /// Builds a slab in a piece with layout `parts`.
    ///
    /// # Safety
    /// The piece is for parts with `len` descriptors and `words` words of this type, and has no
    /// user.
    unsafe fn build<W>(
        piece: NonNull<u8>,
        parts: &Parts,
        (len, words): (usize, usize),
        word: impl Fn() -> W,
        state: impl FnOnce(NonNull<[W]>) -> State,
    ) -> NonNull<Self> {
        // SAFETY: the words are at this offset of the piece.
        let first = unsafe { piece.add(parts.words) }.cast::<W>();
        for at in 0..words {
            // SAFETY: there are `words` of them.
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
        // SAFETY: the header is at this offset of the piece.
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

    /// The first free run of `len` descriptors; otherwise the length of the longest run as the
    /// error.
    fn free_run(&self, len: usize) -> Result<usize, usize> {
        bits::clear_run(self.used_words(), self.low.get(), self.len, len)
    }

    /// The number of free descriptors that can be taken.
    fn free(&self) -> usize {
        match self.state {
            State::Used(_) => self.len - self.used.get(),
            State::Late(_) => 0,
        }
    }

    /// True if the slab has `from..from + len`, all free.
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

    /// Frees those of `from..from + len` that are in use.
    pub(super) fn give(&self, from: usize, len: usize) {
        let mut used = len;
        if let State::Used(_) = &self.state {
            used = bits::count(self.used_words(), from, len);
            bits::mark(self.used_words(), from, len, false);
        }
        self.used.set(self.used.get() - used);
        self.low.set(self.low.get().min(from));
    }

    /// The host that contains the slab, if its descriptors are made late.
    pub(crate) fn host(&self) -> Option<Host> {
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
        // SAFETY: the words live as long as the slab, which has descriptors of a live segment.
        let words = unsafe { self.made.as_ref() };
        (&words[(at / 64) as usize], 1 << (at % 64))
    }

    fn is_made(&self, section: u64) -> bool {
        let (word, bit) = self.word(section);
        // Acquire: pairs with `late-made`; the descriptors are seen initialised.
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

/// True if the descriptor of `frame` in a slab has been made. `slab` is that of a live segment, as
/// its entry keeps it, or null.
pub(crate) fn is_made<D>(slab: *mut (), frame: u64) -> bool {
    // SAFETY: the slab lives as long as a segment has descriptors in it, and the writer waits for
    // readers that found that segment.
    let slab = unsafe { slab.cast::<Slab<D>>().as_ref() };
    slab.is_some_and(|slab| match &slab.state {
        State::Used(_) => true,
        State::Late(late) => late.is_made(frame >> SECTION_BITS),
    })
}

/// A piece of memory that becomes a slab.
#[must_use = "the slab's memory is leaked"]
pub(crate) struct Blank<D> {
    piece: NonNull<D>,
    parts: Parts,
    room: usize,
    len: usize,
}

impl<D> Blank<D> {
    /// Builds the slab and takes its first places. The caller [adds](Slabs::add) it.
    pub(crate) fn build(self) -> Run<D> {
        let (slab, len) = (self.piece.cast(), self.len);
        let words = (self.room, bits::words_for(self.room));
        // SAFETY: the piece was allocated for it, and has no other user.
        let slab = unsafe { Slab::build(slab, &self.parts, words, || Cell::new(0), State::Used) };
        // SAFETY: the slab was just built.
        unsafe { slab.as_ref() }.take(0, len);
        Run { slab, from: 0, len }
    }
}

/// All slabs.
pub(crate) struct Slabs<D> {
    /// Slabs that may have room for other segments; none in hosts.
    open: ByAddress<Slab<D>>,
    hosted: ByAddress<Slab<D>>,
}

// SAFETY: it owns the slabs.
unsafe impl<D: Send> Send for Slabs<D> {}

impl<D> Slabs<D> {
    pub(crate) const fn new() -> Self {
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

    /// Updates a slab's room: at most `longest`, and at most the number of free descriptors.
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

    /// Frees an unused slab.
    fn remove(&mut self, memory: &mut Memory, slab: NonNull<Slab<D>>) {
        // SAFETY: the slab is ours, and has no other user any more.
        let header = unsafe { slab.as_ref() };
        let host = header.host();
        match host {
            None => self.open.remove(slab),
            Some(_) => self.hosted.remove(slab),
        }
        if let Ok(parts) = header.parts_of() {
            // SAFETY: it was allocated with this layout, none of it is used, and no tree has it.
            unsafe { memory.free(header.pages.cast(), parts.all) };
        }
        if let Some(host) = host {
            memory.leave(host);
        }
    }

    /// The layout of a slab for `len` descriptors, and the number for which it has room.
    fn parts_for(len: u64) -> Result<(Parts, usize), NoMemory> {
        let len = usize::try_from(len).map_err(|_| NoMemory)?;
        let room = len.checked_next_multiple_of(64).ok_or(NoMemory)?;
        let parts = Slab::<D>::parts::<Cell<u64>>(room, bits::words_for(room))?;
        Ok((parts, room))
    }

    /// Contiguous bytes that such a slab may need.
    pub(crate) fn need(len: u64) -> Result<usize, NoMemory> {
        Ok(Pool::need(Self::parts_for(len)?.0.all))
    }

    /// Allocates such a slab.
    pub(crate) fn blank(memory: &mut Memory, len: u64) -> Result<Blank<D>, NoMemory> {
        let (parts, room) = Self::parts_for(len)?;
        Ok(Blank {
            piece: memory.alloc(parts.all)?.cast(),
            parts,
            room,
            len: len as usize,
        })
    }

    /// Adds the slab of a run that was just built.
    pub(crate) fn add(&mut self, run: &Run<D>) {
        self.append(run.slab);
    }

    /// Takes `len` consecutive free descriptors.
    pub(crate) fn take(&mut self, len: u64) -> Option<Run<D>> {
        let len = usize::try_from(len).ok()?;
        while let Some(slab) = self.open.with_room(len) {
            match self.open.at(slab).free_run(len) {
                Ok(from) => return Some(self.take_from(slab, from, len)),
                Err(longest) => self.note_room(slab, longest),
            }
        }
        None
    }

    /// Takes descriptors for `frames` at the distance from `share` that the frames have, if they
    /// are free. One base address then serves both segments.
    pub(crate) fn take_beside(&mut self, share: Share<D>, frames: Frames) -> Option<Run<D>> {
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

    /// The layout of a slab for these frames whose descriptors are made late.
    fn late_parts(frames: Frames) -> Result<(Parts, u64, usize), NoMemory> {
        let first = frames.start >> SECTION_BITS;
        let sections = ((frames.end - 1) >> SECTION_BITS) - first + 1;
        let len = usize::try_from(frames.len()).map_err(|_| NoMemory)?;
        let words = bits::words_for(sections as usize);
        Ok((Slab::<D>::parts::<AtomicU64>(len, words)?, first, words))
    }

    /// Bytes of a slab for these frames whose descriptors are made late.
    pub(crate) fn footprint_late(frames: Frames) -> Option<usize> {
        let (parts, ..) = Self::late_parts(frames).ok()?;
        Pool::footprint(parts.all).checked_add(parts.all.align())
    }

    /// Takes descriptors for `frames` in a slab of their own, in memory of a host. They are made
    /// later, section by section.
    pub(crate) fn take_late(
        &mut self,
        memory: &mut Memory,
        host: Host,
        frames: Frames,
    ) -> Result<Run<D>, NoMemory> {
        let (parts, first, words) = Self::late_parts(frames)?;
        let len = frames.len() as usize;
        let piece = memory.alloc_in(host, parts.all)?;
        let state = |made| State::Late(Late { host, first, made });
        // SAFETY: the piece was just allocated.
        let slab = unsafe { Slab::build(piece, &parts, (len, words), || AtomicU64::new(0), state) };
        self.append(slab);
        Ok(self.take_from(slab, 0, len))
    }

    /// Takes back a run without descriptors. Frees a slab that is unused then.
    ///
    /// # Cost
    /// A bit for each descriptor, 64 at a time; nothing if the slab is freed.
    pub(crate) fn give_back(&mut self, memory: &mut Memory, run: Run<D>) {
        let Run { slab, from, len } = run;
        let header = self.open.at(slab);
        if header.used.get() == len {
            self.remove(memory, slab);
            return;
        }
        header.give(from, len);
        self.note_room(slab, usize::MAX);
    }

    /// Updates the room of the run's slab after places were [skipped](Run::skip).
    pub(crate) fn note_skipped(&mut self, run: &Run<D>) {
        self.note_room(run.slab, usize::MAX);
    }

    /// True if a share lies in one of the slabs and is marked used there.
    pub(crate) fn has(&self, share: &Share<D>) -> bool {
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

    /// The number of used descriptors: by the slabs' counters, and by their bits.
    pub(crate) fn used(&self) -> (u64, u64) {
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
    pub(crate) fn run_of(share: &Share<D>) -> Run<D> {
        Run {
            slab: share.slab,
            from: share.header().index_of(share.pages),
            len: share.frames.len() as usize,
        }
    }
}
