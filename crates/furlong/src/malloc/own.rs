//! What a heap's thread alone uses: free blocks at hand, and freed ones on their way.
#![forbid(unsafe_code)]

use super::{
    field::{Bits, Word},
    outgoing::Outgoing,
    span::Span,
    stack::Tops,
};

/// How many freed blocks wait in a heap.
pub(crate) const WAITING: usize = 128;

/// The part of a heap that nobody but its thread touches while it runs.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Own {
    pub(crate) tops: Tops,
    /// What free blocks carry in their first word; a secret of the process.
    pub(crate) mark: Word,
    /// When its last round was.
    pub(crate) round_ms: Bits,
    /// Slow ways until it looks at the clock.
    pub(crate) until_look: Word,
    /// For random placement.
    pub(crate) random: Word,
    /// Blocks of others' that were freed here.
    pub(crate) outgoing: Outgoing,
    /// Its own freed blocks that wait before they are free, where that is asked for; 0 is none.
    pub(crate) waiting: [Word; WAITING],
}

impl Own {
    /// Of a heap without memory.
    pub(crate) const fn nothing() -> Self {
        Self {
            tops: Tops::nothing(),
            mark: Word::new(0),
            round_ms: Bits::new(0),
            until_look: Word::new(0),
            random: Word::new(0),
            outgoing: Outgoing::new(),
            waiting: [const { Word::new(0) }; WAITING],
        }
    }

    /// Puts a freed block in a random place among those that wait; returns the one that was there.
    pub(crate) fn delay(&self, block: usize) -> usize {
        let place = &self.waiting[self.next_random() % WAITING];
        let out = place.get();
        place.set(block);
        out
    }

    /// Whether a block, by its number and its address, is among what it has. Another thread may
    /// ask; it sees an old or a new state.
    #[cold]
    pub(crate) fn has(&self, span: &'static Span, block: usize, address: usize) -> bool {
        self.tops.has(span.class(), address)
            || self.outgoing.has(span, block)
            || self.waiting.iter().any(|other| other.get() == address)
    }

    /// A number that depends on the heap's secret.
    pub(crate) fn next_random(&self) -> usize {
        let mut x = self.random.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.random.set(x);
        x
    }
}
