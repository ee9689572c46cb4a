//! The chunks of a heap: what its stacks are of, by numbers from 1.
//!
//! A chunk is 64 words that end at a multiple of 512 bytes, the last 63 of which hold blocks. Its
//! lowest word is the zero below the blocks of a full one, or leads to another chunk: from one that
//! is put aside to the one that was before it, from a spare one to another spare one. The two
//! differ, for who looks at another heap's stacks must not come to what is spare, whose words still
//! name blocks that have been given out.

use core::ptr;

use crate::sync::{
    atomic::{Ordering, fence},
    const_unless_loom,
};

use super::super::field::{Short, Word};

/// The most blocks of a chunk; few under loom, so that what is rare is common.
pub(crate) const DEPTH: usize = if cfg!(loom) { 3 } else { 63 };

pub(super) const WORD: usize = size_of::<Word>();

/// The bytes of a chunk, and what its end is a multiple of.
pub(super) const SPACE: usize = (DEPTH + 1) * WORD;

/// What a spare chunk's link has besides a number.
const SPARE: usize = 1 << 16;

/// A heap's chunks: those that nobody has.
#[derive(Debug)]
pub(super) struct Chunks {
    /// Where the first one begins.
    pub(super) start: Word,
    /// The first of those that were used; their lowest words lead on.
    spare: Short,
    /// How many were ever used.
    used: Short,
}

/// The word at a place in a chunk.
#[inline(always)]
pub(super) fn word(at: *mut Word) -> &'static Word {
    // SAFETY: tops lead to words of chunks, which are mapped for ever, or to NOTHING; so do the
    // places between a chunk's lowest word and its last one, to which alone `stack.rs` moves.
    unsafe { &*at }
}

impl Chunks {
    const_unless_loom! {
        pub(super) const fn nothing() -> Self {
            Self {
                start: Word::new(0),
                spare: Short::new(0),
                used: Short::new(0),
            }
        }
    }

    /// Nobody has any.
    pub(super) fn forget(&self) {
        self.spare.set(0);
        self.used.set(0);
    }

    /// The last word of a chunk.
    pub(super) fn end(&self, number: u16) -> *mut Word {
        ptr::with_exposed_provenance_mut(self.start.get() + usize::from(number) * SPACE)
    }

    pub(super) fn lowest(&self, number: u16) -> *mut Word {
        self.end(number).wrapping_sub(DEPTH)
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "they are numbers of chunks"
    )]
    pub(super) fn number_at(&self, top: *mut Word) -> u16 {
        ((top.addr().next_multiple_of(SPACE) - self.start.get()) / SPACE) as u16
    }

    /// The number to which a chunk that is put aside leads; 0 is none. Another thread may ask: a
    /// chunk that is spare by now leads to none.
    pub(super) fn linked(&self, number: u16) -> u16 {
        u16::try_from(word(self.lowest(number)).get()).unwrap_or(0)
    }

    /// Makes a chunk lead to another one.
    pub(super) fn link(&self, number: u16, other: u16) {
        word(self.lowest(number)).set(usize::from(other));
    }

    /// Before a chunk's number is where other threads find it.
    pub(super) fn publish() {
        // Release: pairs with the Acquire in see.
        fence(Ordering::Release);
    }

    /// After another thread has found a chunk's number.
    pub(super) fn see() {
        // Acquire: pairs with the Release in publish, so that who finds the number finds the words
        // of a full chunk: older ones may name blocks that have been given out since.
        fence(Ordering::Acquire);
    }

    /// A chunk that nobody has; there are enough for one a class and all that may be put aside.
    pub(super) fn take(&self) -> u16 {
        let number = match self.spare.get() {
            0 => {
                self.used.set(self.used.get() + 1);
                self.used.get()
            }
            spare => {
                let next = word(self.lowest(spare)).get() % SPARE;
                #[expect(clippy::cast_possible_truncation, reason = "less than SPARE")]
                self.spare.set(next as u16);
                spare
            }
        };
        self.link(number, 0);
        number
    }

    /// Gives a chunk back.
    pub(super) fn give(&self, number: u16) {
        word(self.lowest(number)).set(SPARE + usize::from(self.spare.get()));
        self.spare.set(number);
    }
}
