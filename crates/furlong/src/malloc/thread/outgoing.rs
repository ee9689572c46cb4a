//! Remote frees that have not been posted yet: blocks of other heaps that this thread has freed, by
//! span and word.
//!
//! There is a place for each unit of an arena, so that spans that are filled at the same time do
//! not evict each other. There are two a unit, since a batch runs on from one word of a span to the
//! next.
#![forbid(unsafe_code)]

use crate::malloc::{Bits, Class, Half, Link, Span, UNITS, Word};
use crate::sync::record;

const PLACES: usize = 2 * UNITS;

/// The most bytes of remote frees that a heap holds back.
pub(crate) const OUTGOING_BYTES_MAX: usize = 256 << 10;

record! {
    /// Blocks of one word of one span; empty without a span.
    #[derive(Debug)]
    pub(crate) struct Place {
        pub(crate) span: Link<Span> = Link::none(),
        pub(crate) word: Word = Word::new(0),
        pub(crate) bits: Bits = Bits::new(0),
    }
    const fn none;
}

record! {
    /// The word of the last sends: what is needed to add another block of it. Blocks that are freed
    /// in the order of their allocation mostly are of the same word. Without a word, `len` is 0.
    #[derive(Debug)]
    struct Open {
        /// Its place among all; that of the last send.
        place: Word = Word::new(0),
        /// The start of its first block, and the bytes of its blocks that have been handed out.
        start: Word = Word::new(0),
        len: Word = Word::new(0),
        /// The size of a block, and its magic number.
        size: Word = Word::new(0),
        magic: Half = Half::new(0),
    }
    const fn none;
}

record! {
    /// The remote frees that a heap has not posted yet.
    #[derive(Debug)]
    pub(crate) struct Outgoing {
        open: Open = Open::none(),
        places: [Place; PLACES] = [const { Place::none() }; PLACES],
        /// The total size of these blocks.
        pub(crate) bytes: Word = Word::new(0),
    }
    /// No blocks.
    pub(crate) const fn new;
}

impl Outgoing {
    /// The place at an index.
    #[inline]
    pub(crate) fn place(&self, index: usize) -> &Place {
        &self.places[index % PLACES]
    }

    /// The index of the place for the blocks of a word of a span.
    #[inline]
    pub(crate) fn index(span: &Span, word: usize) -> usize {
        (span.unit.get() as usize * 2 + word % 2) % PLACES
    }

    /// Notes the word of a send, for [`next`](Self::next), if the send before was of it as well:
    /// blocks that are freed in random order seldom are. `index` is that of its place; `is_there`
    /// is true if blocks of it were there.
    #[inline(always)]
    pub(crate) fn note(&self, span: &Span, word: usize, index: usize, is_there: bool) {
        let open = &self.open;
        if is_there && open.place.get() == index {
            self.open(span, word);
        } else {
            open.place.set(index);
            open.len.set(0);
        }
    }

    /// Notes the word of the last two sends. [`next`](Self::next) finds none of medium blocks,
    /// which have no magic number.
    fn open(&self, span: &Span, word: usize) {
        let (open, first, size) = (&self.open, word * 64, span.class().size());
        open.start.set(span.address_of(first));
        open.magic.set(span.magic.get());
        open.size.set(size);
        let out = usize::from(span.carved.get()).saturating_sub(first).min(64);
        open.len.set(out * size);
    }

    /// The step that adds a block, if it is of the same word as the last one sent. `None` also if
    /// the block is in it already, or if the heap would then hold back too many bytes.
    #[inline(always)]
    pub(crate) fn next(&self, address: usize) -> Option<Step<'_>> {
        let open = &self.open;
        let offset = address.wrapping_sub(open.start.get());
        if offset >= open.len.get() {
            return None;
        }
        let at = Class::block_within(open.magic.get(), offset)?;
        let bytes = self.bytes.get() + open.size.get();
        if bytes >= OUTGOING_BYTES_MAX {
            return None;
        }
        let place = self.place(open.place.get());
        let bits = place.bits.get() | 1 << at;
        let step = Step {
            place,
            bits,
            of: self,
            bytes,
        };
        (bits != place.bits.get()).then_some(step)
    }

    /// All places with blocks.
    pub(crate) fn each(&self) -> impl Iterator<Item = (&'static Span, &Place)> {
        let places = self.places.iter();
        places.filter_map(|place| Some((place.span.get()?, place)))
    }

    /// True if a block is among them. Another thread may call this; it sees an old or a new state.
    pub(crate) fn has(&self, span: &'static Span, block: usize) -> bool {
        let place = self.place(Self::index(span, block / 64));
        let here = place.span.is(span) && place.word.get() == block / 64;
        here && place.bits.get() >> (block % 64) & 1 == 1
    }

    /// No word is open any more: all places are about to be posted.
    pub(crate) fn close(&self) {
        self.open.len.set(0);
    }

    /// Drops everything.
    pub(crate) fn forget(&self) {
        self.close();
        self.places.iter().for_each(|place| place.span.set(None));
        self.bytes.set(0);
    }
}

/// A block that may be added to the open word.
pub(crate) struct Step<'a> {
    place: &'a Place,
    bits: u64,
    of: &'a Outgoing,
    bytes: usize,
}

impl Step<'_> {
    /// Adds it.
    #[inline(always)]
    pub(crate) fn take(self) {
        self.place.bits.set(self.bits);
        self.of.bytes.set(self.bytes);
    }
}
