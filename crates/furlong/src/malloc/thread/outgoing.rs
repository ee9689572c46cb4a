//! Remote frees that have not been posted yet: blocks of other heaps that this thread has freed, by
//! span and word.
//!
//! There is a place for each unit of an arena, so that spans that are filled at the same time do
//! not evict each other. There are two a unit, since a batch runs on from one word of a span to the
//! next.
#![forbid(unsafe_code)]

use crate::malloc::{Bits, Link, Span, UNITS, Word};
use crate::sync::record;

const PLACES: usize = 2 * UNITS;

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
    /// The remote frees that a heap has not posted yet.
    #[derive(Debug)]
    pub(crate) struct Outgoing {
        places: [Place; PLACES] = [const { Place::none() }; PLACES],
        /// The total size of these blocks.
        pub(crate) bytes: Word = Word::new(0),
    }
    /// No blocks.
    pub(crate) const fn new;
}

impl Outgoing {
    /// The place for the blocks of a word of a span.
    #[inline]
    pub(crate) fn place(&self, span: &Span, word: usize) -> &Place {
        &self.places[(span.unit.get() as usize * 2 + word % 2) % PLACES]
    }

    /// All places with blocks.
    pub(crate) fn each(&self) -> impl Iterator<Item = (&'static Span, &Place)> {
        let places = self.places.iter();
        places.filter_map(|place| Some((place.span.get()?, place)))
    }

    /// True if a block is among them. Another thread may call this; it sees an old or a new state.
    pub(crate) fn has(&self, span: &'static Span, block: usize) -> bool {
        let place = self.place(span, block / 64);
        let here = place.span.is(span) && place.word.get() == block / 64;
        here && place.bits.get() >> (block % 64) & 1 == 1
    }

    /// Drops everything.
    pub(crate) fn forget(&self) {
        self.places.iter().for_each(|place| place.span.set(None));
        self.bytes.set(0);
    }
}
