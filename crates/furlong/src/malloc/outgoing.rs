//! Remote frees on their way: what a thread has freed of other heaps' blocks, by the word of their
//! span, until it is posted.
//!
//! A place for each unit of an arena, so that spans that are filled at the same time do not drive
//! each other out; and two of them, since a batch goes from one word of a span to the next.
#![forbid(unsafe_code)]

use super::{
    arena::UNITS,
    field::{Bits, Link, Word},
    span::Span,
};

const PLACES: usize = 2 * UNITS;

/// Blocks of one word of one span; none without a span.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) span: Link<Span>,
    pub(crate) word: Word,
    pub(crate) bits: Bits,
}

/// What a heap has on its way.
#[derive(Debug)]
pub(crate) struct Outgoing {
    places: [Place; PLACES],
    /// Bytes of all these blocks.
    pub(crate) bytes: Word,
}

impl Outgoing {
    /// Nothing.
    pub(crate) const fn new() -> Self {
        Self {
            places: [const {
                Place {
                    span: Link::none(),
                    word: Word::new(0),
                    bits: Bits::new(0),
                }
            }; PLACES],
            bytes: Word::new(0),
        }
    }

    /// Where the blocks of a word of a span are, if they are anywhere.
    #[inline]
    pub(crate) fn place(&self, span: &Span, word: usize) -> &Place {
        &self.places[(span.unit.get() as usize * 2 + word % 2) % PLACES]
    }

    /// All places with blocks.
    pub(crate) fn each(&self) -> impl Iterator<Item = (&'static Span, &Place)> {
        let places = self.places.iter();
        places.filter_map(|place| Some((place.span.get()?, place)))
    }

    /// Whether a block is among them. Another thread may ask; it sees an old or a new state.
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
