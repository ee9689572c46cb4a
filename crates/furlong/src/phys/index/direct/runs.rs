//! Runs: the segments to which the frames of a block belong, in one word.
//!
//! The word is packed if no octet of frames has two segments and all indices are close together. It
//! then has the lowest index, the offset of each octet's index from it, and a tag. Otherwise the
//! word is a tagged pointer to a piece of memory that never changes. The piece has a bit for each
//! frame at which a segment begins, and the segments' indices in order.

use core::alloc::Layout;
use core::ptr::NonNull;

use crate::phys::{BLOCK_FRAMES, Frames, Memory, NoMemory, Pool};

/// The first word of a piece: a bit for each frame at which a segment begins. Indices follow.
pub(super) struct Starts(u64);

const TAGS: usize = 0b11;
/// A pointer: indices of 16 bits follow the starts.
const SHORT: usize = 0b00;
/// Not a pointer: tag, lowest index, and for each octet a 4-bit offset to add.
const INLINE: usize = 0b01;
/// A pointer: indices of 32 bits follow the starts.
const LONG: usize = 0b10;
/// A pointer: indices of 32 bits follow the starts, in a piece with room for 64 of them.
const SPARE: usize = 0b11;

/// The word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Runs(pub(super) *mut Starts);

/// Frames that share one offset in a packed word.
const OCTET: u64 = 8;
const OCTETS: usize = (BLOCK_FRAMES / OCTET) as usize;
/// Position of the lowest index in a packed word, and the first index that does not fit.
const LEAST_SHIFT: u32 = 2;
const LEAST_END: u32 = 1 << 30;
/// Position of the octets' offsets in a packed word, and the bits of each.
const RANKS_SHIFT: u32 = 32;
const RANK_BITS: u32 = 4;
const RANK_END: u32 = 1 << RANK_BITS;

/// The contents for a word: segments by their first frame in the block.
pub(super) struct List {
    starts: u64,
    indices: [u32; BLOCK_FRAMES as usize],
    len: usize,
    /// The segment of each octet that has one.
    octets: [Option<u32>; OCTETS],
    /// True if an octet has two segments.
    is_crowded: bool,
}

impl List {
    pub(super) const fn new() -> Self {
        Self {
            starts: 0,
            indices: [0; BLOCK_FRAMES as usize],
            len: 0,
            octets: [None; OCTETS],
            is_crowded: false,
        }
    }

    /// Adds the segment at `index`, which has these frames of the block, counted from its first.
    pub(super) fn push(&mut self, frames: Frames, index: u32) {
        self.starts |= 1 << frames.start;
        self.indices[self.len] = index;
        self.len += 1;
        for octet in frames.start / OCTET..frames.end.div_ceil(OCTET) {
            let before = self.octets[octet as usize].replace(index);
            self.is_crowded |= before.is_some();
        }
    }

    fn indices(&self) -> &[u32] {
        &self.indices[..self.len]
    }

    /// The packed word, if everything fits.
    fn inline(&self) -> Option<usize> {
        let least = *self.indices().iter().min()?;
        let rank = |index: u32| index - least;
        let fits = |index: &u32| rank(*index) < RANK_END;
        if self.is_crowded || least >= LEAST_END || !self.indices().iter().all(fits) {
            return None;
        }
        let mut word = u64::from(least) << LEAST_SHIFT | INLINE as u64;
        for (octet, index) in self.octets.iter().enumerate() {
            let rank = u64::from(index.map_or(0, rank));
            word |= rank << (RANKS_SHIFT + RANK_BITS * octet as u32);
        }
        usize::try_from(word).ok()
    }
}

/// A spare piece: the starts and 64 indices of 32 bits.
pub(super) const SPARE_LAYOUT: Layout =
    match Layout::from_size_align(8 + 4 * BLOCK_FRAMES as usize, 8) {
        Ok(layout) => layout,
        Err(_) => panic!("the layout is small"),
    };

impl Runs {
    /// No segments. The word yields the entry at 0, so that a lookup of a hole runs like any other.
    pub(super) const NONE: Self = Self(core::ptr::without_provenance_mut(INLINE));

    fn tag(self) -> usize {
        self.0.addr() & TAGS
    }

    fn starts(self) -> *mut Starts {
        self.0.map_addr(|addr| addr & !TAGS)
    }

    fn is_piece(self) -> bool {
        self.tag() != INLINE
    }

    /// The segment of the frame at `at` in the block, if its valid bit is set; otherwise one that
    /// was there before, or the entry at 0.
    #[inline(always)]
    pub(super) fn segment(self, at: u64, seen: impl FnMut()) -> u32 {
        if self.tag() != INLINE {
            return self.segment_in_piece(at, seen);
        }
        let word = self.0.addr() as u64;
        let rank = word >> (u64::from(RANKS_SHIFT) + at / OCTET * u64::from(RANK_BITS));
        (word as u32 >> LEAST_SHIFT) + (rank as u32 % RANK_END)
    }

    #[inline(never)]
    fn segment_in_piece(self, at: u64, mut seen: impl FnMut()) -> u32 {
        seen();
        // SAFETY: the tag says that the word leads to a piece. The writer publishes a complete
        // piece, never changes it, and frees it after a grace period.
        let starts = unsafe { (*self.starts()).0 };
        let mask = starts & (u64::MAX >> (BLOCK_FRAMES - 1 - at));
        self.index((mask.count_ones() as usize).saturating_sub(1))
    }

