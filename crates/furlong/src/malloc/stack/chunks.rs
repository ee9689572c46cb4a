//! The chunks of a heap, of which its stacks are made, by numbers from 1.
//!
//! A chunk is 64 words that end at a multiple of 512 bytes; the last 63 hold blocks. The lowest
//! word is the zero below the blocks of a full chunk, or a link. A chunk that is set aside links to
//! the one set aside before it; a spare chunk links to the next spare one. The two kinds of link
//! differ, because a thread that reads another heap's stacks must not reach spare chunks: their
//! words still name blocks that have been handed out.

use core::ptr;

use crate::sync::{
    atomic::{Ordering, fence},
    const_unless_loom,
};

use super::super::field::{Short, Word};

/// The most blocks of a chunk; few under loom, so that rare cases are common.
pub(crate) const DEPTH: usize = if cfg!(loom) { 3 } else { 63 };

pub(super) const WORD: usize = size_of::<Word>();

/// The bytes of a chunk, and the alignment of its end.
pub(super) const SPACE: usize = (DEPTH + 1) * WORD;

/// The flag in a spare chunk's link.
const SPARE: usize = 1 << 16;

/// A heap's chunks: the unused ones.
#[derive(Debug)]
pub(super) struct Chunks {
    /// The address at which the first one begins.
    pub(super) start: Word,
    /// The first of the spare chunks, which were used before; their lowest words link to the next.
    spare: Short,
    /// The number of chunks that were ever used.
    used: Short,
}

/// The word at a place in a chunk.
#[inline(always)]
pub(super) fn word(at: *mut Word) -> &'static Word {
    // SAFETY: tops lead to words of chunks, which are mapped for ever, or to NOTHING; so do the
    // places between a chunk's lowest and last word, and `stack.rs` moves to no others.
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

    /// Forgets all chunks: none is in use.
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

    /// The number to which a chunk that is set aside links; 0 is none. Another thread may call
    /// this: a chunk that has become spare yields none.
    pub(super) fn linked(&self, number: u16) -> u16 {
        u16::try_from(word(self.lowest(number)).get()).unwrap_or(0)
    }

    /// Links a chunk to another one.
    pub(super) fn link(&self, number: u16, other: u16) {
        word(self.lowest(number)).set(usize::from(other));
    }

    /// Called before a chunk's number is stored where other threads find it.
    pub(super) fn publish() {
        // Release: pairs with the Acquire in see.
        fence(Ordering::Release);
    }

    /// Called after another thread has found a chunk's number.
    pub(super) fn see() {
        // Acquire: pairs with the Release in publish, so that a thread that finds the number sees
        // the words of a full chunk: older words may name blocks that have been handed out since.
        fence(Ordering::Acquire);
    }

    /// Takes an unused chunk; there are enough for one a class and all that may be set aside.
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

    /// Makes a chunk spare.
    pub(super) fn give(&self, number: u16) {
        word(self.lowest(number)).set(SPARE + usize::from(self.spare.get()));
        self.spare.set(number);
    }
}
