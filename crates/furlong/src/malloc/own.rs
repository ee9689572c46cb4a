//! What a heap's thread alone uses: free blocks at hand, and freed ones on their way.
#![forbid(unsafe_code)]

use super::{
    class::Class,
    field::{Bits, Word},
    stack::Tops,
};

/// How many remote frees a heap collects before it sends them.
pub(crate) const OUTGOING: usize = 64;

/// How many freed blocks wait in a heap.
pub(crate) const WAITING: usize = 128;

/// The part of a heap that nobody but its thread touches while it runs.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Own {
    pub(crate) tops: Tops,
    /// What free blocks carry in their first word; a secret of the process.
    pub(crate) mark: Word,
    /// Where its stacks begin.
    pub(crate) stacks: Word,
    /// When its last round was.
    pub(crate) round_ms: Bits,
    /// Slow ways until it looks at the clock.
    pub(crate) until_look: Word,
    /// For random placement.
    pub(crate) random: Word,
    /// Blocks of others' that were freed here.
    pub(crate) outgoing: [Word; OUTGOING],
    pub(crate) outgoing_len: Word,
    /// Its own freed blocks that wait before they are free, where that is asked for; 0 is none.
    pub(crate) waiting: [Word; WAITING],
}

impl Own {
    /// Of a heap without memory.
    pub(crate) const fn nothing() -> Self {
        Self {
            tops: Tops::nothing(),
            mark: Word::new(0),
            stacks: Word::new(0),
            round_ms: Bits::new(0),
            until_look: Word::new(0),
            random: Word::new(0),
            outgoing: [const { Word::new(0) }; OUTGOING],
            outgoing_len: Word::new(0),
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

    /// Whether a block is among what it has. Another thread may ask; it sees an old or a new state.
    #[cold]
    pub(crate) fn has(&self, class: Class, block: usize) -> bool {
        let sent = self.outgoing_len.get().min(OUTGOING);
        let mut others = self.outgoing[..sent].iter().chain(&self.waiting);
        self.tops.has(class, block) || others.any(|other| other.get() == block)
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