    /// The index at a position of a piece.
    #[inline]
    fn index(self, position: usize) -> u32 {
        // SAFETY: the indices follow the starts in the same piece.
        let indices = unsafe { self.starts().add(1) };
        if self.tag() == SHORT {
            // SAFETY: there are as many as there are starts, of 16 bits, as the tag says.
            let place = unsafe { indices.cast::<u16>().add(position) };
            // SAFETY: as above; they never change.
            u32::from(unsafe { place.read() })
        } else {
            // SAFETY: there are as many as there are starts, of 32 bits, as the tag says.
            let place = unsafe { indices.cast::<u32>().add(position) };
            // SAFETY: as above; they never change.
            unsafe { place.read() }
        }
    }

    /// The piece and its layout, if there is one.
    pub(super) fn piece(self) -> Option<(NonNull<u8>, Layout)> {
        if !self.is_piece() {
            return None;
        }
        let start = NonNull::new(self.starts())?;
        // SAFETY: as in `segment_in_piece`; or the caller is its only user.
        let len = unsafe { start.as_ref() }.0.count_ones() as usize;
        let layout = match self.tag() {
            SHORT => Self::layout(len, 2),
            LONG => Self::layout(len, 4),
            _ => Some(SPARE_LAYOUT),
        };
        Some((start.cast(), layout?))
    }

    fn layout(len: usize, width: usize) -> Option<Layout> {
        Layout::from_size_align(8 + width * len, 8).ok()
    }

    /// Bytes of the piece.
    pub(super) fn bytes(self) -> usize {
        self.piece()
            .map_or(0, |(_, layout)| Pool::footprint(layout))
    }

    /// True if the word says the same as the list.
    pub(super) fn says(self, list: &List) -> bool {
        if list.len == 0 {
            return self == Self::NONE;
        }
        if let Some(word) = list.inline() {
            return self.0.addr() == word;
        }
        if !self.is_piece() {
            return false;
        }
        // SAFETY: as in `segment_in_piece`; the writer calls this for a word that it has published.
        let starts = unsafe { (*self.starts()).0 };
        let same = |(position, index): (usize, &u32)| self.index(position) == *index;
        starts == list.starts && list.indices().iter().enumerate().all(same)
    }

    /// Encodes a list. A piece comes from memory, or else from the spares.
    pub(super) fn new(list: &List, memory: &mut Memory, spares: &mut Spares) -> Self {
        if list.len == 0 {
            return Self::NONE;
        }
        if let Some(word) = list.inline() {
            return Self(core::ptr::without_provenance_mut(word));
        }
        let is_short = list
            .indices()
            .iter()
            .all(|index| u16::try_from(*index).is_ok());
        let (tag, width) = if is_short { (SHORT, 2) } else { (LONG, 4) };
        let layout = Self::layout(list.len, width);
        let exact = layout.and_then(|layout| memory.alloc(layout).ok());
        let (piece, tag) = match exact {
            Some(piece) => (piece, tag),
            None => (spares.take(), SPARE),
        };
        let starts = piece.cast::<Starts>();
        // SAFETY: the piece is ours, with room for the starts.
        unsafe { starts.write(Starts(list.starts)) };
        // SAFETY: as above.
        let indices = unsafe { starts.add(1) };
        for (position, index) in list.indices().iter().enumerate() {
            if tag == SHORT {
                // SAFETY: the layout has room for this number of indices of 16 bits.
                let place = unsafe { indices.cast::<u16>().add(position) };
                // SAFETY: as above, and the piece is ours.
                unsafe { place.write(*index as u16) };
            } else {
                // SAFETY: the layout has room for this number of indices of 32 bits.
                let place = unsafe { indices.cast::<u32>().add(position) };
                // SAFETY: as above, and the piece is ours.
                unsafe { place.write(*index) };
            }
        }
        Self(starts.as_ptr().map_addr(|addr| addr | tag))
    }
}

/// Pieces of the largest size, allocated before a change that must not fail.
pub(super) struct Spares {
    first: Option<NonNull<Spare>>,
    pub(super) len: usize,
}

struct Spare {
    next: Option<NonNull<Spare>>,
}

// SAFETY: it owns the pieces.
unsafe impl Send for Spares {}

impl Spares {
    pub(super) const fn new() -> Self {
        Self {
            first: None,
            len: 0,
        }
    }

    /// Bytes that `count` spares take, and a few smaller pieces.
    pub(super) fn footprint(count: usize) -> usize {
        Pool::small_footprint(SPARE_LAYOUT, count) + 8 * Pool::small_footprint(SPARE_LAYOUT, 1)
    }

    /// Allocates spares until there are at least `wanted`.
    pub(super) fn fill(&mut self, memory: &mut Memory, wanted: usize) -> Result<(), NoMemory> {
        while self.len < wanted {
            let piece = memory.alloc(SPARE_LAYOUT)?.cast::<Spare>();
            // SAFETY: the piece is ours, with room for a link.
            unsafe { piece.write(Spare { next: self.first }) };
            self.first = Some(piece);
            self.len += 1;
        }
        Ok(())
    }

    /// Frees all but `left` spares.
    pub(super) fn trim(&mut self, memory: &mut Memory, left: usize) {
        while self.len > left {
            let piece = self.take();
            // SAFETY: it was allocated in `fill`.
            unsafe { memory.free(piece, SPARE_LAYOUT) };
        }
    }

    pub(super) fn take(&mut self) -> NonNull<u8> {
        let piece = self
            .first
            .expect("as many were prepared as a change can need");
        // SAFETY: pieces in the list are ours.
        self.first = unsafe { piece.as_ref() }.next;
        self.len -= 1;
        piece.cast()
    }
}
