//! What a heap's thread alone uses: free blocks at hand, and freed ones on their way.
#![forbid(unsafe_code)]

use crate::sync::atomic::AtomicU8;

use super::{
    class::Class,
    field::{Bits, Half, Word},
    outgoing::Outgoing,
    span::Span,
    stack::Tops,
};

/// How many freed blocks wait in a heap.
pub(crate) const WAITING: usize = 128;

/// A place for a freed block that waits. Its class is there, too, in the byte below its address, so
/// that nobody has to ask the span for it.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Waiting(Word);

impl Waiting {
    const fn nothing() -> Self {
        Self(Word::new(0))
    }

    /// The block, if one waits here, and its class. No class is 0.
    #[inline(always)]
    pub(crate) fn get(&self) -> Option<(usize, Class)> {
        let place = self.0.get();
        let class = Class::numbered(place & 0xff);
        (place != 0).then(|| ((place.cast_signed() >> 8).cast_unsigned(), class))
    }

    /// Addresses have 48 bits and their sign, so that they lose nothing here.
    #[inline(always)]
    fn put(&self, block: usize, class: Class) {
        self.0.set(block << 8 | class.index());
    }

    pub(crate) fn forget(&self) {
        self.0.set(0);
    }
}

/// The part of a heap that nobody but its thread touches while it runs.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Own {
    pub(crate) tops: Tops,
    /// What free blocks carry in their first word; a secret of the process.
    pub(crate) mark: Word,
    /// The number by which its thread takes latches, and whether it holds them all; 0 is unknown.
    pub(crate) caller: Half,
    /// When its last round was, or its first look at the clock; 0 before.
    pub(crate) round_ms: Bits,
    /// Slow ways until it looks at the clock.
    pub(crate) until_look: Word,
    /// Whether its thread is posting: see `send_word` of `remote`.
    pub(crate) posting: AtomicU8,
    /// For random placement.
    pub(crate) random: Word,
    /// Blocks of others' that were freed here.
    pub(crate) outgoing: Outgoing,
    /// Its own freed blocks that wait before they are free, where that is asked for.
    pub(crate) waiting: [Waiting; WAITING],
}

impl Own {
    /// Of a heap without memory.
    pub(crate) const fn nothing() -> Self {
        Self {
            tops: Tops::nothing(),
            mark: Word::new(0),
            caller: Half::new(0),
            round_ms: Bits::new(0),
            until_look: Word::new(0),
            posting: AtomicU8::new(0),
            random: Word::new(0),
            outgoing: Outgoing::new(),
            waiting: [const { Waiting::nothing() }; WAITING],
        }
    }

    /// Puts a freed block in a random place among those that wait; returns the one that was there.
    #[inline(always)]
    pub(crate) fn delay(&self, block: usize, class: Class) -> Option<(usize, Class)> {
        let place = &self.waiting[self.next_random() % WAITING];
        let out = place.get();
        place.put(block, class);
        out
    }

    /// The blocks that wait.
    pub(crate) fn waits(&self) -> impl Iterator<Item = (usize, Class)> {
        self.waiting.iter().filter_map(Waiting::get)
    }

    /// Nothing waits any more.
    pub(crate) fn forget_waiting(&self) {
        self.waiting.iter().for_each(Waiting::forget);
    }

    /// Whether a block, by its number and its address, is among what it has. Another thread may
    /// ask; it sees an old or a new state.
    #[cold]
    pub(crate) fn has(&self, span: &'static Span, block: usize, address: usize) -> bool {
        self.tops.has(span.class(), address)
            || self.outgoing.has(span, block)
            || self.waits().any(|(other, _)| other == address)
    }

    /// A number that depends on the heap's secret.
    #[inline(always)]
    pub(crate) fn next_random(&self) -> usize {
        let mut x = self.random.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.random.set(x);
        x
    }
}
